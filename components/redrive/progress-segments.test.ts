import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  leftOutWords,
  listedOutcome,
  outcomeWords,
  type ProgressCounts,
  percentWords,
  progressSegments,
  progressSentence,
} from "@/components/redrive/progress-segments";

const counts = (over: Partial<ProgressCounts>): ProgressCounts => ({
  mode: "deliver",
  total: 100,
  delivered: 0,
  sent: 0,
  deduplicated: 0,
  passed: 0,
  confirmed: 0,
  bounced: 0,
  failed: 0,
  refused: 0,
  cancelled: 0,
  open: 100,
  refusedByReason: {},
  ...over,
});

describe("the bar of a redrive", () => {
  it.each([
    // Refused events are not progress of a redrive, but results of a dry run.
    [{}, {}],
    [{ mode: "verify" }, { refused: 7, held: 5 }],
  ] satisfies [Partial<ProgressCounts>, object][])(
    "puts each of its events in exactly one segment: %j",
    (over, also) => {
      const segments = progressSegments(
        counts({
          total: 100,
          delivered: 60,
          confirmed: 41,
          bounced: 4,
          failed: 7,
          refused: 12,
          refusedByReason: { "held-by-head": 5, blacklisted: 7 },
          cancelled: 3,
          open: 18,
          ...over,
        }),
      );
      expect(Object.fromEntries(segments.map((segment) => [segment.kind, segment.count]))).toEqual({
        confirmed: 41,
        unknown: 15,
        bounced: 4,
        failed: 7,
        ...also,
        cancelled: 3,
        open: 18,
      });
    },
  );

  it("shows one failure among a million and stays 100 % wide", () => {
    const segments = progressSegments(counts({ total: 1_000_000, open: 0, delivered: 999_999, failed: 1 }));
    expect(segments.find((segment) => segment.kind === "failed")?.widthPercent).toBeGreaterThan(0.5);
    expect(segments.reduce((sum, segment) => sum + segment.widthPercent, 0)).toBeCloseTo(100);
  });

  it("is 100 % wide and complete for any counts", () => {
    const natural = fc.nat({ max: 2_000_000 });
    fc.assert(
      fc.property(
        natural,
        natural,
        natural,
        natural,
        natural,
        natural,
        (delivered, confirmed, bounced, failed, refused, open) => {
          const total = delivered + failed + refused + open;
          const segments = progressSegments(
            counts({
              total,
              delivered,
              confirmed,
              bounced,
              failed,
              refused,
              open,
              refusedByReason: { "held-by-head": 3 },
            }),
          );
          expect(segments.reduce((sum, segment) => sum + segment.count, 0)).toBe(total - refused);
          if (total > refused)
            expect(segments.reduce((sum, segment) => sum + segment.widthPercent, 0)).toBeCloseTo(100);
          expect(segments.every((segment) => segment.count > 0 && segment.widthPercent > 0)).toBe(true);
        },
      ),
    );
  });

  it.each([
    [{ mode: "verify", total: 453, refused: 453, open: 0 }, "0 of 453 would be sent"],
    [{ mode: "verify", total: 453, passed: 20, refused: 5, open: 428 }, "20 of 25 would be sent"],
    [{ total: 453, sent: 63, cancelled: 390, open: 0 }, "63 of 453 sent"],
    [{ total: 1_419, sent: 1, refused: 1_186, open: 232 }, "1 of 233 sent"],
    [{ total: 1_200, sent: 1_180, deduplicated: 20, open: 0 }, "1,180 of 1,200 sent, 20 deduplicated"],
  ] satisfies [Partial<ProgressCounts>, string][])("leads with the outcome: %j reads %s", (over, words) => {
    expect(outcomeWords(counts(over))).toBe(words);
  });

  it("names what is left out beside its size", () => {
    const partial = counts({
      total: 1_419,
      refused: 1_192,
      refusedByReason: { "held-by-head": 1_186 },
      open: 226,
      sent: 1,
    });
    expect(leftOutWords(partial)).toBe("1,192 left out: 1,186 held, 6 refused");
    expect(progressSentence({ ...partial, delivered: 1 })).toBe(
      "1 of 227 finished: 1 not confirmed yet, 226 open; 1,192 left out: 1,186 held, 6 refused.",
    );
    expect(leftOutWords(counts({ refused: 2 }))).toBe("2 left out: refused");
    expect(leftOutWords(counts({}))).toBeNull();
    expect(listedOutcome(partial)).toBe("1 of 227 sent, 1,192 left out");
    expect(listedOutcome(counts({ mode: "verify", passed: 97, refused: 3, open: 0 }))).toBe("97 of 100 would be sent");
    expect(leftOutWords(counts({ mode: "verify", refused: 3 }))).toBeNull();
  });

  it.each([
    [0, 100, "0%"],
    [1, 1_000_000, "< 1%"],
    [62, 100, "62%"],
    [999_999, 1_000_000, "99.9%"],
    [100, 100, "100%"],
    [0, 0, "0%"],
  ])("reads %s of %s as %s", (part, total, words) => {
    expect(percentWords(part, total)).toBe(words);
  });
});
