import type { EventMove } from "@/lib/states/event-state.pure";
import { ITEM_MOVES, type ItemMove, type ItemState } from "@/lib/states/item-state.pure";
import type { Refusal } from "@/lib/states/refusal.pure";

/**
 * The end of one item. `untilMs` of a failure is the time before which the target must not be asked again: the
 * cooldown never ends earlier. `back` gives the item back unchanged (pause, shutdown, open breaker); `later` keeps it
 * open and unsent for `waitMs` (the rest of a Retry-After), and `behind` until an open event before it in its aggregate has ended; `verified` means that a verify run found no fault. A delivery
 * is `deduplicated` when the target says that it had taken the event before; `record` names what it became in a log of
 * the event's own source.
 */
export type ItemOutcome =
  | { kind: "delivered"; code: string; deduplicated?: boolean; record?: string }
  | { kind: "already-processed"; detail: string }
  | { kind: "verified" }
  | { kind: "failed"; code: string; detail: string; untilMs?: number | null }
  | { kind: "refused"; refusal: Refusal; detail: string }
  | { kind: "later"; waitMs: number }
  | { kind: "behind" }
  | { kind: "back" };

const GIVEN_BACK = { move: "giveBack", action: "event.queued" } as const;

/** The move of the item and its event, and the action of the audit entry about it. */
const OUTCOMES = {
  delivered: { move: "deliver", action: "event.redriven" },
  "already-processed": { move: "skip", action: "event.confirmed" },
  verified: { move: "pass", action: "event.verified" },
  failed: { move: "fail", action: "event.failed" },
  refused: { move: "refuse", action: "event.refused" },
  later: GIVEN_BACK,
  behind: GIVEN_BACK,
  back: GIVEN_BACK,
} as const satisfies Record<ItemOutcome["kind"], { move: Extract<ItemMove, EventMove>; action: string }>;

export function moveOf({ kind }: ItemOutcome): Extract<ItemMove, EventMove> {
  return OUTCOMES[kind].move;
}

export function actionOf({ kind }: ItemOutcome): string {
  return OUTCOMES[kind].action;
}

/** Results of delivered items that were no news to their target: its inbox held the event, or its answer said so. */
export const DEDUPLICATED_RESULTS = ["ALREADY_PROCESSED", "DEDUPLICATED"] as const;

export function isDeduplicated(outcome: ItemOutcome): boolean {
  return outcome.kind === "already-processed" || (outcome.kind === "delivered" && outcome.deduplicated === true);
}

export function itemStateAfter(outcome: ItemOutcome): ItemState {
  return ITEM_MOVES[moveOf(outcome)].to;
}
