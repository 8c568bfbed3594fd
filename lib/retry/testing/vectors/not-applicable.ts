/** A vector that no part of the engine can run, or rows of one, and why. */
export type NotApplicable = {
  id: string;
  /** Rows (0-based) of a vector whose other rows are run; absent when none is. */
  rows?: readonly number[];
  reason: string;
};

/**
 * Every vector that is not run in full. The test that runs the vectors fails when one is neither run nor named here,
 * and when one named here in full is run.
 */
export const NOT_APPLICABLE: readonly NotApplicable[] = [
  {
    id: "aws-standard-013",
    reason: "AWS cuts a long hint to 5 s above its own backoff and so retries earlier than asked; we wait or defer.",
  },
  { id: "aws-standard-016", rows: [2], reason: "The same cut as a table: a hint is never shortened to fit." },
  { id: "aws-standard-017", reason: "Caps the hint at the maximum backoff: a retry earlier than asked." },
  {
    id: "retry-after-policy-161",
    rows: [1, 2],
    reason:
      "undici shortens the hint to its own limit, what does not fit our deadline is deferred until then; and it repeats at once after a hint of 0, where our backoff decides.",
  },
  {
    id: "retry-after-policy-162",
    rows: [1, 2],
    reason: "got gives up where we defer, and waits 1 ms for a date in the past, where our backoff decides.",
  },
  { id: "retry-after-policy-163", rows: [1], reason: "The AWS cut again: max(t, min(hint, t + 5 s))." },
  {
    id: "backoff-090",
    reason: "p-retry's jitter only lengthens and a base of 0 becomes 1 ms; ours spreads around or below the delay.",
  },
  {
    id: "backoff-091",
    rows: [15, 16, 17, 18, 19],
    reason: "190 clients repeat what 10, 50 and 100 show, at ten times the test's running time.",
  },
  {
    id: "classify-166",
    rows: [4, 6],
    reason: "505 does not pass by itself, so it is permanent here; 429 is retried, but as throttled, not transient.",
  },
  { id: "classify-167", rows: [5, 6], reason: "undici does not retry 408 and 425; neither was processed, so we do." },
  {
    id: "failsafe-budget-075",
    reason: "failsafe-go compares before it adds and so admits one retry above the ratio; ours keeps count < max.",
  },
  { id: "grpc-throttle-039", reason: "No policy comes from a server, so there is nothing for a client to cap." },
  {
    id: "finagle-budget-064",
    rows: [9, 10],
    reason:
      "Finagle ages its slots only when asked: a debit of exactly 3 s is alive in row 7 and gone in row 9. On a fixed grid both are alive.",
  },
  {
    id: "grpc-throttle-040",
    rows: [0, 3, 5, 6, 7, 8],
    reason:
      "One attempt is a legal policy here, retryable codes are a table and not a setting, and throttling is a budget.",
  },
  {
    id: "window-099",
    rows: [4],
    reason: "Expects the rounding error of (1 - 0.9) * 10; counted in whole numbers the answer is the opposite.",
  },
  { id: "window-126", rows: [0], reason: "Its average duration: we keep quantiles. Its slow rate is run." },
  { id: "bullmq-182", reason: "Job ids belong to the queue, not to the engine." },
  { id: "bullmq-185", reason: "Job locks belong to the queue, not to the engine." },
  { id: "bullmq-186", reason: "The queue's own limiter is not used." },
  {
    id: "aws-adaptive-033",
    reason: "A target's rate is a person's setting: no part of the engine finds a rate by itself.",
  },
  { id: "aws-adaptive-034", reason: "The same search for a rate (CUBIC)." },
  { id: "limit-180", reason: "A target's bulkhead is a setting: no part of the engine finds a concurrency by itself." },
  { id: "limit-181", reason: "The same search for a concurrency (Vegas)." },
  {
    id: "sre-throttle-078",
    reason: "The same with a ceiling on rejections: probes of the breaker find a target that has recovered.",
  },
  { id: "gcra-092", reason: "The token bucket is the one limiter of a rate; GCRA answers the same in other numbers." },
  { id: "gcra-093", reason: "GCRA again." },
  { id: "gcra-094", reason: "GCRA again." },
  { id: "token-bucket-096", reason: "Refills in steps; the token bucket refills continuously." },
];
