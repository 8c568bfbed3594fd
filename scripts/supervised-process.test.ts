import { expect, test } from "vitest";
import { important } from "./supervised-process.ts";

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
