import {
  bulkhead,
  ConsecutiveBreaker,
  circuitBreaker,
  ExponentialBackoff,
  handleAll,
  retry,
  TimeoutStrategy,
  timeout,
  wrap,
} from "cockatiel";
import { systemClock } from "@/lib/platform/clock";
import type { Call } from "@/lib/retry/call";
import { createTargetState, execute } from "@/lib/retry/execute";
import { POLICY_PRESETS } from "@/lib/retry/policy";
import { meanContention } from "@/lib/retry/testing/contention";
import { seeded } from "@/lib/retry/testing/seeded";
import { CONTENTION_ALGORITHMS } from "@/lib/retry/testing/vectors/contention";
import type { Cell } from "@/lib/retry/testing/vectors/vector";
import vectors from "@/lib/retry/vectors.json";
import { median } from "./figures";

const ROUNDS = 9;
const CALLS_PER_ROUND = 60_000;
const HEAP_CALLS = 1_000_000;

/** Bounds of a round. */
const RATIO_MAX = 0.5;
const MICROSECONDS_MAX = 10;
const CONTENTION_TOLERANCE = 0.1;
/** Noise of a collected heap between two readings; one leaked object per call would show as tens of megabytes. */
const HEAP_GROWTH_BYTES_MAX = 1_000_000;

/**
 * Prints the cost of one call through all guards against cockatiel's four-policy wrap measured in the same run, what
 * 1,000,000 calls leave on the heap, and how the jitter spreads contending clients. Rejects when a bound is not kept.
 */
export async function run(): Promise<void> {
  const failures = [...(await cost()), ...(await heap()), ...contention()];
  if (failures.length > 0) throw new Error(failures.join("; "));
}

/** One call through timeout, retry, breaker, bulkhead, budget and token; the wrap has neither budget nor token. */
async function cost(): Promise<string[]> {
  const ours = engine();
  const theirs = cockatiel();
  const pairs: { oursUs: number; theirsUs: number }[] = [];
  // Round by round in turn, so that a slow moment of the machine hits both. The first warms up.
  for (let round = 0; round <= ROUNDS; round++) {
    const theirsUs = await microseconds(theirs, CALLS_PER_ROUND);
    const oursUs = await microseconds(ours, CALLS_PER_ROUND);
    if (round > 0) pairs.push({ oursUs, theirsUs });
  }
  const oursUs = median(pairs.map((pair) => pair.oursUs));
  const theirsUs = median(pairs.map((pair) => pair.theirsUs));
  const ratio = median(pairs.map((pair) => pair.oursUs / pair.theirsUs));
  console.log(
    `one call: ${oursUs.toFixed(2)} us, cockatiel ${theirsUs.toFixed(2)} us, ratio ${ratio.toFixed(2)} (<= ${RATIO_MAX})`,
  );
  return [
    ...(ratio > RATIO_MAX ? [`ratio ${ratio.toFixed(2)} > ${RATIO_MAX}`] : []),
    ...(oursUs > MICROSECONDS_MAX ? [`${oursUs.toFixed(2)} us > ${MICROSECONDS_MAX} us`] : []),
  ];
}

/** A clock that counts the timers it has armed and not yet seen fired or cleared. */
function countingClock() {
  let armed = 0;
  const clock = {
    ...systemClock,
    timer(ms: number, fire: () => void) {
      armed++;
      let live = true;
      const end = () => {
        if (live) armed--;
        live = false;
      };
      const disarm = systemClock.timer(ms, () => {
        end();
        fire();
      });
      return () => {
        end();
        disarm();
      };
    },
  };
  return { clock, armed: () => armed };
}

async function heap(): Promise<string[]> {
  const { clock, armed } = countingClock();
  const controller = new AbortController();
  const once = engine(clock, controller.signal);
  for (let call = 0; call < CALLS_PER_ROUND; call++) await once();
  const before = collectedBytes();
  for (let call = 0; call < HEAP_CALLS; call++) await once();
  const grown = collectedBytes() - before;
  console.log(
    `after ${HEAP_CALLS.toLocaleString("en")} calls: heap ${(grown / 1024).toFixed(0)} KiB, timers left ${armed()}`,
  );
  return [
    ...(grown > HEAP_GROWTH_BYTES_MAX ? [`the heap grew by ${grown} bytes`] : []),
    ...(armed() > 0 ? [`${armed()} timers are left`] : []),
  ];
}

/** Bytes in use after a collection; run with --expose-gc. */
function collectedBytes(): number {
  if (globalThis.gc === undefined) throw new Error("run node with --expose-gc");
  for (let pass = 0; pass < 3; pass++) globalThis.gc();
  return process.memoryUsage().heapUsed;
}

/** The published contention figures of 100 clients against our own backoff, means of 100 runs. */
function contention(): string[] {
  const { rows } = vectors.vectors.find(({ id }) => id === "backoff-091") as unknown as { rows: Cell[][] };
  const failures: string[] = [];
  const hundred = rows.filter(([clients]) => clients === 100);
  for (const [clients, algorithm, completionMs, calls] of hundred) {
    const backoff = CONTENTION_ALGORITHMS[String(algorithm)]!;
    const mean = meanContention({ clients: Number(clients), backoff, random: seeded(1) }, 100);
    const ratios = [mean.completionMs / Number(completionMs), mean.calls / Number(calls)];
    const [timeRatio, callRatio] = ratios.map((ratio) => ratio.toFixed(2));
    console.log(
      `contention of ${clients}, ${algorithm}: ${mean.calls.toFixed(0)} calls (${callRatio}x published), ${mean.completionMs.toFixed(0)} ms (${timeRatio}x)`,
    );
    if (ratios.some((ratio) => Math.abs(ratio - 1) > CONTENTION_TOLERANCE))
      failures.push(`${algorithm} is off the published figures`);
  }
  return failures;
}

function engine(clock = systemClock, signal?: AbortSignal): () => Promise<unknown> {
  const policy = POLICY_PRESETS.interactive;
  const options = { policy, target: createTargetState(policy, clock), clock, random: Math.random, signal };
  const call: Call<number> = { idempotencyKey: "key", retryable: true, attempt: work, takeToken: async () => {} };
  return () => execute(call, options);
}

function cockatiel(): () => Promise<unknown> {
  const policy = wrap(
    retry(handleAll, { maxAttempts: 2, backoff: new ExponentialBackoff() }),
    circuitBreaker(handleAll, { halfOpenAfter: 30_000, breaker: new ConsecutiveBreaker(10) }),
    bulkhead(20, 20),
    timeout(3_000, TimeoutStrategy.Aggressive),
  );
  return () => policy.execute(work);
}

async function work(): Promise<number> {
  return 1;
}

async function microseconds(once: () => Promise<unknown>, calls: number): Promise<number> {
  const startMs = performance.now();
  for (let call = 0; call < calls; call++) await once();
  return ((performance.now() - startMs) * 1000) / calls;
}
