import type { LanePaces, TargetPace } from "@/lib/sources/targets/target-pace.pure";

/** A tick of a redrive counts what was decided in this long. */
export const TICK_MS = 5_000;
/** Buckets of a chart; a longer run is shown in wider ones. */
export const CHART_BUCKETS_MAX = 240;

/** The width of a bucket over such a span. A wider bucket consists of whole narrower ones. */
export function chartBucketMs(spanMs: number): number {
  return TICK_MS * 2 ** Math.max(0, Math.ceil(Math.log2((spanMs / TICK_MS + 1) / CHART_BUCKETS_MAX)));
}

/** A target is given a third of its rate at the start of a redrive. Source: Guava's SmoothWarmingUp, coldFactor 3. */
const COLD = 1 / 3;
/** Number of steps of a warm-up: each step changes a distributed bucket. */
const WARM_UP_STEPS = 20;

const UNKNOWN: TargetPace = { ratePerSecond: null, warmUpMs: 0 };

/** The targets of these sources. A source without a target limits nothing. */
export function pacesOf(sources: readonly string[], paces: LanePaces): TargetPace[] {
  return sources.map((source) => paces[source] ?? UNKNOWN);
}

/** The targets work in parallel, each at its own rate, and the redrive's own rate limits the sum. */
export function effectiveRate(asked: number | null, targets: readonly TargetPace[]): number | null {
  let together: number | null = targets.length === 0 ? null : 0;
  for (const { ratePerSecond } of targets)
    together = together === null || ratePerSecond === null ? null : together + ratePerSecond;
  if (asked === null || together === null) return asked ?? together;
  return Math.min(asked, together);
}

export type Work = {
  events: number;
  asked: number | null;
  /** The sources of the events, with the number of events of each where it is known. */
  targets: readonly (TargetPace & { events?: number })[];
  /** How long the redrive has been running, to know the rest of a warm-up. Absent = it has not begun. */
  ranMs?: number;
  canary?: CanaryLeft | null;
  /** Time until the hold ends. */
  holdMs?: number;
};

/** `released` is the current step; `waitMs` is the rest of the wait after it, null = that wait has not begun. */
type CanaryLeft = {
  steps: readonly number[];
  released: number;
  quietMs: number;
  waitMs: number | null;
  total: number;
};

/** A canary that has not begun. */
export function canaryAhead(steps: readonly number[], total: number, quietMs: number): CanaryLeft {
  return { steps, released: 0, quietMs, waitMs: null, total };
}

/**
 * Time until the last event is sent; null when nothing limits the rate. The slowest part decides: a target, or the
 * redrive.
 */
export function redriveTimeMs({ events, asked, targets, ranMs = 0, canary = null, holdMs = 0 }: Work): number | null {
  const rate = effectiveRate(asked, targets);
  const whole = { events, ratePerSecond: rate, warmUpMs: Math.max(0, ...targets.map(({ warmUpMs }) => warmUpMs)) };
  const times = [whole, ...targets]
    .map((part) => (part.events === undefined ? null : sendTimeMs(part.events, part, ranMs)))
    .filter((time): time is number => time !== null);
  return times.length === 0 ? null : Math.ceil(holdMs + canaryTimeMs(canary) + Math.max(...times));
}

/** null when nothing limits the rate. */
function sendTimeMs(events: number, { ratePerSecond, warmUpMs }: TargetPace, ranMs: number): number | null {
  if (ratePerSecond === null) return null;
  const perMs = ratePerSecond / 1000;
  const coldMs = Math.max(0, warmUpMs - ranMs);
  if (coldMs === 0) return events / perMs;
  // The rate rises by `slope` a ms from `share` of the whole: sent(t) = perMs * (share * t + slope / 2 * t^2).
  const share = warmUpShare(ranMs, warmUpMs, false);
  const slope = (1 - COLD) / warmUpMs;
  const warmed = perMs * (share * coldMs + (slope / 2) * coldMs ** 2);
  if (events >= warmed) return coldMs + (events - warmed) / perMs;
  return (Math.sqrt(share ** 2 + (2 * slope * events) / perMs) - share) / slope;
}

/** The waits after the steps that are smaller than the redrive. A consumer that confirms ends each wait sooner. */
function canaryTimeMs(canary: CanaryLeft | null): number {
  if (canary === null) return 0;
  const waits = canary.steps.filter((step) => step >= canary.released && step < canary.total).length;
  return waits === 0 ? 0 : (canary.waitMs ?? canary.quietMs) + (waits - 1) * canary.quietMs;
}

/** Share of a target's rate that a redrive takes when it has been running for `ranMs`; it rises in steps. */
export function warmUpShare(ranMs: number, warmUpMs: number, stepped = true): number {
  if (ranMs >= warmUpMs) return 1;
  const risen = Math.max(0, ranMs) / warmUpMs;
  return COLD + (1 - COLD) * (stepped ? Math.floor(risen * WARM_UP_STEPS) / WARM_UP_STEPS : risen);
}
