import { setTimeout as sleep } from "node:timers/promises";
import type { LaneConnection } from "@/lib/lane/connection";
import { worstWindowExcess } from "@/lib/lane/testing/window-excess";
import { percentile } from "./figures.ts";
import { firstMessage, forkScript } from "./processes.ts";
import type { TakerNotes, TakerSettings } from "./rate-taker.ts";
import { type Reading, scenario } from "./scenario.ts";
import { startBenchStack } from "./stack.ts";

const SPEC = { key: "bench", ratePerSecond: 50, burst: 5 };
const WORKERS = 4;
const ATTEMPTS_PER_WORKER = 8;
/** Beyond what is measured, so that the last second is as full as the others. */
const MARGIN_SECONDS = 1;
const SECONDS = Number(process.env.BENCH_SECONDS ?? 60);

/**
 * Four worker processes share one token bucket for a minute, on Redis and on Postgres at the same time. The baseline
 * is the set rate: sends / (rate * t) within +-1 %, and no window above rate * t + burst. BENCH_SECONDS (60) makes a quick run.
 */
export const run = scenario({
  name: "rate",
  open: async (atEnd) => {
    const stack = await startBenchStack({ redis: true });
    atEnd(stack.stop);
    return stack;
  },
  async *measure({ databaseUrl, redis }) {
    if (redis === null) console.log("rate on Redis skipped: redis-server is not installed");
    const backends: LaneConnection[] = [
      ...(redis === null ? [] : [{ kind: "redis" as const, url: redis.url }]),
      { kind: "postgres", connectionString: databaseUrl },
    ];
    const measured = await Promise.all(backends.map(notesOf));
    for (const [index, notes] of measured.entries()) yield* readingsOf(backends[index]!.kind, notes);
  },
});

async function notesOf(connection: LaneConnection): Promise<TakerNotes[]> {
  const settings: TakerSettings = { connection, spec: SPEC, attempts: ATTEMPTS_PER_WORKER };
  const args = [JSON.stringify(settings)];
  const takers = Array.from({ length: WORKERS }, () => forkScript("./rate-taker.ts", { args }));
  try {
    await Promise.all(takers.map((taker) => firstMessage(taker)));
    for (const taker of takers) taker.send("start");
    await sleep((SECONDS + MARGIN_SECONDS) * 1000);
    const answers = takers.map((taker) => firstMessage<TakerNotes>(taker));
    for (const taker of takers) taker.send("stop");
    return await Promise.all(answers);
  } finally {
    for (const taker of takers) taker.kill("SIGKILL");
  }
}

function* readingsOf(backend: LaneConnection["kind"], notes: TakerNotes[]): Generator<Reading> {
  const { ratePerSecond, burst } = SPEC;
  const sentMs = notes.flatMap((one) => one.sentMs).sort((a, b) => a - b);
  // The first send opens the window and is not in it.
  const measured = sentMs.slice(1).filter((ms) => ms <= sentMs[0]! + SECONDS * 1000);
  const gaps = sentMs.slice(1).map((ms, i) => ms - sentMs[i]!);
  const [p5, p50, p95] = [0.05, 0.5, 0.95].map((share) => percentile(gaps, share).toFixed(1));
  yield {
    name: `sends of ${WORKERS} workers, ${backend}`,
    value: measured.length / SECONDS,
    unit: "sends/s",
    baseline: { name: "sends/s that are set", value: ratePerSecond, bound: { min: 0.99, max: 1.01 } },
    note: `gap p5/p50/p95 ${p5} / ${p50} / ${p95} ms`,
  };
  // A process that the machine does not let run makes sends late and then close together: they have no bound.
  const sends = sentMs.map((ms) => ({ fromMs: ms, toMs: ms, tokens: 1 }));
  yield {
    name: `worst window over the bound, ${backend}`,
    value: worstWindowExcess(
      notes.flatMap((one) => one.issues),
      ratePerSecond,
      burst,
    ),
    unit: "tokens issued",
    bound: { max: 0 },
    note: `${worstWindowExcess(sends, ratePerSecond, burst).toFixed(2)} sent`,
  };
}
