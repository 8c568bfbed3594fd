import { describe, expect, test } from "vitest";
import { type EventPast, isDue, REFUSALS_MAX, type RuleTerms, roomOf, stopReason, tryEach } from "./redrive-rule.pure";

const TERMS: RuleTerms = {
  delayMs: 1_000_000,
  redrivesPerEvent: 2,
  onlyIf: { groupSucceeded: false, breakerClosed: true },
  everyMs: 10_000,
  limits: { eventsPerRun: 2, eventsPerHour: null, eventsPerDay: null },
  stopAtFailureRatio: 0.2,
};
const PAST: EventPast = { sinceMs: 5_000_000, redrives: 0, refusals: 0, lastMs: null, groupSucceededMs: null };
const GROUP = { ...TERMS, onlyIf: { groupSucceeded: true, breakerClosed: true } };

describe("an event is due", () => {
  test.each<[string, Partial<EventPast>, RuleTerms, number, boolean]>([
    ["when the delay is over", {}, TERMS, 6_000_000, true],
    ["not before", {}, TERMS, 5_999_999, false],
    ["below the redrives that rules may make of it", { redrives: 1 }, TERMS, 6_000_000, true],
    ["not at them", { redrives: 2 }, TERMS, 6_000_000, false],
    ["while rules' redrives refused it a few times", { refusals: REFUSALS_MAX - 1 }, TERMS, 6_000_000, true],
    ["not when they refuse it each time", { refusals: REFUSALS_MAX }, TERMS, 6_000_000, false],
    ["a delay after its last redrive by a rule", { redrives: 1, lastMs: 5_500_000 }, TERMS, 6_500_000, true],
    ["not sooner", { redrives: 1, lastMs: 5_500_000 }, TERMS, 6_499_999, false],
    [
      "not within a minute, whatever the delay",
      { redrives: 1, lastMs: 6_000_000 },
      { ...TERMS, delayMs: 0 },
      6_059_999,
      false,
    ],
    ["a minute later without a delay", { redrives: 1, lastMs: 6_000_000 }, { ...TERMS, delayMs: 0 }, 6_060_000, true],
    ["when its group succeeded after it failed", { groupSucceededMs: 5_000_001 }, GROUP, 6_000_000, true],
    ["not when it succeeded before", { groupSucceededMs: 5_000_000 }, GROUP, 6_000_000, false],
    ["not when it never did", {}, GROUP, 6_000_000, false],
  ])("%s", (_when, past, terms, nowMs, due) => {
    expect(isDue({ ...PAST, ...past }, terms, nowMs)).toBe(due);
  });
});

test.each([
  [{ eventsPerRun: 500, eventsPerHour: null, eventsPerDay: null }, { hour: 900, day: 9_000 }, 500],
  [{ eventsPerRun: 500, eventsPerHour: 1_000, eventsPerDay: null }, { hour: 900, day: 9_000 }, 100],
  [{ eventsPerRun: 500, eventsPerHour: 1_000, eventsPerDay: 9_050 }, { hour: 900, day: 9_000 }, 50],
  [{ eventsPerRun: 500, eventsPerHour: 700, eventsPerDay: 9_050 }, { hour: 900, day: 9_000 }, 0],
])("a run has room for what every limit leaves: %j", (limits, used, room) => {
  expect(roomOf({ ...TERMS, limits }, used)).toBe(room);
});

describe("a rule stops", () => {
  test("above the share of failed and bounced events", () => {
    expect(stopReason({ delivered: 8, failed: 2, bounced: 1 }, 0.2)).toBe(
      "2 failed and 1 bounced of 10 sent (30%, limit 20%)",
    );
    expect(stopReason({ delivered: 8, failed: 1, bounced: 1 }, 0.2)).toBeNull();
  });
  test("never at the share, nor on fewer than ten events", () => {
    expect(stopReason({ delivered: 8, failed: 2, bounced: 0 }, 0.2)).toBeNull();
    expect(stopReason({ delivered: 0, failed: 9, bounced: 0 }, 0.2)).toBeNull();
    expect(stopReason({ delivered: 0, failed: 0, bounced: 0 }, 0.2)).toBeNull();
  });
});

describe("a trial", () => {
  const event = (parkedMs: number, leftMs: number | null = null, groupSucceededMs: number | null = null) => ({
    parkedMs,
    leftMs,
    groupSucceededMs,
  });
  const NOW = 100_000_000;

  test("takes an event when it was due, unless it had left by then", () => {
    expect(tryEach([event(0), event(10, 1_000_010), event(20, 1_000_021), event(NOW)], TERMS, NOW)).toEqual([
      { fate: "taken", takenMs: 1_000_000 },
      { fate: "left" },
      { fate: "taken", takenMs: 1_000_020 },
      { fate: "waits" },
    ]);
  });

  test("waits for a success of the group", () => {
    expect(tryEach([event(0, null, 2_000_000), event(5), event(9, null, 100)], GROUP, NOW)).toEqual([
      { fate: "taken", takenMs: 2_000_000 },
      { fate: "waits" },
      { fate: "taken", takenMs: 1_000_009 },
    ]);
  });

  test("keeps the limits of a run, an hour and a day, first due first", () => {
    const events = [event(4), event(3), event(2), event(1), event(0)];
    const runs = tryEach(events, TERMS, NOW).map((each) => (each.fate === "taken" ? each.takenMs : each.fate));
    expect(runs).toEqual([1_020_000, 1_010_001, 1_010_000, 1_000_001, 1_000_000]);
    const limits = { eventsPerRun: 100, eventsPerHour: 2, eventsPerDay: 4 };
    const hours = tryEach(events, { ...TERMS, limits }, NOW).map((each) =>
      each.fate === "taken" ? each.takenMs : each.fate,
    );
    expect(hours).toEqual([87_400_000, 4_600_001, 4_600_000, 1_000_001, 1_000_000]);
  });

  test("says of an event that the limits kept back until it left", () => {
    const limits = { eventsPerRun: 100, eventsPerHour: 1, eventsPerDay: null };
    expect(tryEach([event(0), event(1, 4_599_000)], { ...TERMS, limits }, NOW)).toEqual([
      { fate: "taken", takenMs: 1_000_000 },
      { fate: "limited" },
    ]);
  });
});
