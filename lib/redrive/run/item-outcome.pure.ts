import { EVENT_MOVES, type EventMove, type EventStatus } from "@/lib/events/event-state.pure";
import type { Settings } from "@/lib/guard/settings/settings.pure";
import { cooldownAfter, statusAfterFailure } from "@/lib/order/after-failure.pure";
import type { Refusal } from "@/lib/redrive/gate/refusal.pure";
import { ITEM_MOVES, type ItemMove, type ItemState } from "@/lib/redrive/states/item-state.pure";

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

/** The event after the outcome. Times are epoch milliseconds. */
export type EventAfter = {
  status: EventStatus;
  /** For a delivery: the status if its bounce was parked before this end; null = the end was not a delivery. */
  statusIfBounced: EventStatus | null;
  failures: number;
  redrives: number;
  cooldownUntilMs: number | null;
  confirmedAtMs: number | null;
};

type EventBefore = { failures: number; redrives: number; cooldownUntilMs: number | null };

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

/**
 * The event after its item closed. A delivery is not a success yet: it leaves the count of consecutive failures
 * unchanged, and only a confirmation resets it. A send that failed counts against the redrive limit like a delivered
 * one: the limit protects against endless repetition.
 */
export function eventAfter(
  outcome: ItemOutcome,
  before: EventBefore,
  settings: Settings,
  nowMs: number,
): EventAfter | null {
  const move = moveOf(outcome);
  if (move === "giveBack") return null;
  const { redriveLimit } = settings;
  const unchanged = { ...before, status: EVENT_MOVES[move].to, statusIfBounced: null, confirmedAtMs: null };
  switch (outcome.kind) {
    case "delivered": {
      const redrives = before.redrives + 1;
      const statusIfBounced = statusAfterFailure(EVENT_MOVES.freeze.to, "deliverBounced", { redrives, redriveLimit });
      return { ...unchanged, statusIfBounced, redrives, cooldownUntilMs: null };
    }
    case "already-processed":
      return { ...unchanged, failures: 0, cooldownUntilMs: null, confirmedAtMs: nowMs };
    case "failed": {
      const failures = before.failures + 1;
      const redrives = before.redrives + 1;
      return {
        ...unchanged,
        status: statusAfterFailure(EVENT_MOVES.freeze.to, "fail", { redrives, redriveLimit }),
        failures,
        redrives,
        cooldownUntilMs: Math.max(nowMs + cooldownAfter(failures, settings), outcome.untilMs ?? 0),
      };
    }
    case "verified":
    case "refused":
      return unchanged;
    case "later":
    case "behind":
    case "back":
      return null;
  }
}
