import { describe, expect, test } from "vitest";
import { uuidv7, uuidv7LowerBound, uuidv7TimeMs } from "./ids";

const MS = 1_795_163_502_417;

describe("a UUIDv7", () => {
  test("has the form of RFC 9562 and holds its millisecond", () => {
    const id = uuidv7(MS);
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(uuidv7TimeMs(id)).toBe(MS);
  });

  test("made one after the other in one millisecond they sort in that order", () => {
    const ids = Array.from({ length: 3_000 }, () => uuidv7(MS + 1));
    expect(ids).toEqual([...ids].sort());
    expect(new Set(ids).size).toBe(3_000);
  });

  test("sort so as well when others are made for other times in between", () => {
    const ids = Array.from({ length: 500 }, (_, index) => {
      for (const other of [1, 2, index, 3_999]) uuidv7(MS + 9 + other);
      return uuidv7(MS + 8);
    });
    expect(ids).toEqual([...ids].sort());
  });

  test("stay unique beyond the counter, and for times in any order", () => {
    const ids = Array.from({ length: 20_000 }, (_, index) => uuidv7(MS + 2 - (index % 3)));
    expect(new Set(ids).size).toBe(20_000);
  });

  test("lie at or above the bound of their millisecond, and below the next one's", () => {
    for (const ms of [0, 1, MS, 2 ** 48 - 2]) {
      const id = uuidv7(ms);
      expect(id >= uuidv7LowerBound(ms)).toBe(true);
      expect(id < uuidv7LowerBound(ms + 1)).toBe(true);
    }
  });
});
