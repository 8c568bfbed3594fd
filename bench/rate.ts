import { type ChildProcess, fork } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { LaneConnection } from "@/lib/lane/connection";
import { worstWindowExcess } from "@/lib/lane/testing/window-excess";
import { redisInstalled, testRedis } from "@/lib/testing/redis";
import { startPostgres } from "../scripts/embedded-postgres.ts";
import { migrate } from "../scripts/migrate.ts";
import type { TakerNotes, TakerSettings } from "./rate-taker.ts";

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
  if (!redisInstalled) console.log("rate redis     skipped: redis-server is not installed");
  const results = await Promise.all([...(redisInstalled ? [onRedis(seconds)] : []), onPostgres(seconds)]);
  for (const result of results) print(result);
  return results;
}

async function onRedis(seconds: number): Promise<RateResult> {
  const server = await testRedis();
  try {
    return await measure({ kind: "redis", url: server.url }, seconds);
  } finally {
    await server.stop();
  }
}

async function onPostgres(seconds: number): Promise<RateResult> {
  const dataDir = mkdtempSync(join(tmpdir(), "parkade-bench-"));
  // mkdtemp closes the folder to other users; under root the server runs as another user, who must enter it.
  chmodSync(dataDir, 0o755);
  const server = await startPostgres({ dataDir, ephemeral: true });
  try {
    await migrate(server.url);
    return await measure({ kind: "postgres", connectionString: server.url }, seconds);
  } finally {
    await server.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function measure(connection: LaneConnection, seconds: number): Promise<RateResult> {
  const settings: TakerSettings = { connection, spec: SPEC, attempts: ATTEMPTS_PER_WORKER };
  const takers = Array.from({ length: WORKERS }, () => startTaker(settings));
  try {
    await Promise.all(takers.map((taker) => answer(taker)));
    for (const taker of takers) taker.send("start");
    await sleep((seconds + MARGIN_SECONDS) * 1000);
    const answers = takers.map((taker) => answer<TakerNotes>(taker));
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
  gaps.sort((a, b) => a - b);
  const at = (share: number) => gaps[Math.floor((gaps.length - 1) * share)] ?? Number.NaN;
  return {
    backend,
    ratio,
    sends: measured.length,
    issuedExcess,
    sentExcess: worstWindowExcess(sends, ratePerSecond, burst),
    gapMs: { p5: at(0.05), p50: at(0.5), p95: at(0.95) },
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

function startTaker(settings: TakerSettings): ChildProcess {
  const script = fileURLToPath(new URL("./rate-taker.ts", import.meta.url));
  return fork(script, [JSON.stringify(settings)], { execArgv: ["--import", "tsx"] });
}

/** The next message of a taker. Rejects when it ends without one. */
function answer<T>(taker: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null) => reject(new Error(`a worker process of the bench ended with ${code}`));
    taker.once("exit", ended);
    taker.once("message", (message) => {
      taker.off("exit", ended);
      resolve(message as T);
    });
  });
}
