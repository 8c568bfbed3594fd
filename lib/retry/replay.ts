import type { AttemptRecord, Call, NextStep } from "@/lib/retry/call";
import { decide } from "@/lib/retry/decide";
import type { Policy } from "@/lib/retry/policy";

/** A recorded operation, as plain JSON: the policy version it ran under and its attempts in order. */
export type RecordedOperation = {
  policy: Policy;
  call: Pick<Call<unknown>, "idempotencyKey" | "retryable">;
  attempts: readonly Omit<AttemptRecord, "error">[];
};

export type Difference = { attempt: number; recorded: NextStep | null; replayed: NextStep };

/**
 * Decides every recorded failure again from what was recorded with it, and lists where the answer differs: empty when
 * the engine still decides the same. A record without inputs (a success, a cancellation) had nothing to decide.
 *
 * @param policy another policy, to see what it would have done with the same failures
 */
export function replay(recorded: RecordedOperation, policy: Policy = recorded.policy): Difference[] {
  const differences: Difference[] = [];
  for (const { attempt, verdict, inputs, next } of recorded.attempts) {
    if (inputs === null || verdict === null) continue;
    const { withdrawn, draw } = inputs;
    const replayed = decide({
      ...inputs,
      policy,
      call: recorded.call,
      verdict,
      withdraw: () => withdrawn,
      random: () => draw ?? 0,
    });
    if (!sameStep(next, replayed)) differences.push({ attempt, recorded: next, replayed });
  }
  return differences;
}

/** Compares the effects: the kind, and the reason or the wait. */
function sameStep(recorded: NextStep | null, replayed: NextStep): boolean {
  if (recorded === null) return false;
  switch (replayed.kind) {
    case "retry":
      return (
        recorded.kind === "retry" && recorded.delayMs === replayed.delayMs && recorded.honored === replayed.honored
      );
    case "defer":
      return recorded.kind === "defer" && recorded.waitMs === replayed.waitMs;
    case "give-up":
      return recorded.kind === "give-up" && recorded.reason === replayed.reason;
  }
}
