/**
 * A second send before the first has answered. Only with an idempotency key: both may be processed.
 * Source: Dean and Barroso, "The Tail at Scale", 2013; gRPC A6 for the rules.
 */
export type HedgePolicy = {
  /** Silence after which the next send starts beside those under way. */
  delayMs: number;
  /** Sends in all, the first included; maxAttempts bounds it too. */
  sendsMax: number;
};
