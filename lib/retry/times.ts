import type { Policy } from "@/lib/retry/policy";

type Times = Pick<Policy, "maxAttempts" | "attemptTimeoutMs" | "deadlineMs" | "marginMs" | "backoff">;

/** A person waits, and stops waiting after 2 to 3 s: one retry soon, another a little later, an answer within 2.5 s. */
export const INTERACTIVE = {
  maxAttempts: 3,
  attemptTimeoutMs: 650,
  deadlineMs: 2_500,
  marginMs: 200,
  backoff: { kind: "exponential", baseMs: 100, factor: 2, capMs: 300, jitter: { kind: "full" } },
} as const satisfies Times;

/** No person waits: long backoffs spare the target. */
export const SLOW_LANE = {
  maxAttempts: 5,
  attemptTimeoutMs: 3_000,
  deadlineMs: 60_000,
  marginMs: 5_000,
  backoff: { kind: "exponential", baseMs: 1_000, factor: 2, capMs: 30_000, jitter: { kind: "full" } },
} as const satisfies Times;

/** Longest delays that are known in advance, for targets whose owners want to know them. */
export const LADDER = {
  maxAttempts: 5,
  attemptTimeoutMs: 3_000,
  deadlineMs: 30_000,
  marginMs: 1_000,
  backoff: { kind: "ladder", stepsMs: [200, 500, 1_200, 2_500, 5_000], jitter: { kind: "full" } },
} as const satisfies Times;
