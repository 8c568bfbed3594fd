/** One send with its end: delivered, failed, or bounced after delivery. */
export type OutcomeMark = "d" | "f" | "b";

/**
 * Pauses a redrive when more than `ratio` of the last `window` outcomes failed or bounced, or when the p95 of the last
 * `window` latencies is above `latencyMsMax`; never on fewer than `minSample`.
 */
type BrakeRule = { ratio: number; window: number; minSample: number; latencyMsMax: number | null };

/** The last `window` outcomes, newest last. */
export function appendOutcomes(recent: string, marks: string, window: number): string {
  return (recent + marks).slice(-window);
}

/**
 * The outcomes after `bounces` delivered events came back. Each bounce replaces the newest delivery, so that an event
 * counts once and a target that rejects everything shows 100%. A bounce is added as an outcome of its own when its
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

/** What made the brake pause the redrive. `p95Ms`: of the last sends; null = none was measured. */
export type BrakeSeen = {
  cause: "failures" | "latency";
  outcomes: number;
  failed: number;
  bounced: number;
  p95Ms: number | null;
};

/** Tolerance for rounding errors of a product, such as 0.28 * 25 = 7.000000000000001. */
const ROUNDING = 1e-9;

/**
 * What the brake saw, when the redrive must pause; null = it may go on. It pauses above a limit, not at it, and not
 * before the minimum sample.
 */
export function brakeSees(recent: string, latencies: readonly number[], rule: BrakeRule): BrakeSeen | null {
  const outcomes = recent.length;
  const failed = countOf(recent, "f");
  const bounced = countOf(recent, "b");
  const p95Ms = p95Of(latencies);
  const seen = { outcomes, failed, bounced, p95Ms };
  if (outcomes >= rule.minSample && failed + bounced > Math.floor(rule.ratio * outcomes + ROUNDING)) {
    return { cause: "failures", ...seen };
  }
  const { latencyMsMax } = rule;
  const slow = latencyMsMax !== null && latencies.length >= rule.minSample && p95Ms !== null && p95Ms > latencyMsMax;
  return slow ? { cause: "latency", ...seen } : null;
}

function countOf(recent: string, mark: OutcomeMark): number {
  return [...recent].filter((each) => each === mark).length;
}

/** Nearest rank: the smallest value that at least 95% of the values do not exceed. */
function p95Of(values: readonly number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * 0.95) - 1] ?? null;
}

/** The reason for the pause, with the counts that led to it. */
export function brakeReason(seen: BrakeSeen, rule: BrakeRule): string {
  if (seen.cause === "latency") {
    return `brake: the slowest 5% of the last sends took ${seen.p95Ms} ms or more (limit ${rule.latencyMsMax} ms)`;
  }
  const { outcomes, failed, bounced } = seen;
  const percent = (ratio: number) => Math.round(ratio * 100);
  return (
    `brake: ${failed} failed and ${bounced} bounced of the last ${outcomes} ` +
    `(${percent((failed + bounced) / outcomes)}%, limit ${percent(rule.ratio)}%)`
  );
}
