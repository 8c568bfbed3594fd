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
import { inTurns, type Reading, scenario } from "./scenario";

const ROUNDS = 9;
const CALLS_PER_ROUND = 60_000;
const HEAP_CALLS = 1_000_000;

/**
 * The cost of one call through all guards against cockatiel's four-policy wrap, what 1,000,000 calls leave on the heap, and how the
 * jitter spreads contending clients.
 */
export const run = scenario({
  name: "retry",
  open: async () => undefined,
  async *measure() {
    yield* cost();
    yield* heap();
    yield* contention();
  },
});

/** One call through timeout, retry, breaker, bulkhead, budget and token; the wrap has neither budget nor token. */
async function* cost(): AsyncGenerator<Reading> {
  const [ours, theirs] = [engine(), cockatiel()];
  const rounds = await inTurns(
    { turns: ROUNDS, warm: 1 },
    { theirs: () => microseconds(theirs, CALLS_PER_ROUND), ours: () => microseconds(ours, CALLS_PER_ROUND) },
  );
  yield {
    name: "one call",
    value: median(rounds.ours),
    unit: "us",
    bound: { max: 10 },
    baseline: { name: "us of cockatiel", value: median(rounds.theirs), bound: { max: 0.5 } },
  };
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

async function* heap(): AsyncGenerator<Reading> {
  const { clock, armed } = countingClock();
  const controller = new AbortController();
  const once = engine(clock, controller.signal);
  for (let call = 0; call < CALLS_PER_ROUND; call++) await once();
  const before = collectedBytes();
  for (let call = 0; call < HEAP_CALLS; call++) await once();
  const after = `after ${HEAP_CALLS.toLocaleString("en")} calls`;
  // Noise of a collected heap between two readings; one leaked object per call would show as tens of megabytes.
  yield { name: `heap ${after}`, value: collectedBytes() - before, unit: "bytes", bound: { max: 1_000_000 } };
  yield { name: `timers ${after}`, value: armed(), unit: "left", bound: { max: 0 } };
}

/** Bytes in use after a collection; run with --expose-gc. */
function collectedBytes(): number {
  if (globalThis.gc === undefined) throw new Error("run node with --expose-gc");
  for (let pass = 0; pass < 3; pass++) globalThis.gc();
  return process.memoryUsage().heapUsed;
}

/** The published contention figures of 100 clients against our own backoff, means of 100 runs. */
function* contention(): Generator<Reading> {
  const { rows } = vectors.vectors.find(({ id }) => id === "backoff-091") as unknown as { rows: Cell[][] };
  for (const [clients, algorithm, completionMs, calls] of rows) {
    if (clients !== 100) continue;
    const backoff = CONTENTION_ALGORITHMS[String(algorithm)]!;
    const mean = meanContention({ clients, backoff, random: seeded(1) }, 100);
    const name = `contention of ${clients}, ${algorithm}`;
    const published = (value: Cell) => ({ name: "published", value: Number(value), bound: { min: 0.9, max: 1.1 } });
    yield { name, value: mean.calls, unit: "calls", baseline: published(calls!) };
    yield { name, value: mean.completionMs, unit: "ms", baseline: published(completionMs!) };
  }
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
