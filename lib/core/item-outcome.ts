import type { EventStatus } from "@/lib/core/event-state";
import type { Refusal } from "@/lib/core/refusal";
import { cooldownAfter, type Settings } from "@/lib/core/settings";

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
  failures: number;
  redrives: number;
  cooldownUntilMs: number | null;
  confirmedAtMs: number | null;
};

export type EventBefore = { failures: number; redrives: number; cooldownUntilMs: number | null };

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
  const unchanged = { ...before, status: "PENDING" as const, confirmedAtMs: null };
  switch (outcome.kind) {
    case "delivered":
      return {
        status: "REDRIVEN",
        failures: before.failures,
        redrives: before.redrives + 1,
        cooldownUntilMs: null,
        confirmedAtMs: null,
      };
    case "already-processed":
      return {
        status: "REDRIVEN",
        failures: 0,
        redrives: before.redrives,
        cooldownUntilMs: null,
        confirmedAtMs: nowMs,
      };
    case "failed": {
      const failures = before.failures + 1;
      const redrives = before.redrives + 1;
      return {
        status: redrives >= settings.redriveLimit ? "IGNORED" : "PENDING",
        failures,
        redrives,
        cooldownUntilMs: Math.max(nowMs + cooldownAfter(failures, settings), outcome.untilMs ?? 0),
        confirmedAtMs: null,
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
