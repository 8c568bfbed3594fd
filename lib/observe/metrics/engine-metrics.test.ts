import { expect, test } from "vitest";
import { prometheusText } from "@/lib/platform/plain/prometheus.pure";
import { zeroCounters } from "@/lib/retry/counters";
import type { HeartbeatInfo } from "@/lib/sources/targets/target-list.read";
import { engineMetrics } from "./engine-metrics.read";

type Engine = HeartbeatInfo["targets"][string];

function engine(change: Partial<Engine> = {}, counted: Partial<ReturnType<typeof zeroCounters>> = {}): Engine {
  return {
    breaker: { state: "closed", forced: false, waitMs: null, openRatio: 0.125 },
    budget: { left: 3, retryRatio: 0 },
    bulkhead: { inUse: 2, queued: 5, permits: 20 },
    latency: { samples: 9, p50Ms: 10, p95Ms: 40, p99Ms: null },
    counters: { ...zeroCounters(), ...counted },
    healing: { steps: 0, backoffFactor: 1, rateFactor: 1 },
    policy: { name: "slow-lane", version: 3 },
    bucket: "shared",
    ...change,
  };
}

const beats = (...infos: Record<string, Engine>[]) =>
  infos.map((targets, index) => ({ worker: `w${index + 1}`, info: { running: 1, targets } }));

/** `name{labels}` -> value, as a scrape reads it. */
function scraped(...infos: Record<string, Engine>[]): Record<string, string> {
  const lines = prometheusText(engineMetrics(beats(...infos)))
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
  return Object.fromEntries(lines.map((line) => line.split(/ (?=[^ ]+$)/) as [string, string]));
}

test("counts are a series a worker and target; shares are pooled over the workers", () => {
  const metrics = scraped(
    {
      orders: engine(
        {},
        {
          operations: 34,
          failed: 4,
          attempts: 90,
          retries: 0,
          timeouts: 9,
          retryAllowed: 7,
          retryExhausted: 2,
          hedges: 4,
        },
      ),
    },
    {
      orders: engine(
        {},
        { attempts: 10, retries: 10, timeouts: 1, retryAfterHonored: 5, operations: 6, dedupDropped: 2 },
      ),
    },
  );
  expect(metrics).toMatchObject({
    'retry_attempts_total{target="orders",worker="w1"}': "90",
    'retry_attempts_total{target="orders",worker="w2"}': "10",
    'retry_allowed_total{target="orders",worker="w1"}': "7",
    'retry_exhausted_total{target="orders",worker="w1"}': "2",
    'retry_after_honored_total{target="orders",worker="w2"}': "5",
    'retry_hedges_total{target="orders",worker="w1"}': "4",
    'retry_rate{target="orders"}': "0.25",
    'retry_timeout_rate{target="orders"}': "0.25",
    'retry_rate_per_attempt{target="orders"}': "0.1",
    'retry_timeout_rate_per_attempt{target="orders"}': "0.1",
    'retry_error_ratio{target="orders"}': "0.1",
  });
});

test("live state: places and budget add up, of breaker, bucket, healing and latency the worst is told", () => {
  const metrics = scraped(
    { orders: engine() },
    {
      orders: engine({
        breaker: { state: "open", forced: true, waitMs: null, openRatio: 0.75 },
        budget: { left: 4, retryRatio: 0 },
        latency: { samples: 1, p50Ms: 20, p95Ms: 30, p99Ms: null },
        healing: { steps: 2, backoffFactor: 4, rateFactor: 0.25 },
        bucket: "local",
      }),
    },
  );
  expect(metrics).toMatchObject({
    'retry_budget_left{target="orders"}': "7",
    'bulkhead_in_use{target="orders"}': "4",
    'bulkhead_queued{target="orders"}': "10",
    'bulkhead_permits{target="orders"}': "40",
    'breaker_open{target="orders"}': "1",
    'breaker_state{target="orders",state="open"}': "1",
    'breaker_state{target="orders",state="half-open"}': "0",
    'breaker_state{target="orders",state="closed"}': "0",
    'breaker_open_ratio{target="orders"}': "0.75",
    'healing_steps{target="orders"}': "2",
    'bucket_state{target="orders",state="local"}': "1",
    'bucket_state{target="orders",state="shared"}': "0",
    'attempt_latency_seconds{target="orders",quantile="0.5"}': "0.02",
    'attempt_latency_seconds{target="orders",quantile="0.95"}': "0.04",
  });
  expect(metrics).not.toHaveProperty('attempt_latency_seconds{target="orders",quantile="0.99"}');
});

test("what is unknown or not there is left out, and no budget is no bound", () => {
  const bare = engine({ breaker: null, healing: null, bucket: undefined });
  const sent = JSON.parse(JSON.stringify({ ...bare, budget: { left: Number.POSITIVE_INFINITY, retryRatio: 0 } }));
  const metrics = scraped({ orders: sent });
  expect(metrics['retry_budget_left{target="orders"}']).toBe("+Inf");
  for (const name of [
    "breaker_open",
    "breaker_state",
    "breaker_open_ratio",
    "healing_steps",
    "bucket_state",
    "retry_rate",
  ]) {
    expect(Object.keys(metrics).filter((series) => series.startsWith(`${name}{`))).toEqual([]);
  }
});

test("every metric has a help text and its type, also before any worker has sent", () => {
  const text = prometheusText(engineMetrics([]));
  const names = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => `${name} ${type}`);
  for (const name of names) expect(name.endsWith(" counter"), name).toBe(name.includes("_total "));
  expect(names.filter((name) => name.endsWith(" summary"))).toEqual(["attempt_latency_seconds summary"]);
  expect(names).toContain("retry_allowed_total counter");
  expect(names).toContain("breaker_state gauge");
  expect(new Set(names).size).toBe(names.length);
  for (const [, name] of text.matchAll(/^# TYPE (\S+)/gm))
    expect(text).toMatch(new RegExp(`^# HELP ${name} \\S.{3,}`, "m"));
});

test("every counter of the engine is exported", () => {
  const exported = Object.keys(scraped({ orders: engine() })).filter((series) => series.includes("worker="));
  expect(exported).toHaveLength(Object.keys(zeroCounters()).length);
});
