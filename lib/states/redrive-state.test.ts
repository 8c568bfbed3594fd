import { describe, expect, test } from "vitest";
import {
  isFinal,
  LIVE_REDRIVE_STATES,
  nextRedriveState,
  openItems,
  REDRIVE_MOVES,
  REDRIVE_STATES,
} from "./redrive-state.pure";

describe("the life of a redrive", () => {
  test.each([
    ["planned", { PLANNING: "PLANNED" }],
    ["start", { PLANNED: "RUNNING" }],
    ["empty", { PLANNED: "DONE" }],
    ["pause", { RUNNING: "PAUSED", PLANNED: "PAUSED" }],
    ["brake", { RUNNING: "PAUSED" }],
    ["resume", { PAUSED: "RUNNING" }],
    ["wait", { RUNNING: "PLANNED", PAUSED: "PLANNED" }],
    ["finish", { PLANNED: "DONE", RUNNING: "DONE", PAUSED: "DONE" }],
    ["cancel", { PLANNING: "CANCELLED", PLANNED: "CANCELLED", RUNNING: "CANCELLED", PAUSED: "CANCELLED" }],
  ] as const)("%s leads from exactly these states", (move, legal) => {
    const moved = Object.fromEntries(REDRIVE_STATES.map((from) => [from, nextRedriveState(from, move)]));
    expect(moved).toEqual({ ...Object.fromEntries(REDRIVE_STATES.map((state) => [state, null])), ...legal });
  });

  test("ends: no move leaves a final state, and each other state is left", () => {
    for (const state of REDRIVE_STATES) {
      const moves = Object.values(REDRIVE_MOVES).filter(({ from }) => (from as readonly string[]).includes(state));
      expect(moves.length === 0, state).toBe(isFinal(state));
    }
    expect(LIVE_REDRIVE_STATES).toEqual(["PLANNING", "PLANNED", "RUNNING", "PAUSED"]);
  });

  test("what is open is what nothing else accounts for", () => {
    expect(openItems({ total: 100, delivered: 40, passed: 5, failed: 10, refused: 20, cancelled: 3 })).toBe(22);
  });
});
