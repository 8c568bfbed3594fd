import { expect, test } from "vitest";
import { changeOf, daysOf, ruleFault } from "./retention-words";

test.each([
  ["7", 7],
  ["30", 30],
  ["6", null],
  ["3650", 3_650],
  ["3651", null],
  ["7.5", null],
  ["", null],
  ["-7", null],
  ["1e1", null],
])("%j are %j days", (typed, days) => {
  expect(daysOf(typed)).toBe(days);
});

test("a period names a source, a code or both, once", () => {
  const named = { source: "orders", errorCode: "TIMEOUT", days: "7" };
  expect(ruleFault([named], 0)).toBeNull();
  expect(ruleFault([{ ...named, source: "", errorCode: " " }], 0)).toMatchObject({ field: "source" });
  expect(ruleFault([named, { ...named, errorCode: " TIMEOUT" }], 1)).toMatchObject({ field: "source" });
  expect(ruleFault([{ ...named, days: "9000" }], 0)).toMatchObject({ field: "days" });
});

test("what is typed becomes a change, or nothing where something is wrong", () => {
  expect(changeOf("14", [{ source: "orders", errorCode: "", days: "7" }])).toEqual({
    days: 14,
    rules: [{ source: "orders", errorCode: null, days: 7 }],
  });
  expect(changeOf("14", [{ source: "", errorCode: "", days: "7" }])).toBeNull();
  expect(changeOf("9000", [])).toBeNull();
});
