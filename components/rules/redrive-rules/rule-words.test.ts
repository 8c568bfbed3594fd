import { expect, test } from "vitest";
import type { RedriveRuleOut, RedriveRuleTrial } from "@/lib/rules/redrive-rules.shapes";
import { leftWords, trialSentence, triedWords, workWords } from "./rule-words";

const TRIAL = {
  ...{ checked: 500, bounded: false, taken: 412, stayed: 390, cameBack: 12, sent: 0, never: 10 },
  ...{ left: 80, waits: 8, limited: 0, marked: 0 },
} as RedriveRuleTrial;

test("the work of a rule counts what was sent apart from what its targets had already", () => {
  const outcomes = { delivered: 80, deduplicated: 2, confirmed: 77, failed: 3, bounced: 1 };
  expect(workWords({ lastDay: 83, outcomes } as RedriveRuleOut)).toBe(
    "took 83 events in 24 hours; since it is on: 78 sent, 2 deduplicated, 77 confirmed, 3 failed, 1 bounced",
  );
  expect(workWords({ lastDay: 0, outcomes } as RedriveRuleOut)).toBeNull();
});

test("a trial says what would have been redriven, and what became of it", () => {
  expect(trialSentence(TRIAL, 7)).toBe(
    "Would have redriven 412 events of the last 7 days: 390 stayed processed, 12 failed or came back, " +
      "10 were never redriven, so what a redrive would have done is unknown.",
  );
  expect(leftWords(TRIAL)).toEqual([
    "80 had been redriven or processed before they were due",
    "8 were not due yet, or their group has not succeeded",
  ]);
});

test("the newest trial on a rule counts apart what was never redriven", () => {
  const trial = { id: "t", at: "2026-11-22T02:44:59.120Z", by: "maria" };
  expect(triedWords({ ...trial, taken: 12, stayed: 0, never: 12 })).toBe(
    "would have redriven 12, of which 0 stayed processed and 12 were never redriven",
  );
  expect(triedWords({ ...trial, taken: 3, stayed: 2, never: 1 })).toContain(
    "2 stayed processed and 1 was never redriven",
  );
  expect(triedWords({ ...trial, taken: 2, stayed: 2, never: 0 })).toBe(
    "would have redriven 2, of which 2 stayed processed",
  );
});
