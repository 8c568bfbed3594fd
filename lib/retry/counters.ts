/** Counts of one target since its state was made; they only grow. Names follow the exported metrics. */
export type Counters = {
  operations: number;
  succeeded: number;
  failed: number;
  deferred: number;
  cancelled: number;
  attempts: number;
  /** Attempts that were repeats; hedges are counted apart. */
  retries: number;
  hedges: number;
  timeouts: number;
  throttled: number;
  retryAllowed: number;
  retryExhausted: number;
  /** Delays that a Retry-After set, whether waited here or by deferring. */
  retryAfterHonored: number;
  budgetDenied: number;
  breakerDenied: number;
  bulkheadDenied: number;
  /** Operations that were not sent, or not repeated, because their target accepts too few sends. */
  overloadDenied: number;
  /** Operations that were not run because their idempotency key had been seen. */
  dedupDropped: number;
};

export function zeroCounters(): Counters {
  return {
    operations: 0,
    succeeded: 0,
    failed: 0,
    deferred: 0,
    cancelled: 0,
    attempts: 0,
    retries: 0,
    hedges: 0,
    timeouts: 0,
    throttled: 0,
    retryAllowed: 0,
    retryExhausted: 0,
    retryAfterHonored: 0,
    budgetDenied: 0,
    breakerDenied: 0,
    bulkheadDenied: 0,
    overloadDenied: 0,
    dedupDropped: 0,
  };
}

/**
 * Shares derived from the counters, 0 when nothing has happened yet. retryRate and timeoutRate are per request (operation):
 * a request that is repeated twice counts two repeats, so they may be above 1. Those named `PerAttempt` are per send.
 * errorRatio is failed requests per request; dedupDropRate is per operation asked for, the dropped included.
 */
export type Rates = {
  retryRate: number;
  timeoutRate: number;
  retryRatePerAttempt: number;
  timeoutRatePerAttempt: number;
  errorRatio: number;
  dedupDropRate: number;
};

export function ratesOf(counters: Counters): Rates {
  const share = (part: number, whole: number) => (whole === 0 ? 0 : part / whole);
  return {
    retryRate: share(counters.retries, counters.operations),
    timeoutRate: share(counters.timeouts, counters.operations),
    retryRatePerAttempt: share(counters.retries, counters.attempts),
    timeoutRatePerAttempt: share(counters.timeouts, counters.attempts),
    errorRatio: share(counters.failed, counters.operations),
    dedupDropRate: share(counters.dedupDropped, counters.operations + counters.dedupDropped),
  };
}
