import { backoffMs } from "@/lib/retry/backoff/backoff";
import type { CostClass } from "@/lib/retry/budget/budget";
import type { Call, NextStep } from "@/lib/retry/call";
import type { Verdict } from "@/lib/retry/classify/verdict";
import type { Random } from "@/lib/retry/clock";
import type { Policy } from "@/lib/retry/policy";
import { parseRetryAfter } from "@/lib/retry/retry-after";

/** What is known when an attempt has failed. Times in milliseconds. */
export type Situation = {
  policy: Pick<Policy, "marginMs" | "backoff" | "throttledBackoff" | "retryAfterMsMax" | "retryOn">;
  call: Pick<Call<unknown>, "idempotencyKey" | "retryable">;
  verdict: Verdict;
  /** Number of the attempt it is decided at: beside hedges the latest one sent, and not the one that failed. */
  attempt: number;
  /** Number of the last attempt that is allowed here. */
  lastAttempt: number;
  /** The caller's own repeats have lowered that limit. */
  curtailed: boolean;
  /** How often in a row this code has now come, this time included. */
  sameCode: number;
  leftMs: number;
  wallMs: number;
  /** Delay before this attempt, null before the first: decorrelated jitter grows from it. */
  previousDelayMs: number | null;
  /** The breaker lets nothing pass now. */
  blocked: boolean;
  /** Self-healing's stretch of every delay. */
  backoffFactor: number;
  /** Spreads a hint over [hint, hint * (1 + hintSpread)): clients that were given one second do not come back together. */
  hintSpread?: number;
  /** Pays for the retry; null = out of budget. Asked last, so that nothing is paid for a retry that is not made. */
  withdraw: (cost: CostClass) => number | null;
  random: Random;
};

/**
 * The next step after a failed attempt. A cancelled attempt has none: its caller ends it. The order of the checks is part
 * of the contract: reasons against any repeat come before limits and budgets, and a Retry-After that does not fit
 * defers instead of failing.
 */
export function decide(situation: Situation): NextStep {
  const { verdict, call, policy, attempt, lastAttempt } = situation;
  if (verdict.kind === "permanent") return giveUp("permanent");
  if (verdict.stop) return giveUp("amplified");
  if (!call.retryable) return giveUp("not-retryable");
  if (verdict.sent === "maybe" && call.idempotencyKey === null) return giveUp("ambiguous");
  if (policy.retryOn && !isListed(policy.retryOn, verdict)) return giveUp("not-listed");
  if (verdict.repeatsMax !== null && situation.sameCode > verdict.repeatsMax) return giveUp("permanent");
  if (attempt >= lastAttempt) return giveUp(situation.curtailed ? "amplified" : "exhausted");

  const timeLeftMs = situation.leftMs - policy.marginMs;
  const hint = hintOf(situation);
  if (hint !== null && hint.delayMs > timeLeftMs) {
    return { kind: "defer", waitMs: spreadHint(situation, hint.delayMs, Number.POSITIVE_INFINITY) };
  }
  if (timeLeftMs <= 0) return giveUp("deadline");
  if (situation.blocked) return giveUp("breaker-open");

  const withdrawn = verdict.blame === "local" ? 0 : situation.withdraw(costOf(verdict));
  if (withdrawn === null) return giveUp("budget");
  if (hint?.exact) {
    return { kind: "retry", delayMs: spreadHint(situation, hint.delayMs, timeLeftMs), withdrawn, honored: true };
  }
  // One draw for both delays: a record keeps one, and a replay decides by it.
  let drawn: number | undefined;
  const random = () => {
    drawn ??= situation.random();
    return drawn;
  };
  const localMs = Math.min(localDelayMs({ ...situation, random }), timeLeftMs);
  const askedMs = hint === null ? 0 : spreadHint({ ...situation, random }, hint.delayMs, timeLeftMs);
  return { kind: "retry", delayMs: Math.max(localMs, askedMs), withdrawn, honored: hint !== null };
}

/** When the target asks to be called again. `exact`: then and not later; otherwise the own backoff may be longer. */
type Hint = { delayMs: number; exact: boolean };

/**
 * What the target asks for, believed up to the policy's limit; null = the own backoff decides.
 *
 * A gRPC pushback is an order: exactly that delay, 0 included (gRPC A6). Retry-After, in seconds or as a date, replaces
 * the own backoff. A hint in milliseconds is the least wait: such hints are often shorter than any backoff, and several
 * of them in a row would use up all attempts at once (AWS SDK standard retry 2.1 takes the longer of the two as well).
 * For the same reason a hint of zero, and a date in the past (the target's clock may be behind), are none. Of two
 * hints the longer one counts: a repeat never comes earlier than asked.
 */
export function hintOf({ verdict, policy, wallMs }: Pick<Situation, "verdict" | "policy" | "wallMs">): Hint | null {
  const pushbackMs = verdict.pushbackMs ?? null;
  if (pushbackMs !== null) return { delayMs: Math.min(pushbackMs, policy.retryAfterMsMax), exact: true };
  const wholeMs = verdict.retryAfter === null ? 0 : (parseRetryAfter(verdict.retryAfter, wallMs) ?? 0);
  const fineMs = verdict.retryAfterMs ?? 0;
  const delayMs = Math.min(Math.max(wholeMs, fineMs), policy.retryAfterMsMax);
  return delayMs > 0 ? { delayMs, exact: wholeMs >= fineMs } : null;
}

/** Never earlier than the hint. Source: Envoy, "rate limited reset header" with its jitter on top. */
function spreadHint({ hintSpread = 0, random }: Situation, hintMs: number, leftMs: number): number {
  return hintSpread > 0 ? Math.min(hintMs * (1 + hintSpread * random()), leftMs) : hintMs;
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

/** By its code or its type. A type holds what a rule knows to be of it, so that an unknown failure is repeated only when `unknown` is listed. */
function isListed(retryOn: readonly string[], { code, kind, unknown }: Verdict): boolean {
  return retryOn.includes(code) || retryOn.includes(unknown ? "unknown" : kind);
}
