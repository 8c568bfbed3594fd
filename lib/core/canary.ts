/** One decided send: delivered, failed, or bounced after delivery. */
export type OutcomeMark = "d" | "f" | "b";

export type CanaryRule = { steps: number[]; stopAtFailureRatio: number; window: number };

/** The last `window` outcomes, newest last. */
export function appendOutcomes(recent: string, marks: string, window: number): string {
  return (recent + marks).slice(-window);
}

/** Failures and bounces among the recent outcomes, 0..1; null when nothing was decided yet. */
export function failureRatio(recent: string): number | null {
  if (recent.length === 0) return null;
  let bad = 0;
  for (const mark of recent) if (mark !== "d") bad++;
  return bad / recent.length;
}

/** Should the brake pause the redrive? Above the threshold, not at it. */
export function brakes(recent: string, rule: CanaryRule): boolean {
  const ratio = failureRatio(recent);
  return ratio !== null && ratio > rule.stopAtFailureRatio;
}

/**
 * How many items may have been sent once `finished` were delivered or failed: the first step not yet reached, or null
 * for all. A refused item proves nothing and counts for nothing: the stage takes the next one in its place.
 */
export function releasedItems(finished: number, rule: CanaryRule): number | null {
  return rule.steps.find((step) => step > finished) ?? null;
}
