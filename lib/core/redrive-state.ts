/**
 * The life of a redrive.
 *
 * PLANNING while its set is being frozen in chunks; PLANNED once the manifest is complete and nothing was sent;
 * RUNNING while slices are worked; PAUSED by a person or by the canary's brake; DONE when no item is open; CANCELLED
 * when a person stopped it: open items are given back, delivered ones stay delivered. DONE and CANCELLED are final.
 */
export const REDRIVE_STATES = ["PLANNING", "PLANNED", "RUNNING", "PAUSED", "DONE", "CANCELLED"] as const;
export type RedriveState = (typeof REDRIVE_STATES)[number];

export type RedriveMove = "planned" | "start" | "pause" | "resume" | "finish" | "cancel";

const MOVES: Record<RedriveMove, Partial<Record<RedriveState, RedriveState>>> = {
  planned: { PLANNING: "PLANNED" },
  start: { PLANNED: "RUNNING" },
  pause: { RUNNING: "PAUSED", PLANNED: "PAUSED" },
  resume: { PAUSED: "RUNNING" },
  finish: { RUNNING: "DONE", PLANNED: "DONE", PAUSED: "DONE" },
  cancel: { PLANNING: "CANCELLED", PLANNED: "CANCELLED", RUNNING: "CANCELLED", PAUSED: "CANCELLED" },
};

/** The state after a move, or null when the move is not legal from here. */
export function nextRedriveState(from: RedriveState, move: RedriveMove): RedriveState | null {
  return MOVES[move][from] ?? null;
}

export function redriveStatesBefore(move: RedriveMove): RedriveState[] {
  return REDRIVE_STATES.filter((state) => MOVES[move][state] !== undefined);
}

export type RedriveCounts = {
  total: number;
  delivered: number;
  /** Verify runs only: the dry run found nothing against sending it. */
  passed: number;
  failed: number;
  refused: number;
  cancelled: number;
};

/** Items not yet decided. Invariant: total = delivered + passed + failed + refused + cancelled + open. */
export function openItems(counts: RedriveCounts): number {
  return counts.total - counts.delivered - counts.passed - counts.failed - counts.refused - counts.cancelled;
}
