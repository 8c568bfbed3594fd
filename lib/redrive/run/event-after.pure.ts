import type { Settings } from "@/lib/guard/settings/settings.pure";
import { cooldownAfter, statusAfterFailure } from "@/lib/order/after-failure.pure";
import { EVENT_MOVES, type EventStatus } from "@/lib/states/event-state.pure";
import { type ItemOutcome, moveOf } from "@/lib/states/item-outcome.pure";

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
