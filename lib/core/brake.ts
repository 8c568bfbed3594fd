/** One send with its end: delivered, failed, or bounced after delivery. */
export type OutcomeMark = "d" | "f" | "b";

/** Pauses a redrive when more than `ratio` of the last `window` outcomes failed or bounced; never on fewer than `minSample`. */
export type BrakeRule = { ratio: number; window: number; minSample: number };

/** The last `window` outcomes, newest last. */
export function appendOutcomes(recent: string, marks: string, window: number): string {
  return (recent + marks).slice(-window);
}

/**
 * The outcomes after `bounces` delivered events came back. Each bounce replaces the newest delivery, so that an event
 * counts once and a target that rejects everything shows 100 %. A bounce is added as an outcome of its own when its
 * delivery is not committed yet or is no longer in the window.
 */
export function bounceOutcomes(recent: string, bounces: number, window: number): string {
  const marks = [...recent];
  let left = bounces;
  for (let at = marks.length - 1; at >= 0 && left > 0; at--) {
    if (marks[at] !== "d") continue;
    marks[at] = "b";
    left--;
  }
  return appendOutcomes(marks.join(""), "b".repeat(Math.min(left, window)), window);
}

export type BrakeSample = { outcomes: number; failed: number; bounced: number };

export function sampleOf(recent: string): BrakeSample {
  let failed = 0;
  let bounced = 0;
  for (const mark of recent) {
    if (mark === "f") failed++;
    if (mark === "b") bounced++;
  }
  return { outcomes: recent.length, failed, bounced };
}

/** Tolerance for rounding errors of a product, such as 0.28 * 25 = 7.000000000000001. */
const ROUNDING = 1e-9;

/** True when the redrive must pause: above the ratio, not at it, and not before the minimum sample. */
export function brakes(recent: string, rule: BrakeRule): boolean {
  const { outcomes, failed, bounced } = sampleOf(recent);
  return outcomes >= rule.minSample && failed + bounced > Math.floor(rule.ratio * outcomes + ROUNDING);
}

/** The reason for the pause, with the counts that led to it. */
export function brakeReason(recent: string, rule: BrakeRule): string {
  const { outcomes, failed, bounced } = sampleOf(recent);
  const percent = (ratio: number) => Math.round(ratio * 100);
  return (
    `brake: ${failed} failed and ${bounced} bounced of the last ${outcomes} ` +
    `(${percent((failed + bounced) / outcomes)} %, limit ${percent(rule.ratio)} %)`
  );
}
