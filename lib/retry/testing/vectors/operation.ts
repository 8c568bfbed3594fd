import type { Budget } from "@/lib/retry/budget/budget";
import { quotaBudget } from "@/lib/retry/budget/strategies";
import type { Call, Outcome } from "@/lib/retry/call";
import { createTargetState, execute, type TargetState } from "@/lib/retry/execute";
import { POLICY_PRESETS, type Policy } from "@/lib/retry/policy";
import { type ManualClock, manualClock } from "@/lib/retry/testing/manual-clock";

/** A policy with nothing but attempts and time: what a test adds is what it tests. */
export const BARE: Policy = {
  ...POLICY_PRESETS.interactive,
  maxAttempts: 4,
  attemptTimeoutMs: 3_000,
  deadlineMs: 600_000,
  marginMs: 0,
  backoff: { kind: "fixed", delayMs: 0, jitter: { kind: "none" } },
  budget: { kind: "unlimited" },
  breaker: null,
  healing: null,
};

/** Something an HTTP client would throw for a response of this status. */
export function httpError(status: number, retryAfter: string | null = null, retryAfterMs: string | null = null): Error {
  return Object.assign(new Error("response"), { status, retryAfter, retryAfterMs, sent: "no" });
}

/** Lets an operation run to its end on a manual clock, firing each timer in turn. */
export async function finish<T>(clock: ManualClock, operation: Promise<T>): Promise<T> {
  let done = false;
  const ended = operation.finally(() => {
    done = true;
  });
  ended.catch(() => {});
  for (let steps = 0; !done; steps++) {
    if (!(await clock.next()) && !done) throw new Error("nothing is left to wait for, and it has not ended");
    if (steps > 100_000) throw new Error("it does not end");
  }
  return ended;
}

export type Script = { clock: ManualClock; target: TargetState; policy: Policy; delays: number[] };

/** Prepares a target whose budget is the AWS quota, and notes every delay between attempts. */
export function quotaScript(
  policy: Policy,
  capacity: number,
  initial: number,
  cost: { transient: number; throttled: number },
) {
  const clock = manualClock();
  const budget: Budget & { readonly left: number } = quotaBudget({ kind: "quota", capacity, cost, reward: 1 }, initial);
  const target = { ...createTargetState(policy, clock), budget };
  return { clock, target, policy, budget, delays: [] as number[] };
}

/** Runs one operation whose attempts answer as `responses` say: an error is thrown, anything else returned. */
export async function runScript(
  { clock, target, policy, delays }: Script,
  responses: readonly unknown[],
  onAttempt: (index: number) => void = () => {},
): Promise<Outcome<unknown>> {
  let index = 0;
  const call: Call<unknown> = {
    idempotencyKey: "key",
    retryable: true,
    attempt: async () => {
      const response = responses[Math.min(index, responses.length - 1)];
      index++;
      if (response instanceof Error) throw response;
      return response;
    },
    onClose: ({ next }) => {
      if (next?.kind === "retry") delays.push(next.delayMs);
      onAttempt(index - 1);
    },
  };
  return finish(clock, execute(call, { policy, target, clock, random: () => 1 }));
}
