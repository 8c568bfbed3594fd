import { expect, test } from "vitest";
import { listOf, nearName } from "./near-name.pure";

test.each([
  ["ordres", "orders"],
  ["Orders", "orders"],
  ["oders", "orders"],
  ["shp", "shop"],
  ["billing", undefined],
  ["x", undefined],
  ["", undefined],
])("%s is probably %s", (name, meant) => expect(nearName(name, ["shop", "orders", "b"])).toBe(meant));

test("a list ends with its word", () => {
  expect(listOf([], "or")).toBe("");
  expect(listOf(["a"], "or")).toBe("a");
  expect(listOf(["a", "b", "c"], "and")).toBe("a, b and c");
});
