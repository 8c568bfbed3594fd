import { expect, test } from "vitest";
import type { Refusal } from "@/lib/states/refusal.pure";
import { estimateOutcomes, type Outcome, tally } from "./outcomes.pure";

const outcome = (errorCode: string, refusal: Refusal | null, count: number, source = "orders"): Outcome => {
  return { source, errorCode, status: "PENDING", refusal, count };
};
const counted = (errorCode: string, count: number, source = "orders") => ({
  ...outcome(errorCode, null, count, source),
});

test("planned events stand for all of their source and error code", () => {
  const planned = [
    outcome("TIMEOUT", null, 90),
    outcome("TIMEOUT", "cooling", 10),
    outcome("PARSE", "blacklisted", 100),
  ];
  const counts = [counted("TIMEOUT", 1_000), counted("PARSE", 400)];
  expect(tally(estimateOutcomes({ planned, along: [] }, counts))).toEqual({
    total: 1_400,
    eligible: 900,
    refused: { cooling: 100, blacklisted: 400 },
    byErrorCode: { TIMEOUT: 900 },
    bySource: { orders: 900 },
  });
});

test("where none of a kind was planned, all planned events stand for it", () => {
  const planned = [outcome("TIMEOUT", null, 3), outcome("TIMEOUT", "cooling", 1)];
  const of = tally(estimateOutcomes({ planned, along: [] }, [counted("TIMEOUT", 4), counted("OLD", 8, "payments")]));
  expect(of).toMatchObject({ total: 12, eligible: 9, refused: { cooling: 3 }, bySource: { orders: 3, payments: 6 } });
});

test("no event is lost or counted twice by rounding", () => {
  const planned = [outcome("TIMEOUT", null, 1), outcome("TIMEOUT", "cooling", 1), outcome("TIMEOUT", "ignored", 1)];
  const of = tally(estimateOutcomes({ planned, along: [] }, [counted("TIMEOUT", 1_000)]));
  expect(of).toMatchObject({ total: 1_000, eligible: 334, refused: { cooling: 333, ignored: 333 } });
});

test("what is taken along grows with the selection", () => {
  const planned = [outcome("TIMEOUT", null, 100)];
  const along = [outcome("TIMEOUT", null, 20), outcome("PARSE", "cooling", 5)];
  const of = tally(estimateOutcomes({ planned, along }, [counted("TIMEOUT", 1_000)]));
  expect(of).toMatchObject({ total: 1_250, eligible: 1_200, refused: { cooling: 50 } });
});
