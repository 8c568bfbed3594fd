import { type Metric, summary } from "@/lib/platform/plain/prometheus.pure";
import type { BucketState, TargetEngine } from "@/lib/sources/sources.shapes";
import type { HeartbeatInfo } from "@/lib/sources/targets/target-list.read";

export type Beat = { worker: string; info: HeartbeatInfo };

type Engine = Omit<TargetEngine, "asOf">;
type Sample = Metric["samples"][number];

/** The counters of the engine by name. They only grow while a worker lives: one series for each worker and target. */
const COUNTERS: Record<string, { name: string; help: string }> = {
  operations: { name: "retry_operations_total", help: "Events handed to the retry engine." },
  succeeded: { name: "retry_succeeded_total", help: "Operations that delivered." },
  failed: { name: "retry_failed_total", help: "Operations that failed." },
  deferred: {
    name: "retry_deferred_total",
    help: "Operations put off: Retry-After beyond the deadline, or no permit.",
  },
  cancelled: { name: "retry_cancelled_total", help: "Operations that were cancelled." },
  attempts: { name: "retry_attempts_total", help: "Sends." },
  retries: { name: "retry_retries_total", help: "Retries, without hedges." },
  hedges: { name: "retry_hedges_total", help: "Hedges: sends made while another one has not answered." },
  timeouts: { name: "retry_timeouts_total", help: "Sends that timed out." },
  throttled: { name: "retry_throttled_total", help: "Sends that the target rejected as too many." },
  retryAllowed: { name: "retry_allowed_total", help: "Retries that the engine decided on." },
  retryExhausted: { name: "retry_exhausted_total", help: "Operations that used up their attempts." },
  retryAfterHonored: { name: "retry_after_honored_total", help: "Waits and deferrals set by a Retry-After." },
  budgetDenied: {
    name: "retry_budget_denied_total",
    help: "Operations that ended because the retry budget was empty.",
  },
  breakerDenied: { name: "retry_breaker_denied_total", help: "Operations ended by an open breaker." },
  bulkheadDenied: { name: "retry_bulkhead_denied_total", help: "Operations that got no concurrency slot." },
  overloadDenied: {
    name: "retry_overload_denied_total",
    help: "Operations that were not sent because their target accepts too few sends.",
  },
  dedupDropped: {
    name: "retry_dedup_dropped_total",
    help: "Events not sent: their consumer had processed them already.",
  },
};

/** Worst first: the state that one worker sees is the state of the target. */
const BREAKER_STATES = ["open", "half-open", "closed"] as const;
const BUCKET_STATES = ["unreachable", "local", "shared"] as const satisfies readonly BucketState[];

