import type { RetryPolicy } from "@/lib/kit/retry/policy";
import { BREAKER, BUDGET, type Policy } from "@/lib/retry/policy";
import { INTERACTIVE, LADDER, SLOW_LANE } from "@/lib/retry/times";

/** Ready-made policies, for `execute` as they are and for `createTarget` with guards. */
export const PRESETS = {
  /** A person waits: 3 attempts of 650 ms, 100 ms doubled up to 300 ms, full jitter, an answer within 2.5 s. */
  httpCall: INTERACTIVE,
  /** No person waits: 5 attempts of 3 s, 1 s doubled up to 30 s, full jitter, 60 s in all. */
  backgroundJob: SLOW_LANE,
  /** Longest delays that are known in advance: 200, 500, 1,200, 2,500 ms, full jitter; 5 attempts of 3 s, 30 s in all. */
  redrive: LADDER,
  /** A transaction that lost a conflict: 5 attempts of 2 s, 20 ms doubled up to 500 ms, full jitter, 10.3 s in all. */
  database: {
    maxAttempts: 5,
    attemptTimeoutMs: 2_000,
    deadlineMs: 10_300,
    backoff: { kind: "exponential", baseMs: 20, factor: 2, capMs: 500, jitter: { kind: "full" } },
  },
} as const satisfies Record<string, RetryPolicy>;

/** Budget: repeats add a tenth to the load, three a second are allowed. Breaker: 30 s when half of at least 10 calls in 30 s failed. */
export const GUARDS = {
  budget: BUDGET,
  breaker: BREAKER,
} as const satisfies Pick<Policy, "budget" | "breaker">;
