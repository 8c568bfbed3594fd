/** Tokens issued at one moment that lies between two readings of a clock; equal readings for a moment that is known. */
export type Issue = { fromMs: number; toMs: number; tokens: number };

/**
 * How far the worst window exceeds `ratePerSecond * t + burst`; 0 or less means that the invariant of TokenBucket
 * holds. Every window from the start of one issue to the end of another is tried, and only what surely lies inside
 * counts, so an excess above 0 is a proof. Takes the square of the number of issues.
 */
export function worstWindowExcess(issues: readonly Issue[], ratePerSecond: number, burst: number): number {
  const byEnd = [...issues].sort((a, b) => a.toMs - b.toMs);
  let worst = Number.NEGATIVE_INFINITY;
  for (const { fromMs } of issues) {
    let tokens = 0;
    for (const issue of byEnd) {
      if (issue.fromMs < fromMs) continue;
      tokens += issue.tokens;
      const allowed = (ratePerSecond * (issue.toMs - fromMs)) / 1000 + burst;
      worst = Math.max(worst, tokens - allowed);
    }
  }
  return worst;
}
