import { expect, it } from "vitest";
import { splitByMatches } from "./split-by-matches";

const shown = (text: string, words: string, max = 10) =>
  splitByMatches(text, words, max).map((part) => (part.match ? `[${part.text}]` : part.text));

it("cuts at every match and keeps the text as it was", () => {
  expect(shown("Stock down, stock up", "STOCK")).toEqual(["[Stock]", " down, ", "[stock]", " up"]);
  expect(shown("aaa", "aa")).toEqual(["[aa]", "a"]);
  expect(shown("nothing", "x")).toEqual(["nothing"]);
  expect(shown("x x x", "x", 2)).toEqual(["[x]", " ", "[x]", " x"]);
});

it("gives no marks rather than wrong ones where lower case changes the length", () => {
  expect(shown("İstanbul stock", "stock")).toEqual(["İstanbul stock"]);
});
