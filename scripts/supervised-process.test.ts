import { expect, test } from "vitest";
import { important, nextPauseMs } from "./supervised-process.ts";

test.each([
  ['{"level":"info","msg":"worker ready"}', null],
  ['{"level":30,"msg":"request"}', null],
  [
    '{"level":"warn","msg":"an idle store connection broke","err":{"message":"ECONNRESET"}}',
    "an idle store connection broke (ECONNRESET)",
  ],
  ['{"level":50,"msg":"request failed"}', "request failed"],
  ['{"level":50,"msg":"boom","err":{"message":"boom"}}', "boom"],
  ["✓ Running next.config took 3ms", null],
  [" ⨯ TypeError: x is not a function", "⨯ TypeError: x is not a function"],
  ["{ not json at all", null],
  ["", null],
])("of the log line %j the screen shows %j", (line, shown) => {
  expect(important(line)).toBe(shown);
});

test.each([
  [
    '{"level":"warn","msg":"refused","err":{"message":"\\u001b]0;owned\\u0007\\u001b[2J"}}',
    "refused (\\x1b]0;owned\\x07\\x1b[2J)",
  ],
  ['{"level":"error","msg":"a\\nworker: forged line"}', "a\\x0aworker: forged line"],
  ['{"level":"error","msg":"a\\u202eb\\u200bc\\u009bd"}', "a\\u{202e}b\\u{200b}c\\x9bd"],
  ["Error: \u001bc", "Error: \\x1bc"],
])("a terminal obeys nothing of the log line %j", (line, shown) => {
  expect(important(line)).toBe(shown);
});

test("a long line is cut on the screen", () => {
  expect(important(`{"level":"error","msg":"${"x".repeat(2_000)}"}`)).toHaveLength(503);
});

test("the pause before a restart doubles while a process hardly runs, and begins anew after a run worth its pause", () => {
  const pauses = (ranMs: number) => {
    let pauseMs = 0;
    return Array.from({ length: 9 }, () => (pauseMs = nextPauseMs(pauseMs, ranMs)));
  };
  expect(pauses(50)).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
  expect(pauses(35_000)).toEqual(Array(9).fill(500));
  expect(nextPauseMs(30_000, 35_000)).toBe(30_000);
  expect(nextPauseMs(30_000, 60_000)).toBe(500);
});
