import type { AttemptEnd } from "@/lib/retry/attempt";
import type { CostClass } from "@/lib/retry/budget/budget";
import type { DecisionInputs, NextStep, Outcome } from "@/lib/retry/call";
import type { Verdict } from "@/lib/retry/classify/verdict";
import { decide, hintOf } from "@/lib/retry/decide";
import type { Operation } from "@/lib/retry/operation";

/** A send that was rejected on our own side may be tried again after this: the share of rejected sends follows the answers. */
const OVERLOAD_WAIT_MS = 1_000;

export type Failed = Extract<AttemptEnd<unknown>, { kind: "failed" }>;

/** Facts of an operation that the decision after its next attempt needs. */
export type History = {
  last: Failed | null;
  /** How many attempts in a row have failed with the last code. */
  sameCode: number;
  /** The delay before the last attempt, null before the first. */
  delayMs: number | null;
};

export function remember(history: History, end: Failed): void {
  history.sameCode = end.verdict.code === history.last?.verdict.code ? history.sameCode + 1 : 1;
  history.last = end;
}

/** A decision with its inputs. */
export type Decided = { next: NextStep; inputs: DecisionInputs };

/** Collects the inputs of `decide` and calls it. @param bounds other values for a hedge */
export function nextStep(
  operation: Operation<unknown>,
  attempt: number,
  { sameCode, last, delayMs }: History & { last: Failed },
  bounds: { lastAttempt: number; backoffFactor: number } = {
    lastAttempt: operation.lastAttempt,
    backoffFactor: operation.target.healer?.backoffFactor ?? 1,
  },
): Decided {
  const { call, clock, policy, target, deadlineMs } = operation;
  const nowMs = clock.nowMs();
  const inputs: DecisionInputs = {
    ...bounds,
    attempt,
    curtailed: operation.curtailed,
    sameCode,
    leftMs: deadlineMs - nowMs,
    wallMs: clock.wallMs(),
    previousDelayMs: delayMs,
    blocked: target.breaker !== null && target.breaker.waitMs(nowMs) !== 0,
    withdrawn: null,
    draw: null,
    ...(operation.hintSpread !== undefined && { hintSpread: operation.hintSpread }),
  };
  const withdraw = (cost: CostClass) => {
    inputs.withdrawn = operation.budget.withdraw(cost, nowMs);
    return inputs.withdrawn;
  };
  const random = () => {
    inputs.draw = operation.random();
    return inputs.draw;
  };
  const next = decide({ ...inputs, policy, call, verdict: last.verdict, withdraw, random });
  return { next, inputs };
}

/** The outcome of a failed attempt that nothing follows. */
export function stopped<T>(
  operation: Operation<T>,
  { verdict, error }: Failed,
  next: Exclude<NextStep, { kind: "retry" }>,
): Outcome<T> {
  if (next.kind === "defer") return operation.defer("retry-after", verdict.code, error, next.waitMs);
  // The operation's own deadline has ended the attempt: its attempts are not used up.
  const reason = verdict.code === "TIMEOUT_DEADLINE" && next.reason === "exhausted" ? "deadline" : next.reason;
  return operation.fail(reason, verdict.code, error, { waitMs: waitOf(operation, verdict, reason), last: verdict });
}

/** The outcome when an attempt was not even opened. `last` is the failure before it, if there was one. */
export function refused<T>(
  operation: Operation<T>,
  why: Extract<AttemptEnd<T>, { kind: "unopened" }>["why"],
  last: Failed | null,
): Outcome<T> {
  const error = last?.error ?? null;
  switch (why) {
    case "cancelled":
      return operation.cancel(operation.cancelled?.reason);
    case "deadline":
      // Nothing was sent, so nothing has failed: the caller may try again.
      if (last === null) return operation.defer("no-permit", "NO_PERMIT", null, 0);
      return operation.fail("deadline", last.verdict.code, error, { last: last.verdict });
    case "breaker-open":
      if (operation.waits) return operation.hold();
      return operation.fail(why, last?.verdict.code ?? "BREAKER_OPEN", error, {
        waitMs: breakerWaitMs(operation),
      });
    case "overload":
      return operation.waits
        ? operation.defer("overload", "OVERLOAD", null, OVERLOAD_WAIT_MS)
        : operation.fail(why, last?.verdict.code ?? "OVERLOAD", error);
    case "bulkhead-full":
      return operation.fail(why, last?.verdict.code ?? "BULKHEAD_FULL", error);
  }
}

/** Milliseconds until the breaker or the target allows another try; null = unknown. */
function waitOf(operation: Operation<unknown>, verdict: Verdict, reason: string): number | null {
  if (reason === "breaker-open") return breakerWaitMs(operation);
  return hintOf({ verdict, policy: operation.policy, wallMs: operation.clock.wallMs() })?.delayMs ?? null;
}

function breakerWaitMs({ target, clock }: Operation<unknown>): number | null {
  return target.breaker?.waitMs(clock.nowMs()) ?? null;
}
