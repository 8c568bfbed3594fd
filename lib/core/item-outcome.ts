import { cooldownAfter } from "@/lib/core/cooldown";
import { EVENT_MOVES, type EventMove, type EventStatus } from "@/lib/core/event-state";
import { ITEM_MOVES, type ItemMove, type ItemState } from "@/lib/core/item-state";
import { statusAfterFailure } from "@/lib/core/redrive-limit";
import type { Refusal } from "@/lib/core/refusal";
import type { Settings } from "@/lib/core/settings";

/**
 * How one claimed item ended. `untilMs` of a failure is when the target said it may be asked again: the cooldown never
 * ends before that. `back` hands it back unchanged (pause, shutdown, open breaker); `later` keeps it open and unsent for
 * `waitMs` (the rest of a Retry-After); `verified` is a verify run's pass.
 */
export type ItemOutcome =
  | { kind: "delivered"; code: string }
  | { kind: "already-processed"; detail: string }
  | { kind: "verified" }
  | { kind: "failed"; code: string; detail: string; untilMs?: number | null }
  | { kind: "refused"; refusal: Refusal; detail: string }
  | { kind: "later"; waitMs: number }
  | { kind: "back" };

/** What the event becomes. Times are epoch milliseconds. */
export type EventAfter = {
  status: EventStatus;
  /** Of a delivery: the status when its bounce was parked before this end; null = the end was no delivery. */
  statusIfBounced: EventStatus | null;
  failures: number;
  redrives: number;
  cooldownUntilMs: number | null;
  confirmedAtMs: number | null;
};

export type EventBefore = { failures: number; redrives: number; cooldownUntilMs: number | null };

/** The move of the item and of its event. */
export function moveOf(outcome: ItemOutcome): Extract<ItemMove, EventMove> {
  switch (outcome.kind) {
    case "delivered":
      return "deliver";
    case "already-processed":
      return "skip";
    case "verified":
      return "pass";
    case "failed":
      return "fail";
    case "refused":
      return "refuse";
    case "later":
    case "back":
      return "giveBack";
  }
}

export function itemStateAfter(outcome: ItemOutcome): ItemState {
  return ITEM_MOVES[moveOf(outcome)].to;
}

/**
 * The event after its item closed. A delivery is no success yet: it leaves the run of failures as it is, and only a
 * confirmation ends it. A send that failed counts against the redrive limit like one that was delivered:
 * the limit is against loops, not against success.
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
    case "back":
      return null;
  }
}
