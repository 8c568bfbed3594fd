import { describe, expect, test } from "vitest";
import {
  EVENT_MOVES,
  EVENT_STATUSES,
  type EventMove,
  type EventStatus,
  nextStatus,
  shownState,
} from "./event-state.pure";

const LEGAL: [EventMove, EventStatus, EventStatus][] = [
  ["freeze", "PENDING", "QUEUED"],
  ["deliver", "QUEUED", "REDRIVEN"],
  ["deliverBounced", "QUEUED", "PENDING"],
  ["skip", "QUEUED", "REDRIVEN"],
  ["pass", "QUEUED", "PENDING"],
  ["refuse", "QUEUED", "PENDING"],
  ["fail", "QUEUED", "PENDING"],
  ["cancel", "QUEUED", "PENDING"],
  ["giveBack", "QUEUED", "QUEUED"],
  ["bounce", "REDRIVEN", "PENDING"],
  ["ignore", "PENDING", "IGNORED"],
  ["ignore", "QUEUED", "IGNORED"],
  ["exhaust", "QUEUED", "IGNORED"],
  ["exhaust", "REDRIVEN", "IGNORED"],
  ["release", "IGNORED", "PENDING"],
  ["confirm", "REDRIVEN", "REDRIVEN"],
  ["confirm", "PENDING", "REDRIVEN"],
];
const MOVES = Object.keys(EVENT_MOVES) as EventMove[];

describe("the life of an event", () => {
  test.each(MOVES.flatMap((move) => EVENT_STATUSES.map((from) => ({ move, from }))))(
    "$move from $from is legal only if the machine says so",
    ({ move, from }) => {
      const legal = LEGAL.find(([name, status]) => name === move && status === from);
      expect(nextStatus(from, move)).toBe(legal?.[2] ?? null);
    },
  );

  const facts = { status: "PENDING" as EventStatus, bounces: 0, confirmedAtMs: null, cooldownUntilMs: null };
  test.each([
    [{}, "PENDING"],
    [{ bounces: 1 }, "BOUNCED"],
    [{ bounces: 1, held: true }, "HELD"],
    [{ held: true, cooldownUntilMs: 1_001 }, "COOLING"],
    [{ held: true, blacklisted: true }, "BLACKLISTED"],
    [{ bounces: 1, cooldownUntilMs: 1_001 }, "COOLING"],
    [{ cooldownUntilMs: 1_000 }, "PENDING"],
    [{ blacklisted: true, cooldownUntilMs: 1_001 }, "BLACKLISTED"],
    [{ status: "REDRIVEN" as const }, "REDRIVEN"],
    [{ status: "REDRIVEN" as const, confirmedAtMs: 5 }, "CONFIRMED"],
    [{ status: "QUEUED" as const, blacklisted: true }, "QUEUED"],
    [{ status: "IGNORED" as const, bounces: 2 }, "IGNORED"],
  ])("%o is shown as %s", (change, shown) => {
    expect(shownState({ ...facts, ...change }, 1_000)).toBe(shown);
  });
});
