/**
 * Probability with which a client should reject a request itself, before an overloaded target has to:
 * max(0, (requests - k * accepts) / (requests + 1)). With k = 2 the target still sees twice what it accepts.
 * Source: Google SRE book, "Handling Overload", client-side throttling.
 */
export function rejectionProbability(requests: number, accepts: number, k: number): number {
  return Math.max(0, (requests - k * accepts) / (requests + 1));
}

/**
 * The same with a success rate that is to be kept and a ceiling on rejections, so that recovery is always probed.
 * Source: failsafe-go, adaptive throttler.
 * @param successMin share of successes that is considered healthy, in (0, 1]
 */
export function rejectionProbabilityAbove(
  requests: number,
  successes: number,
  { successMin, rejectionMax }: { successMin: number; rejectionMax: number },
): number {
  return Math.min(rejectionMax, rejectionProbability(requests, successes, 1 / successMin));
}
