import { describe, expect, test } from "vitest";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import { errorSummary, isStorableText, SUMMARY_BYTES_MAX, storable, TEXT_MAX } from "./storable.pure";

const letter: DeadLetter = {
  eventId: "e-1",
  aggregateType: null,
  aggregateId: "a",
  version: 3n,
  eventType: null,
  traceId: null,
  errorCode: "TIMEOUT",
  error: { type: null, message: null, stack: null },
  attempts: 1,
  failedAtMs: null,
  payload: new Uint8Array([0, 255]),
  contentType: "application/json",
  headers: [],
  tags: {},
  origin: {},
  redrive: null,
};

describe("storable", () => {
  test("leaves a clean letter as it is", () => expect(storable(letter)).toEqual(letter));

  test("shows NUL and half surrogates instead of losing the event", () => {
    const clean = storable({
      ...letter,
      eventId: "a\0b",
      error: { type: "T\0", message: "\ud800x", stack: null },
      tags: { "k\0": "v\0" },
      origin: { queue: "q\0", properties: { deep: ["\0"] } },
    });
    expect(clean.eventId).toBe("a\u2400b");
    expect(clean.error).toEqual({ type: "T\u2400", message: "\ufffdx", stack: null });
    expect(clean.tags).toEqual({ "k\u2400": "v\u2400" });
    expect(isStorableText(JSON.stringify(clean.origin).replaceAll("\\u0000", "\0"))).toBe(true);
    expect(clean.payload).toBe(letter.payload);
  });

  test("keeps a header that cannot be text as its bytes", () => {
    const { headers } = storable({
      ...letter,
      headers: [
        ["ok", "v"],
        ["bad", "a\0"],
        ["none", null],
      ],
    });
    expect(headers).toEqual([
      ["ok", "v"],
      ["bad", btoa("a\0"), "bytes"],
      ["none", null],
    ]);
  });

  test("bounds what is indexed and keeps two long ids apart", () => {
    const ids = ["x", "y"].map((end) => storable({ ...letter, eventId: "a".repeat(5_000) + end }).eventId);
    expect(ids[0]!.length).toBe(TEXT_MAX.eventId);
    expect(ids[0]).not.toBe(ids[1]);
  });

  test("says that it cut a stack", () => {
    const { error } = storable({ ...letter, error: { type: null, message: null, stack: "s".repeat(2_000_000) } });
    expect(error.stack).toMatch(/ \[cut: 2000000 characters\]$/);
    expect(error.stack!.length).toBe(TEXT_MAX.errorStack);
  });
});

describe("storable keeps what comes within the width of its column", () => {
  const deep = (levels: number): unknown => (levels === 0 ? "end" : { in: deep(levels - 1) });

  test("a container nested too deep is named, its neighbours stay", () => {
    const { origin } = storable({ ...letter, origin: { queue: "q", properties: { deep: deep(5_000) } } });
    expect(origin.queue).toBe("q");
    expect(JSON.stringify(origin)).toContain("[cut: nested deeper than 32]");
    const shallow = { queue: "q", properties: { deep: deep(20) } };
    expect(storable({ ...letter, origin: shallow }).origin).toEqual(shallow);
  });

  test.each([
    [2 ** 31 - 1, 1_000_000],
    [-7, 0],
    [2 ** 60, 1_000_000],
  ])("attempts of %s count as %s", (attempts, kept) => {
    expect(storable({ ...letter, attempts }).attempts).toBe(kept);
  });

  test.each([[8.64e15], [-8.64e15], [Number.NaN]])("a time of %s ms is none", (failedAtMs) => {
    expect(storable({ ...letter, failedAtMs }).failedAtMs).toBeNull();
  });
});

describe("errorSummary", () => {
  test("is at most 2 KB of UTF-8 and never half a character", () => {
    const summary = errorSummary({ type: null, message: "\u{1f600}".repeat(2_000), stack: null })!;
    expect(new TextEncoder().encode(summary).length).toBeLessThanOrEqual(SUMMARY_BYTES_MAX);
    expect(summary.isWellFormed()).toBe(true);
    expect(summary.endsWith("\u2026")).toBe(true);
  });

  test("falls back to the type, then to nothing", () => {
    expect(errorSummary({ type: "T", message: "", stack: null })).toBe("T");
    expect(errorSummary({ type: null, message: null, stack: "s" })).toBeNull();
  });
});
