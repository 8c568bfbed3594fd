import { expect, test } from "vitest";
import type { RedriveRuleOut, RedriveRuleTrial } from "@/lib/rules/redrive-rules.shapes";
import { leftWords, limitWords, ruleSentence, trialSentence, triedWords, workWords } from "./rule-words";

const TERMS = {
  delayMs: 1_800_000,
  redrivesPerEvent: 2,
  lane: "slow" as const,
  ratePerSecond: null,
  onlyIf: { groupSucceeded: true, breakerClosed: false },
  everyMs: 60_000,
  limits: { eventsPerRun: 500, eventsPerHour: 1_000, eventsPerDay: null },
  stopAtFailureRatio: 0.2,
};
const TRIAL = {
  ...{ checked: 500, bounded: false, taken: 412, stayed: 390, cameBack: 12, sent: 0, never: 10 },
  ...{ left: 80, waits: 8, limited: 0, marked: 0 },
} as RedriveRuleTrial;

test("a rule is one sentence", () => {
  expect(ruleSentence(TERMS)).toBe(
    "30 min after they were parked, at most twice each, slow lane, only if the same group succeeded since",
  );
  expect(
    ruleSentence({ ...TERMS, delayMs: 0, redrivesPerEvent: 3, onlyIf: { groupSucceeded: false, breakerClosed: true } }),
  ).toBe("as soon as they are parked, at most 3 times each, slow lane, only while the target's breaker is closed");
  expect(limitWords(TERMS)).toBe("at most 500 events a run, 1,000 an hour; switches itself off above 20 % failures");
});

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

test("a trial of a part says that it is a part, and one of nothing that there is nothing", () => {
  expect(trialSentence({ ...TRIAL, bounded: true, cameBack: 0, never: 0 }, 1)).toBe(
    "Would have redriven at least 412 events of the last 24 hours: 390 stayed processed.",
  );
  expect(trialSentence({ ...TRIAL, taken: 0 }, 7)).toBe(
    "Would have redriven none of the 500 events of the last 7 days that match.",
  );
  expect(trialSentence({ ...TRIAL, checked: 0, taken: 0 }, 30)).toBe(
    "No event of the last 30 days matches, so there is nothing to try it on.",
  );
});
