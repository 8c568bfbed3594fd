import { expect, it } from "vitest";
import { canonicalJson } from "./json-text.pure";

it("is the same for the same values in any order, and differs for others", () => {
  const one = canonicalJson({ b: [1, { d: null, c: "x" }], a: undefined });
  expect(one).toBe('{"b":[1,{"c":"x","d":null}]}');
  expect(canonicalJson({ b: [1, { c: "x", d: null }] })).toBe(one);
  expect(canonicalJson(["1"])).not.toBe(canonicalJson([1]));
});
