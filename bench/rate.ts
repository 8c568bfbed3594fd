import { setTimeout as sleep } from "node:timers/promises";
import type { LaneConnection } from "@/lib/lane/connection";
import { worstWindowExcess } from "@/lib/lane/testing/window-excess";
import { median, percentile } from "./figures.ts";
import { firstMessage, forkScript } from "./processes.ts";
import type { TakerNotes, TakerSettings } from "./rate-taker.ts";
import { startBenchStack } from "./stack.ts";

const SPEC = { key: "bench", ratePerSecond: 50, burst: 5 };
const WORKERS = 4;
const ATTEMPTS_PER_WORKER = 8;
/** Beyond what is measured, so that the last second is as full as the others. */
const MARGIN_SECONDS = 1;
const TOLERANCE = 0.01;

export type RateResult = {
  backend: LaneConnection["kind"];
  /** Sends of the measured time over ratePerSecond * seconds. */
  ratio: number;
  sends: number;
  /** Tokens issued in the worst window beyond rate * t + burst; 0 or less is within the bound. */
  issuedExcess: number;
  /** The same for the sends, which a process that the machine does not let run makes late and then close together. */
  sentExcess: number;
  /** Between one send and the next, milliseconds. */
  gapMs: { p5: number; p50: number; p95: number };
  withinBounds: boolean;
};

/**
 * Four worker processes share one token bucket for `seconds`, on Redis and on Postgres at the same time. The baseline
 * is the set rate: sends / (rate * t) within +-1 %, and no window above rate * t + burst.
 */
export async function run({ seconds = 60 }: { seconds?: number } = {}): Promise<RateResult[]> {
  const { ratePerSecond, burst } = SPEC;
  console.log(`rate: ${WORKERS} worker processes, ${ratePerSecond}/s, burst ${burst}, ${seconds} s`);
  const { databaseUrl, redis, stop } = await startBenchStack({ redis: true });
  if (redis === null) console.log("rate redis     skipped: redis-server is not installed");
  try {
    const results = await Promise.all([
      ...(redis === null ? [] : [measure({ kind: "redis", url: redis.url }, seconds)]),
      measure({ kind: "postgres", connectionString: databaseUrl }, seconds),
    ]);
    for (const result of results) print(result);
    return results;
  } finally {
    await stop();
  }
}

async function measure(connection: LaneConnection, seconds: number): Promise<RateResult> {
  const settings: TakerSettings = { connection, spec: SPEC, attempts: ATTEMPTS_PER_WORKER };
  const args = [JSON.stringify(settings)];
  const takers = Array.from({ length: WORKERS }, () => forkScript("./rate-taker.ts", { args }));
  try {
    await Promise.all(takers.map((taker) => firstMessage(taker)));
    for (const taker of takers) taker.send("start");
    await sleep((seconds + MARGIN_SECONDS) * 1000);
    const answers = takers.map((taker) => firstMessage<TakerNotes>(taker));
    for (const taker of takers) taker.send("stop");
    return judge(connection.kind, await Promise.all(answers), seconds);
  } finally {
    for (const taker of takers) taker.kill("SIGKILL");
  }
}

function judge(backend: RateResult["backend"], notes: TakerNotes[], seconds: number): RateResult {
  const { ratePerSecond, burst } = SPEC;
  const sentMs = notes.flatMap((one) => one.sentMs).sort((a, b) => a - b);
  // The first send opens the window and is not in it.
  const measured = sentMs.slice(1).filter((ms) => ms <= sentMs[0]! + seconds * 1000);
  const ratio = measured.length / (ratePerSecond * seconds);
  const issues = notes.flatMap((one) => one.issues);
  const issuedExcess = worstWindowExcess(issues, ratePerSecond, burst);
  const sends = sentMs.map((ms) => ({ fromMs: ms, toMs: ms, tokens: 1 }));
  const gaps = sentMs.slice(1).map((ms, i) => ms - sentMs[i]!);
  return {
    backend,
    ratio,
    sends: measured.length,
    issuedExcess,
    sentExcess: worstWindowExcess(sends, ratePerSecond, burst),
    gapMs: { p5: percentile(gaps, 0.05), p50: median(gaps), p95: percentile(gaps, 0.95) },
    withinBounds: Math.abs(ratio - 1) <= TOLERANCE && issuedExcess <= 0,
  };
}

function print({ backend, ratio, sends, issuedExcess, sentExcess, gapMs, withinBounds }: RateResult): void {
  const gaps = [gapMs.p5, gapMs.p50, gapMs.p95].map((ms) => ms.toFixed(1)).join(" / ");
  console.log(
    [
      `rate ${backend.padEnd(9)} ratio ${ratio.toFixed(4)} of the set rate (${sends} sends, aim 0.99..1.01)`,
      `worst window over the bound: issued ${issuedExcess.toFixed(2)} tokens (aim <= 0), sent ${sentExcess.toFixed(2)}`,
      `gap p5/p50/p95 ${gaps} ms: ${withinBounds ? "ok" : "MISSED"}`,
    ].join(", "),
  );
}
