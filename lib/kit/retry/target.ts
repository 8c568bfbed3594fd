import type { CallOptions, Send } from "@/lib/kit/retry/bare";
import { classifyAny } from "@/lib/kit/retry/classify";
import { type Environment, environmentOf } from "@/lib/kit/retry/environment";
import { type RetryPolicy, wholePolicy } from "@/lib/kit/retry/policy";
import type { BreakerChange } from "@/lib/retry/breaker/breaker";
import type { BulkheadPolicy } from "@/lib/retry/bulkhead";
import type { Outcome } from "@/lib/retry/call";
import { checkFields, integer } from "@/lib/retry/check-fields";
import type { Verdict } from "@/lib/retry/classify/verdict";
import { execute } from "@/lib/retry/execute";
import { type Policy, parsePolicy } from "@/lib/retry/policy";
import { PolicyError } from "@/lib/retry/policy-error";
import { createTargetState, type TargetState } from "@/lib/retry/target";

/** A policy with guards that all calls of one target share. A guard that is absent or null does nothing. */
export type TargetPolicy = RetryPolicy &
  Partial<Pick<Policy, "breaker" | "phases" | "dynamicTimeout" | "hedge" | "healing" | "budget" | "stopOnOverload">>;

/** Tokens of a rate: one is taken for each attempt. */
export type Limiter = { take(cost: number, signal?: AbortSignal): Promise<void> };

export type TargetOptions = Environment & {
  /** Bounds the calls under way. Default: no bound. */
  bulkhead?: BulkheadPolicy;
  /** Paces the attempts. Default: no pace. */
  limiter?: Limiter;
  /** Judges what an attempt rejects with. Default: `classifyAny`. */
  classify?(error: unknown): Verdict;
  onBreakerChange?(change: BreakerChange): void;
};

/** One service, database or broker that is called, with the state that its calls share. */
export type Target = Pick<TargetState, "snapshot" | "heal" | "force" | "reset"> & {
  /** `tryExecute` on this target. */
  run<T>(send: Send<T>, options?: CallOptions): Promise<Outcome<T>>;
  /** Goes on under another policy; what calls share is kept where that part of the policy stays the same. */
  adopt(policy: TargetPolicy): void;
};

/** One for each called service, for the life of the process. Throws PolicyError, which names each wrong field. */
export function createTarget(policy: TargetPolicy, options: TargetOptions = {}): Target {
  const { bulkhead, limiter, classify = classifyAny, onBreakerChange } = options;
  const { clock, random } = environmentOf(options);
  let { whole, hintSpread } = enginePolicy(policy);
  const violations = bulkhead
    ? checkFields(bulkhead, { permits: integer(1, 1e6), queueMax: integer(0, 1e6) }, "bulkhead")
    : [];
  if (violations.length > 0) throw new PolicyError(violations);
  const state = createTargetState(whole, clock, {
    ...(bulkhead && { bulkhead }),
    ...(onBreakerChange && { onBreakerChange }),
  });
  return {
    run: (send, { idempotent, signal, onAttempt, incomingRetryCount } = {}) =>
      execute(
        {
          idempotencyKey: idempotent ? "" : null,
          retryable: true,
          attempt: send,
          ...(limiter && { takeToken: (abort) => limiter.take(1, abort) }),
          ...(onAttempt && { onClose: onAttempt }),
          ...(incomingRetryCount !== undefined && { incomingRetryCount }),
        },
        { policy: whole, target: state, clock, random, classify, hintSpread, ...(signal && { signal }) },
      ),
    adopt(next) {
      ({ whole, hintSpread } = enginePolicy(next));
      state.adopt(whole);
    },
    snapshot: state.snapshot,
    heal: state.heal,
    force: state.force,
    reset: state.reset,
  };
}

/** The engine's own policy, in which every part is present. */
function enginePolicy(policy: TargetPolicy): { whole: Policy; hintSpread: number } {
  const { budget, breaker, phases, dynamicTimeout, hedge, healing, stopOnOverload, ...timing } = policy;
  const { hintSpread, ...whole } = wholePolicy(timing);
  return {
    hintSpread,
    whole: parsePolicy({
      ...whole,
      budget: budget ?? { kind: "unlimited" },
      breaker: breaker ?? null,
      phases: phases ?? null,
      dynamicTimeout: dynamicTimeout ?? null,
      hedge: hedge ?? null,
      healing: healing ?? null,
      stopOnOverload: stopOnOverload ?? null,
    }),
  };
}
