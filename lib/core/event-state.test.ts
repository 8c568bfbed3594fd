import { describe, expect, test } from "vitest";
import {
  EVENT_STATUSES,
  type EventMove,
  type EventStatus,
  nextStatus,
  shownState,
  statusesBefore,
} from "./event-state";

const LEGAL: [EventMove, EventStatus, EventStatus][] = [
  ["freeze", "PENDING", "QUEUED"],
  ["deliver", "QUEUED", "REDRIVEN"],
  ["refuse", "QUEUED", "PENDING"],
  ["fail", "QUEUED", "PENDING"],
  ["cancel", "QUEUED", "PENDING"],
  ["bounce", "REDRIVEN", "PENDING"],
  ["ignore", "PENDING", "IGNORED"],
  ["ignore", "QUEUED", "IGNORED"],
  ["exhaust", "PENDING", "IGNORED"],
  ["exhaust", "QUEUED", "IGNORED"],
  ["release", "IGNORED", "PENDING"],
  ["confirm", "REDRIVEN", "REDRIVEN"],
  ["confirm", "PENDING", "REDRIVEN"],
];
const MOVES = [...new Set(LEGAL.map(([move]) => move))];

describe("the life of an event", () => {
  test.each(MOVES.flatMap((move) => EVENT_STATUSES.map((from) => ({ move, from }))))(
    "$move from $from is legal only if the machine says so",
    ({ move, from }) => {
      const legal = LEGAL.find(([name, status]) => name === move && status === from);
      expect(nextStatus(from, move)).toBe(legal?.[2] ?? null);
      expect(statusesBefore(move).includes(from)).toBe(legal !== undefined);
    },
  );

  const facts = { status: "PENDING" as EventStatus, bounces: 0, confirmedAtMs: null, cooldownUntilMs: null };
  test.each([
    [{}, "PENDING"],
    [{ bounces: 1 }, "BOUNCED"],
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
