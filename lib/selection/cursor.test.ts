import { expect, test } from "vitest";
import { decodeCursor, encodeCursor } from "@/lib/selection/cursor.shapes";

const id = "0199a1b2-0000-7000-8000-000000000001";

test("a cursor comes back as it was given, for equal filters however written", () => {
  const cursor = encodeCursor({ id, towards: "newer" }, { errorCode: ["A"], q: "x" });
  expect(decodeCursor(cursor, { q: "x", errorCode: ["A"] })).toEqual({ id, towards: "newer" });
});

test.each([
  ["nonsense", "?"],
  ["JSON that is none of ours", Buffer.from('{"v":2}').toString("base64url")],
  ["a cursor of another filter", encodeCursor({ id, towards: "older" }, {})],
  ["an id that is none", Buffer.from('{"v":1,"id":"x","t":"o","f":""}').toString("base64url")],
])("%s is refused", (_, text) => {
  expect(() => decodeCursor(text, { q: "x" })).toThrow(expect.objectContaining({ code: "invalid-cursor" }));
});
