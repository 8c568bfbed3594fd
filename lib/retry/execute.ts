import { Attempt } from "@/lib/retry/attempt";
import type { Call, ExecuteOptions, Outcome } from "@/lib/retry/call";
import { hedged } from "@/lib/retry/hedge/hedged";
import { type History, nextStep, refused, remember, stopped } from "@/lib/retry/next-step";
import { Operation } from "@/lib/retry/operation";
import { assertPolicy } from "@/lib/retry/policy";

export type { AttemptContext, AttemptRecord, Call, ExecuteOptions, Outcome } from "@/lib/retry/call";
export { createTargetState, type TargetState } from "@/lib/retry/target";

/**
 * Runs one operation on a target under its policy.
 *
 * Once: policy assertion, deadline. Per attempt: breaker permit, the caller's token, bulkhead, the target's token, open,
 * timeout, call, classify, record, budget, backoff. A backoff holds no place in the bulkhead. Every wait ends at once when
 * `signal` or `halt` aborts, and no retry begins after that. When it returns, no timer and no listener is left.
 *
 * Resolves with how it ended. Rejects only for faults of our own side: a PolicyError before the first send, or an
 * error of `takeToken`, `onOpen` or `onClose`.
 */
export async function execute<T>(call: Call<T>, options: ExecuteOptions): Promise<Outcome<T>> {
  assertPolicy(options.policy);
  const operation = new Operation(call, options);
  try {
    if (options.signal?.aborted) return operation.cancel(options.signal.reason);
    if (options.halt?.aborted) return operation.cancel(options.halt.reason);
    if (call.ambiguous && call.idempotencyKey === null) return operation.fail("ambiguous", "AMBIGUOUS", null);
    const hedge = options.policy.hedge !== null && call.idempotencyKey !== null && call.retryable;
    return await (hedge ? hedged(operation, options.policy.hedge!) : repeated(operation));
  } finally {
    operation.dispose();
  }
}

/** One attempt after the other. */
async function repeated<T>(operation: Operation<T>): Promise<Outcome<T>> {
  const {
    budget,
    target: { counters },
  } = operation;
  const history: History = { last: null, sameCode: 0, delayMs: null };
  let nowMs = operation.startedMs;
  /** Paid for a retry that has not begun. */
  let held = 0;
  try {
    for (let number = operation.firstAttempt; ; number++) {
      const attempt = new Attempt(operation, number, { withdrawn: held, hedge: false });
      held = 0;
      const end = await operation.run(attempt, nowMs);
      if (end.kind === "unopened") return refused(operation, end.why, history.last);
      if (end.kind !== "failed") {
        await operation.close(attempt, end);
        return end.kind === "ok" ? operation.succeed(end.value) : operation.cancel(end.error);
      }
      remember(history, end);
      const decided = nextStep(operation, number, { ...history, last: end });
      const { next } = decided;
      if (next.kind === "retry") held = next.withdrawn;
      await operation.close(attempt, end, decided);
      if (next.kind !== "retry") return stopped(operation, end, next);
      history.delayMs = next.delayMs;
      counters.retryAllowed++;
      if (next.honored) counters.retryAfterHonored++;
      await operation.sleep(next.delayMs);
      if (operation.cancelled !== null) return operation.cancel(operation.cancelled.reason);
      nowMs = operation.clock.nowMs();
    }
  } finally {
    if (held > 0) budget.settle(false, held, operation.clock.nowMs());
  }
}