/** The retry engine of the workers alive, by target: section "metrics" of its design. */
export function engineMetrics(beats: readonly Beat[]): Metric[] {
  const targets = byTarget(beats);
  const ofEach = (samples: (target: string, engines: Engine[]) => Sample[]) =>
    [...targets].flatMap(([target, engines]) => samples(target, engines));
  const gauge = (name: string, help: string, samples: (target: string, engines: Engine[]) => Sample[]): Metric => ({
    name,
    help,
    type: "gauge",
    samples: ofEach(samples),
  });
  const value = (of: (engines: Engine[]) => number | null) => (target: string, engines: Engine[]) => [
    { labels: { target }, value: of(engines) },
  ];
  const state = <State extends string>(states: readonly State[], of: (engine: Engine) => State | undefined) => {
    return (target: string, engines: Engine[]) => {
      const worst = states.find((one) => engines.some((engine) => of(engine) === one));
      if (worst === undefined) return [];
      return states.map((one) => ({ labels: { target, state: one }, value: one === worst ? 1 : 0 }));
    };
  };
  return [
    ...counterMetrics(beats),
    gauge("retry_rate", "Retries per operation; above 1 if each is retried.", value(ratio("retries", "operations"))),
    gauge("retry_timeout_rate", "Timeouts per operation.", value(ratio("timeouts", "operations"))),
    gauge("retry_rate_per_attempt", "Retries per send, 0 to 1.", value(ratio("retries", "attempts"))),
    gauge("retry_timeout_rate_per_attempt", "Timeouts per send, 0 to 1.", value(ratio("timeouts", "attempts"))),
    gauge("retry_error_ratio", "Failed operations per operation, 0 to 1.", value(ratio("failed", "operations"))),
    gauge(
      "retry_dedup_drop_rate",
      "Share of events that were not sent because they were already processed, 0 to 1.",
      value(ratio("dedupDropped", "operations", "dedupDropped")),
    ),
    gauge("retry_budget_left", "Retries that the retry budget allows now; +Inf without a budget.", value(budgetLeft)),
    gauge("breaker_open", "1 while a worker's circuit breaker of the target is open.", (target, engines) =>
      engines.some((engine) => engine.breaker)
        ? [{ labels: { target }, value: engines.some((engine) => engine.breaker?.state === "open") ? 1 : 0 }]
        : [],
    ),
    gauge(
      "breaker_state",
      "1 for the state of the target's circuit breaker, the worst over the workers.",
      state(BREAKER_STATES, (engine) => engine.breaker?.state),
    ),
    gauge(
      "breaker_open_ratio",
      "Share of its lifetime that the breaker was open, 0 to 1; the highest over the workers.",
      value(highest((engine) => engine.breaker?.openRatio)),
    ),
    gauge("bulkhead_in_use", "Sends under way.", value(sum((engine) => engine.bulkhead.inUse))),
    gauge("bulkhead_queued", "Sends that wait for a concurrency slot.", value(sum((engine) => engine.bulkhead.queued))),
    gauge("bulkhead_permits", "Maximum concurrent sends.", value(sum((engine) => engine.bulkhead.permits))),
    gauge(
      "healing_steps",
      "Steps by which self-healing has slowed the target down; the most over the workers.",
      value(highest((engine) => engine.healing?.steps)),
    ),
    gauge(
      "bucket_state",
      "1 for how rate tokens are served: shared, local (each worker its share) or unreachable (nothing is sent).",
      state(BUCKET_STATES, (engine) => engine.bucket),
    ),
    summary("attempt_latency_seconds", "Time of a send, the slowest worker's quantile.", ofEach(latencies)),
  ];
}

function byTarget(beats: readonly Beat[]): Map<string, Engine[]> {
  const targets = new Map<string, Engine[]>();
  for (const { info } of beats) {
    for (const [target, engine] of Object.entries(info.targets ?? {})) {
      targets.set(target, [...(targets.get(target) ?? []), engine]);
    }
  }
  return new Map([...targets].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function counterMetrics(beats: readonly Beat[]): Metric[] {
  return Object.entries(COUNTERS).map(([counter, { name, help }]) => ({
    name,
    help,
    type: "counter",
    samples: beats.flatMap(({ worker, info }) =>
      Object.entries(info.targets ?? {}).map(([target, { counters }]) => ({
        labels: { target, worker },
        value: counters[counter] ?? null,
      })),
    ),
  }));
}

/** Sums first, then divides, so that a worker with few sends weighs little. null before the first send. */
function ratio(part: string, ...whole: string[]) {
  return (engines: Engine[]): number | null => {
    const total = (name: string) => engines.reduce((sum, { counters }) => sum + (counters[name] ?? 0), 0);
    const all = whole.reduce((sum, name) => sum + total(name), 0);
    return all === 0 ? null : total(part) / all;
  };
}

function sum(of: (engine: Engine) => number) {
  return (engines: Engine[]): number => engines.reduce((total, engine) => total + of(engine), 0);
}

function highest(of: (engine: Engine) => number | null | undefined) {
  return (engines: Engine[]): number | null => {
    const known = engines.map(of).filter((one): one is number => typeof one === "number");
    return known.length === 0 ? null : Math.max(...known);
  };
}

/** JSON has no infinity: without a budget the heartbeat holds null. */
function budgetLeft(engines: Engine[]): number {
  return engines.reduce((total, { budget }) => total + ((budget.left as number | null) ?? Number.POSITIVE_INFINITY), 0);
}

function latencies(target: string, engines: Engine[]): Sample[] {
  const quantiles = { "0.5": "p50Ms", "0.95": "p95Ms", "0.99": "p99Ms" } as const;
  return Object.entries(quantiles).map(([quantile, name]) => {
    const ms = highest((engine) => engine.latency[name])(engines);
    return { labels: { target, quantile }, value: ms === null ? null : ms / 1000 };
  });
}
