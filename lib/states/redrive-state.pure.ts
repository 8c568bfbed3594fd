import { ITEM_ENDS, type ItemEnd } from "@/lib/states/item-state.pure";

/**
 * The life of a redrive.
 *
 * PLANNING while its set is being frozen in chunks; PLANNED once the manifest is complete, as long as it waits for what
 * `redrive-wait` names, and again when its approval was voided; RUNNING while slices are worked; PAUSED by a person or by the canary's brake; DONE when no item is open; CANCELLED
 * when a person stopped it: open items are given back, delivered ones stay delivered. DONE and CANCELLED are final.
 */
export const REDRIVE_STATES = ["PLANNING", "PLANNED", "RUNNING", "PAUSED", "DONE", "CANCELLED"] as const;
export type RedriveState = (typeof REDRIVE_STATES)[number];

export type RedriveMove = "planned" | "start" | "wait" | "empty" | "pause" | "brake" | "resume" | "finish" | "cancel";

/** Each compare-and-set of `redrives.state`: the states it compares with, and the one it writes. */
export const REDRIVE_MOVES = {
  planned: { from: ["PLANNING"], to: "PLANNED" },
  start: { from: ["PLANNED"], to: "RUNNING" },
  // Its approval was voided, or it is resumed while it still waits for something.
  wait: { from: ["RUNNING", "PAUSED"], to: "PLANNED" },
  // The manifest is complete, and each of its items was refused.
  empty: { from: ["PLANNED"], to: "DONE" },
  pause: { from: ["RUNNING", "PLANNED"], to: "PAUSED" },
  brake: { from: ["RUNNING"], to: "PAUSED" },
  resume: { from: ["PAUSED"], to: "RUNNING" },
  finish: { from: ["PLANNED", "RUNNING", "PAUSED"], to: "DONE" },
  cancel: { from: ["PLANNING", "PLANNED", "RUNNING", "PAUSED"], to: "CANCELLED" },
} as const satisfies Record<RedriveMove, { from: readonly RedriveState[]; to: RedriveState }>;

export const FINAL_REDRIVE_STATES = ["DONE", "CANCELLED"] as const satisfies readonly RedriveState[];
export const LIVE_REDRIVE_STATES = REDRIVE_STATES.filter((state) => !isFinal(state));

export function isFinal(state: RedriveState): boolean {
  return (FINAL_REDRIVE_STATES as readonly RedriveState[]).includes(state);
}

/** The state after a move; null when the move is not allowed from this state. */
export function nextRedriveState(from: RedriveState, move: RedriveMove): RedriveState | null {
  const { from: before, to } = REDRIVE_MOVES[move];
  return (before as readonly RedriveState[]).includes(from) ? to : null;
}

export type RedriveCounts = Record<ItemEnd, number> & { total: number };

/** Items not yet decided. */
export function openItems(counts: RedriveCounts): number {
  return ITEM_ENDS.reduce((open, end) => open - counts[end], counts.total);
}
