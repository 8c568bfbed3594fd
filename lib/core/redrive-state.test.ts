import { describe, expect, test } from "vitest";
import { nextRedriveState, openItems, REDRIVE_STATES, redriveStatesBefore } from "./redrive-state";

describe("the life of a redrive", () => {
  test.each([
    ["planned", { PLANNING: "PLANNED" }],
    ["start", { PLANNED: "RUNNING" }],
    ["pause", { RUNNING: "PAUSED", PLANNED: "PAUSED" }],
    ["resume", { PAUSED: "RUNNING" }],
    ["finish", { RUNNING: "DONE", PLANNED: "DONE", PAUSED: "DONE" }],
    ["cancel", { PLANNING: "CANCELLED", PLANNED: "CANCELLED", RUNNING: "CANCELLED", PAUSED: "CANCELLED" }],
  ] as const)("%s leads from exactly these states", (move, legal) => {
    const moved = Object.fromEntries(REDRIVE_STATES.map((from) => [from, nextRedriveState(from, move)]));
    expect(moved).toEqual({ ...Object.fromEntries(REDRIVE_STATES.map((state) => [state, null])), ...legal });
    expect(redriveStatesBefore(move)).toEqual(REDRIVE_STATES.filter((state) => state in legal));
  });

  test("what is open is what nothing else accounts for", () => {
    expect(openItems({ total: 100, delivered: 40, passed: 5, failed: 10, refused: 20, cancelled: 3 })).toBe(22);
  });
});
