import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { asSum, type FlowSpan, flowPieces } from "@/lib/selection/flow.read";
import { CODE_FLOW, GROUP_FLOW } from "@/lib/states/flow-tables.sql";

const at = (text: string) => Date.parse(`${text}Z`);
const pieces = (span: FlowSpan, tables = CODE_FLOW) =>
  flowPieces(tables, span).map(({ table, fromMs, toMs }) => [
    table.replace(/^dlq_(group_)?flow_/, ""),
    new Date(fromMs).toISOString().slice(5, 16),
    new Date(toMs).toISOString().slice(5, 16),
  ]);

describe("the pieces of a span of the flow", () => {
  test("are as wide as they can be, and narrower at the ends", () => {
    expect(pieces(asSum(at("2026-11-20T22:58"), at("2026-11-22T02:07")))).toEqual([
      ["minutes", "11-20T22:58", "11-20T23:00"],
      ["hours", "11-20T23:00", "11-21T00:00"],
      ["days", "11-21T00:00", "11-22T00:00"],
      ["hours", "11-22T00:00", "11-22T02:00"],
      ["fives", "11-22T02:00", "11-22T02:05"],
      ["minutes", "11-22T02:05", "11-22T02:07"],
    ]);
  });

  test("do not cross the buckets of a chart", () => {
    const span = { fromMs: at("2026-11-20T00:00"), toMs: at("2026-11-21T00:00"), bucketMs: 15 * 60_000 };
    expect(pieces(span)).toEqual([["fives", "11-20T00:00", "11-21T00:00"]]);
    expect(pieces(span, GROUP_FLOW)).toEqual([["minutes", "11-20T00:00", "11-21T00:00"]]);
  });

  test("count the minutes that begin in the span", () => {
    const span = { fromMs: at("2026-11-20T00:00:30"), toMs: at("2026-11-20T00:02:30"), bucketMs: 60_000 };
    expect(pieces(span)).toEqual([["minutes", "11-20T00:01", "11-20T00:03"]]);
  });

  test("of an empty span are none", () => expect(pieces(asSum(5_000_000, 5_000_000))).toEqual([]));

  test("adjoin, begin and end at multiples of their width, and stay within one bucket", () => {
    const minutes = fc.integer({ min: 0, max: 60 * 24 * 60 });
    const widths = fc.constantFrom(0, 1, 5, 10, 15, 30, 60, 180, 360, 720, 1440, 10_080);
    fc.assert(
      fc.property(minutes, minutes, widths, fc.constantFrom(CODE_FLOW, GROUP_FLOW), (from, length, bucket, tables) => {
        const span = { fromMs: from * 60_000, toMs: (from + length) * 60_000, bucketMs: bucket * 60_000 };
        let nextMs = span.fromMs;
        for (const { widthMs, fromMs, toMs } of flowPieces(tables, span)) {
          expect(fromMs).toBe(nextMs);
          expect([fromMs % widthMs, toMs % widthMs, span.bucketMs % widthMs]).toEqual([0, 0, 0]);
          nextMs = toMs;
        }
        expect(nextMs).toBe(span.toMs);
      }),
    );
  });
});
