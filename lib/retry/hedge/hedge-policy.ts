/** Needs an idempotency key: both sends may be processed. Source: Dean and Barroso, "The Tail at Scale", 2013; gRPC A6. */
export type HedgePolicy = {
  /** Silence after which the next send starts beside those under way. */
  delayMs: number;
  /** Sends in all, the first included; maxAttempts bounds it too. */
  sendsMax: number;
};
