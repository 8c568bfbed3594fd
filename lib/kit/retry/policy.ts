import { DEFAULTS } from "@/lib/kit/retry/bare";
import type { Backoff } from "@/lib/retry/backoff/backoff";
import { fitViolations, upperBoundMs } from "@/lib/retry/bounds";
import { between, checkFields, type Fields } from "@/lib/retry/check-fields";
import { PolicyError } from "@/lib/retry/policy-error";
import { TIMING } from "@/lib/retry/policy-timing";

/**
 * When and how often a call is repeated: a plain JSON value. Times are milliseconds. Each field has a default, so that
 * `{}` is a policy.
 */
export type RetryPolicy = {
  /** Attempts in all, the first included: 1 never repeats. Default 3, at most 1,000. */
  maxAttempts?: number;
  /** Limit of one attempt. Default 3,000. */
  attemptTimeoutMs?: number;
  /** Limit of the operation with every wait. Default and least: maxAttempts * attemptTimeoutMs + sum of the longest delays + marginMs. */
  deadlineMs?: number;
  /** Kept free before the deadline, for what the caller does with the last answer. Default 0. */
  marginMs?: number;
  /** Delay before each repeat. Default: exponential, 100 ms, doubled each time up to 1 s, full jitter. */
  backoff?: Backoff;
  /** Used instead of `backoff` after a throttled attempt without Retry-After. Default null: the same. */
  throttledBackoff?: Backoff | null;
  /** Longest hint of the target that is followed; a longer one defers by this much. Default 24 hours. */
  retryAfterMsMax?: number;
  /** Spreads a hint over [hint, hint * (1 + hintSpread)): never earlier than asked. 0 to 10, default 0. */
  hintSpread?: number;
  /**
   * Codes of the classifier that are repeated (`HTTP_503`, `ECONNRESET`), or types (`transient`, `throttled`, `ambiguous`, `unknown`); every other failure is final. What may not be repeated
   * is not repeated for being listed. Default null: each failure that may be repeated.
   */
  retryOn?: readonly string[] | null;
};

export type WholePolicy = Required<RetryPolicy>;

const FIELDS: Fields = { ...TIMING, hintSpread: between(0, 10) };

const checked = new WeakMap<RetryPolicy, WholePolicy>();

/**
 * The policy with its defaults. Throws PolicyError, which names each field with its value and its bounds. A policy that
 * passed is remembered by identity: do not change it afterwards.
 */
export function wholePolicy(policy: RetryPolicy): WholePolicy {
  const known = checked.get(policy);
  if (known) return known;
  const given = Object.fromEntries(Object.entries(policy).filter(([, value]) => value !== undefined));
  // The other fields are checked first, since the deadline is computed from them.
  const whole = { ...DEFAULTS, deadlineMs: 1, ...given } as WholePolicy;
  let violations = checkFields(whole, FIELDS);
  if (violations.length === 0) {
    if (given.deadlineMs === undefined) whole.deadlineMs = upperBoundMs(whole) + whole.marginMs;
    violations = [...checkFields(whole, FIELDS), ...fitViolations(whole)];
  }
  if (violations.length > 0) throw new PolicyError(violations);
  checked.set(policy, whole);
  return whole;
}
