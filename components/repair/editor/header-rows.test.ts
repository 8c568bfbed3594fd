import { describe, expect, it } from "vitest";
import type { Header } from "@/lib/platform/plain/dead-letter.pure";
import { addRow, noteOf, rowsOf, typed } from "./header-rows";

const HEADERS: Header[] = [
  ["x-tenant", "north"],
  ["x-tenant", "south"],
  ["key", "AAE=", "bytes"],
];
const headersOf = (rows: ReturnType<typeof rowsOf>) => rows.map(({ header }) => header);

describe("the rows of the headers", () => {
  it("keep their order and repeated names", () => {
    expect(headersOf(rowsOf(HEADERS))).toEqual(HEADERS);
  });
  it("get a key that no other row has, also after one was removed", () => {
    const rows = addRow(rowsOf(HEADERS).slice(1));
    expect(new Set(rows.map(({ key }) => key)).size).toBe(3);
    expect(addRow([])).toEqual([{ key: 0, header: ["", ""] }]);
  });
});

it("says at the row what is wrong with it, or that HTTP leaves it out", () => {
  expect(noteOf(["x-new", "1"], HEADERS)).toBeNull();
  expect(noteOf(["", "1"], HEADERS)).toMatchObject({ fault: true, text: expect.stringContaining("name") });
  expect(noteOf(["key", "A", "bytes"], HEADERS)).toMatchObject({
    fault: true,
    text: expect.stringContaining("base64"),
  });
  expect(noteOf(["two words", "1"], HEADERS)).toMatchObject({ fault: false, text: expect.stringContaining("HTTP") });
  expect(noteOf(["cloudEvents:id", "1"], HEADERS)).toBeNull();
  // It came like this, so no person must be told of it.
  expect(noteOf(["two words", "2"], [["two words", "1"]])).toBeNull();
});

it("keeps how a value is encoded when it is typed anew", () => {
  expect(typed(["a", "1"], { value: "2" })).toEqual(["a", "2"]);
  expect(typed(["a", null], { value: "2" })).toEqual(["a", "2"]);
  expect(typed(["a", null], { name: "b" })).toEqual(["b", null]);
  expect(typed(["a", "AAE=", "bytes"], { value: "AAI=" })).toEqual(["a", "AAI=", "bytes"]);
  expect(typed(["a", "AAE=", "bytes"], { name: "b" })).toEqual(["b", "AAE=", "bytes"]);
});
