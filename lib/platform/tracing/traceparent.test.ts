import { expect, test } from "vitest";
import { formatTraceparent, parseTraceparent } from "./traceparent.pure";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";

test.each([
  [`00-${TRACE}-${SPAN}-01`, true],
  [`00-${TRACE}-${SPAN}-00`, false],
  [` 00-${TRACE.toUpperCase()}-${SPAN}-03 `, true],
  [`01-${TRACE}-${SPAN}-01-later`, true],
])("a traceparent is read, and whether its trace is recorded: %s", (text, sampled) => {
  expect(parseTraceparent(text)).toEqual({ traceId: TRACE, spanId: SPAN, sampled });
  expect(formatTraceparent(parseTraceparent(text)!)).toBe(`00-${TRACE}-${SPAN}-${sampled ? "01" : "00"}`);
});

test.each([
  [null],
  [undefined],
  [""],
  [`ff-${TRACE}-${SPAN}-01`],
  [`00-${"0".repeat(32)}-${SPAN}-01`],
  [`00-${TRACE}-${"0".repeat(16)}-01`],
  [`00-${TRACE}-${SPAN}`],
  [`00-${TRACE}-${SPAN}-01x`],
  [`00-${TRACE}-${SPAN}-01-${"a".repeat(10_000)}`],
  ["\u202e00-evil"],
])("what is none begins a new trace: %s", (text) => {
  expect(parseTraceparent(text)).toBeNull();
});
