import { backoffMs } from "@/lib/retry/backoff/backoff";
import type { CostClass } from "@/lib/retry/budget/budget";
import type { Call, NextStep } from "@/lib/retry/call";
import type { Verdict } from "@/lib/retry/classify/verdict";
import type { Random } from "@/lib/retry/clock";
import type { Policy } from "@/lib/retry/policy";
import { parseRetryAfter } from "@/lib/retry/retry-after";

/** What is known when an attempt has failed. Times in milliseconds. */
export type Situation = {
  policy: Policy;
  call: Pick<Call<unknown>, "idempotencyKey" | "retryable">;
  verdict: Verdict;
  /** Number of the attempt that failed, and of the last one allowed here. */
  attempt: number;
  lastAttempt: number;
  /** The caller's own repeats have lowered that limit. */
  curtailed: boolean;
  /** How often in a row this code has now come, this time included. */
  sameCode: number;
  /** Until the operation's deadline. */
  leftMs: number;
  wallMs: number;
  /** Delay before this attempt, null before the first: decorrelated jitter grows from it. */
  previousDelayMs: number | null;
  /** The breaker lets nothing pass now. */
  blocked: boolean;
  /** Self-healing's stretch of every delay. */
  backoffFactor: number;
  /** Pays for the retry; null = out of budget. Asked last, so that nothing is paid for a retry that is not made. */
  withdraw: (cost: CostClass) => number | null;
  random: Random;
};

/**
 * What follows a failed attempt; a cancelled one is followed by nothing and never comes here. The order is part of the contract: what makes a repeat wrong comes before what makes
 * it unaffordable, and a Retry-After that does not fit defers instead of failing.
 */
export function decide(situation: Situation): NextStep {
  const { verdict, call, policy, attempt, lastAttempt } = situation;
  if (verdict.kind === "permanent") return giveUp("permanent");
  if (verdict.stop) return giveUp("amplified");
  if (!call.retryable) return giveUp("not-retryable");
  if (verdict.sent === "maybe" && call.idempotencyKey === null) return giveUp("ambiguous");
  if (verdict.repeatsMax !== null && situation.sameCode > verdict.repeatsMax) return giveUp("permanent");
  if (attempt >= lastAttempt) return giveUp(situation.curtailed ? "amplified" : "exhausted");

  const timeLeftMs = situation.leftMs - policy.marginMs;
  const hintMs = hintOf(situation);
  if (hintMs !== null && hintMs > timeLeftMs) return { kind: "defer", waitMs: hintMs };
  if (timeLeftMs <= 0) return giveUp("deadline");
  if (situation.blocked) return giveUp("breaker-open");

  const withdrawn = verdict.blame === "local" ? 0 : situation.withdraw(costOf(verdict));
  if (withdrawn === null) return giveUp("budget");
  if (hintMs !== null) return { kind: "retry", delayMs: hintMs, withdrawn, honored: true };
  return { kind: "retry", delayMs: Math.min(localDelayMs(situation), timeLeftMs), withdrawn, honored: false };
}

/** Milliseconds a well-formed Retry-After asks for, believed up to the policy's limit; null without one. */
export function hintOf({ verdict, policy, wallMs }: Pick<Situation, "verdict" | "policy" | "wallMs">): number | null {
  if (verdict.retryAfter === null) return null;
  const hintMs = parseRetryAfter(verdict.retryAfter, wallMs);
  return hintMs === null ? null : Math.min(hintMs, policy.retryAfterMsMax);
}

function localDelayMs({ policy, verdict, attempt, previousDelayMs, backoffFactor, random }: Situation): number {
  const backoff = verdict.kind === "throttled" ? (policy.throttledBackoff ?? policy.backoff) : policy.backoff;
  return backoffMs(backoff, attempt, previousDelayMs, random) * backoffFactor;
}

function costOf(verdict: Verdict): CostClass {
  return verdict.kind === "throttled" ? "throttled" : "transient";
}

function giveUp(reason: Extract<NextStep, { kind: "give-up" }>["reason"]): NextStep {
  return { kind: "give-up", reason };
}
