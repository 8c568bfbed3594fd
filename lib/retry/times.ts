import type { Policy } from "@/lib/retry/policy";

type Times = Pick<Policy, "maxAttempts" | "attemptTimeoutMs" | "deadlineMs" | "marginMs" | "backoff">;

/** A person waits: one retry soon, another a little later, an answer within 10 s. */
export const INTERACTIVE = {
  maxAttempts: 3,
  attemptTimeoutMs: 3_000,
  deadlineMs: 10_000,
  marginMs: 500,
  backoff: { kind: "exponential", baseMs: 100, factor: 2, capMs: 1_000, jitter: { kind: "full" } },
} as const satisfies Times;

/** No person waits: long backoffs spare the target. */
export const SLOW_LANE = {
  maxAttempts: 5,
  attemptTimeoutMs: 3_000,
  deadlineMs: 60_000,
  marginMs: 5_000,
  backoff: { kind: "exponential", baseMs: 1_000, factor: 2, capMs: 30_000, jitter: { kind: "full" } },
} as const satisfies Times;

/** Delays that are known in advance, for targets whose owners want to know them. */
export const LADDER = {
  maxAttempts: 6,
  attemptTimeoutMs: 3_000,
  deadlineMs: 30_000,
  marginMs: 1_000,
  backoff: { kind: "ladder", stepsMs: [200, 500, 1_200, 2_500, 5_000], jitter: { kind: "none" } },
} as const satisfies Times;
