import { formatNumber } from "@/lib/platform/plain/format.pure";
import type { TargetEngine, TargetOut } from "@/lib/sources/sources.shapes";

export type BreakerWord = "closed" | "half-open" | "open" | "none";

/** The reports of all workers on one target: sums for a shared load, the worst value for a state. */
export type EngineView = {
  workers: number;
  breaker: { state: BreakerWord; forced: boolean; waitMs: number | null };
  bulkhead: { inUse: number; queued: number; permits: number };
  budget: {
    /** null = unlimited. */
    left: number | null;
    retryRatio: number;
  };
  latency: { p50Ms: number | null; p95Ms: number | null; p99Ms: number | null; samples: number };
  counters: { name: string; value: number }[];
  /** The time of the oldest report: no shown number is older. */
  asOf: string;
};

const WORSE: Record<BreakerWord, number> = { none: 0, closed: 1, "half-open": 2, open: 3 };

/** null when no live worker has used the target: unknown, not healthy. */
export function engineView(engines: TargetEngine[]): EngineView | null {
  const [first] = engines;
  if (!first) return null;
  const worst = engines
    .map((engine) => ({
      forced: false,
      waitMs: null,
      ...engine.breaker,
      state: engine.breaker?.state ?? ("none" as const),
    }))
    .reduce((a, b) => (WORSE[b.state] > WORSE[a.state] ? b : a));
  const sum = (of: (engine: TargetEngine) => number) => engines.reduce((total, engine) => total + of(engine), 0);
  const most = (of: (engine: TargetEngine) => number | null) =>
    engines.map(of).reduce((a, b) => (a === null ? b : b === null ? a : Math.max(a, b)), null);
  return {
    workers: engines.length,
    breaker: worst,
    bulkhead: {
      inUse: sum((engine) => engine.bulkhead.inUse),
      queued: sum((engine) => engine.bulkhead.queued),
      permits: sum((engine) => engine.bulkhead.permits),
    },
    budget: { left: budgetLeft(engines), retryRatio: most((engine) => engine.budget.retryRatio) ?? 0 },
    latency: {
      p50Ms: most((engine) => engine.latency.p50Ms),
      p95Ms: most((engine) => engine.latency.p95Ms),
      p99Ms: most((engine) => engine.latency.p99Ms),
      samples: sum((engine) => engine.latency.samples),
    },
    counters: summedCounters(engines),
    asOf: engines.map((engine) => engine.asOf).reduce((a, b) => (Date.parse(b) < Date.parse(a) ? b : a)),
  };
}

/** JSON has no Infinity: an unlimited budget arrives as null. */
function budgetLeft(engines: TargetEngine[]): number | null {
  const left = engines.map((engine) => engine.budget.left as number | null);
  return left.some((each) => each === null || !Number.isFinite(each))
    ? null
    : left.reduce<number>((total, each) => total + (each ?? 0), 0);
}

/** Only counts can be added; shares (`retryRate`, `errorRatio`) are shown elsewhere. */
function summedCounters(engines: TargetEngine[]): { name: string; value: number }[] {
  const sums = new Map<string, number>();
  for (const engine of engines)
    for (const [name, value] of Object.entries(engine.counters))
      if (!/Rate|Ratio/.test(name)) sums.set(name, (sums.get(name) ?? 0) + value);
  return [...sums].filter(([, value]) => value > 0).map(([name, value]) => ({ name, value }));
}

/** `retryAfterHonored` as `retry after honored`. */
export function counterWords(name: string): string {
  return name.replaceAll(/([A-Z])/g, " $1").toLowerCase();
}

/**
 * Targets to which nothing can be sent first, then those that are probed or held closed against failures, then used
 * ones, then those that no worker has used; each part by name.
 *
 * @param stopped names of the targets whose sends an operator has stopped
 */
export function neediestFirst(targets: readonly TargetOut[], stopped: ReadonlySet<string | null>): TargetOut[] {
  const rank = (target: TargetOut) => {
    if (target.address === null || target.unreachable !== null || stopped.has(target.name)) return 0;
    const state = target.breakerForce ?? engineView(target.engine)?.breaker.state;
    if (state === "open") return 0;
    if (state === "half-open" || target.breakerForce !== null) return 1;
    return state === undefined ? 3 : 2;
  };
  return targets.toSorted((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name));
}

/** `212 ms`, `1.4 s`, or `?` where nothing was measured. */
export function latencyText(value: number | null): string {
  return value === null ? "?" : value < 1_000 ? `${formatNumber(value)} ms` : `${(value / 1_000).toFixed(1)} s`;
}
