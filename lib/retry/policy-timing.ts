import { above, between, type Fields, integer, optional, type Rule } from "@/lib/retry/check-fields";

/** setTimeout's own limit (2^31 - 1 ms, 24.8 days): beyond it a timer would fire at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;
/** Also bounds the work of adding up a schedule. */
const ATTEMPTS_MAX = 1_000;

const RETRY_ON_MAX = 100;

export const delay = between(0, TIMER_MS_MAX);
export const duration = above(0, TIMER_MS_MAX);

const JITTER: Readonly<Record<string, Fields>> = {
  none: {},
  full: {},
  equal: {},
  fraction: { fraction: between(0, 1) },
  absolute: { ms: delay },
};
const jitter: Rule = { kind: "variant", variants: JITTER };

const BACKOFF: Readonly<Record<string, Fields>> = {
  fixed: { delayMs: delay, jitter },
  linear: { baseMs: delay, capMs: delay, jitter },
  // Only here does decorrelated jitter mean anything: it needs a base and a cap to move between.
  exponential: {
    baseMs: delay,
    factor: between(1, 100),
    capMs: delay,
    jitter: { kind: "variant", variants: { ...JITTER, decorrelated: {} } },
  },
  ladder: { stepsMs: { kind: "numbers", min: 0, max: TIMER_MS_MAX, countMax: ATTEMPTS_MAX }, jitter },
};

/** The fields of a policy that decide when an attempt is made and how long it may take. */
export const TIMING: Fields = {
  maxAttempts: integer(1, ATTEMPTS_MAX),
  attemptTimeoutMs: duration,
  deadlineMs: duration,
  marginMs: delay,
  backoff: { kind: "variant", variants: BACKOFF },
  throttledBackoff: { kind: "variant", variants: BACKOFF, nullable: true },
  retryAfterMsMax: delay,
  retryOn: optional({ kind: "codes", countMax: RETRY_ON_MAX, nullable: true }),
};
