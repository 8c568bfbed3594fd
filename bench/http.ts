import { request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "undici";
import { setDeps } from "@/app/_server/deps";
import * as detail from "@/app/(events)/api/v1/events/[id]/route";
import * as count from "@/app/(events)/api/v1/events/count/route";
import * as events from "@/app/(events)/api/v1/events/route";
import * as age from "@/app/(observe)/api/v1/stats/age/route";
import * as flow from "@/app/(observe)/api/v1/stats/flow/route";
import * as size from "@/app/(observe)/api/v1/stats/size/route";
import * as topErrors from "@/app/(observe)/api/v1/stats/top-errors/route";
import { foldRollups } from "@/lib/observe/rollups/fold-rollups.write";
import { createDb, type Db } from "@/lib/platform/database/db";
import { LOCAL_CALLER } from "@/lib/testing/local-caller";
import { buildAll } from "../scripts/build.ts";
import { benchDeps } from "./deps";
import { fillStore } from "./event-store";
import { percentile } from "./figures";
import type { Recording } from "./http-bare";
import { cpuMsOf, firstMessage, forkBench, rssBytes, startWebProcess, type WebProcess } from "./processes";
import { startBenchStack } from "./stack";

/**
 * The production web process over real HTTP: list, detail, count and statistics against a bare HTTP server that runs the
 * same SQL and sends the same JSON; the server's time of the first page; and its memory while a gigabyte comes in and
 * once it has.
 *
 * BENCH_EVENTS (1,000,000), BENCH_SECONDS (4 for each path and server) and BENCH_BYTES (1,000,000,000) make a quick run.
 */

const EVENTS = Number(process.env.BENCH_EVENTS ?? 1_000_000);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 4);
const STREAM_BYTES = Number(process.env.BENCH_BYTES ?? 1_000_000_000);
const TURNS = 4;
const CALLERS = 8;
const RATIO_AIM = 0.75;
const PAGE_MS_AIM = 30;
const REST_MB_AIM = 200;
const PEAK_MB_AIM = 600;
/** After a load the memory must be down again within this time. */
const REST_MS = 60_000;

export async function run() {
  await buildAll((line) => console.log(line));
  const stack = await startBenchStack();
  const filler = createDb(stack.databaseUrl, { max: 1 });
  const stops: (() => unknown)[] = [() => filler.end(), () => stack.stop()];
  try {
    await fillStore(filler, { events: EVENTS, days: 30 });
    await foldRollups(filler);
    await filler.run("vacuum analyze");
    const web = await startWebProcess(stack.databaseUrl);
    stops.unshift(web.stop);
    const paths = await pathsOf(filler);
    const bare = await startBare(stack.databaseUrl, await recorded(stack.databaseUrl, web.url, paths));
    stops.unshift(bare.stop);
    const rates = [];
    for (const path of paths) rates.push(await compare(path, web, bare));
    const ratio = rates.reduce((product, one) => product * one.ratio, 1) ** (1 / rates.length);
    console.log(`http ratio ${ratio.toFixed(3)} of a bare server (geometric mean, aim >= ${RATIO_AIM})`);
    const pages = [await page(web.url, "/"), await page(web.url, "/events")];
    const memory = await memoryOfStream(web);
    const withinBounds =
      rates.every((one) => one.ratio >= RATIO_AIM) &&
      pages.every((one) => one.p95Ms <= PAGE_MS_AIM) &&
      memory.restMb < REST_MB_AIM &&
      memory.peakMb < PEAK_MB_AIM;
    return { events: EVENTS, rates, ratio, pages, memory, withinBounds };
  } finally {
    for (const stop of stops) await stop();
  }
}

async function startBare(url: string, recordings: Recording[]): Promise<WebProcess> {
  const { child, stop } = await forkBench("./http-bare.ts");
  const listening = firstMessage<{ port: number }>(child);
  child.send({ url, recordings });
  return { url: `http://127.0.0.1:${(await listening).port}`, pid: child.pid!, stop };
}

/** Absolute windows: the recorded statements are then those of each request. */
async function pathsOf(db: Db): Promise<string[]> {
  const [event] = await db.query<{ id: string }>("select id from dlq_events order by id desc limit 1 offset 1000");
  const hours = (count: number) => new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000 - count * 3_600_000);
  const day = `from=${hours(24).toISOString()}&to=${hours(0).toISOString()}`;
  return [
    "/api/v1/events",
    "/api/v1/events?errorCode=TIMEOUT&status=PENDING",
    `/api/v1/events/${event!.id}`,
    "/api/v1/events/count?errorCode=TIMEOUT&status=PENDING",
    `/api/v1/stats/size?${day}`,
    `/api/v1/stats/flow?${day}`,
    `/api/v1/stats/top-errors?${day}`,
    `/api/v1/stats/age?${day}`,
  ];
}

/** The statements that each path sends to the store, and the answer of the web process. */
async function recorded(databaseUrl: string, origin: string, paths: string[]): Promise<Recording[]> {
  const deps = benchDeps(databaseUrl);
  setDeps(deps);
  const statements: Recording["statements"] = [];
  for (const db of [deps.db, deps.lists]) record(db, statements);
  try {
    const recordings: Recording[] = [];
    for (const path of paths) {
      statements.length = 0;
      const route = ROUTES.find(([pattern]) => pattern.test(path))!;
      const context = { params: Promise.resolve({ id: /[0-9a-f-]{36}/.exec(path)?.[0] ?? "" }) };
      await route[1](new Request(origin + path, { headers: LOCAL_CALLER }), context);
      const answer: unknown = await (await fetch(origin + path)).json();
      recordings.push({ path, statements: [...statements], answer });
    }
    return recordings;
  } finally {
    setDeps(null);
    await deps.close();
  }
}

const ROUTES = [
  [/events\/count/, count.GET],
  [/events\/[0-9a-f]/, detail.GET],
  [/events/, events.GET],
  [/stats\/size/, size.GET],
  [/stats\/flow/, flow.GET],
  [/stats\/top-errors/, topErrors.GET],
  [/stats\/age/, age.GET],
] as const;

function record(db: Db, statements: Recording["statements"]): void {
  const { query, transaction } = db;
  const recording = (ask: typeof query): typeof query => {
    return (text, values = [], options = {}) => {
      statements.push({ text, values: [...values], ...(options.name ? { name: options.name } : {}) });
      return ask(text, values, options);
    };
  };
  db.query = recording(query);
  db.transaction = (work, options) => transaction((tx) => work({ ...tx, query: recording(tx.query) }), options);
}

/** Requests per second, and the server process's own processor time of one request, without PostgreSQL's. */
type Load = { perSecond: number; cpuUs: number };
type Rate = { path: string; web: Load; bare: Load; ratio: number };

/** In turns, so that delays of the machine affect both. */
async function compare(path: string, web: WebProcess, bare: WebProcess): Promise<Rate> {
  const total = { web: { perSecond: 0, cpuUs: 0 }, bare: { perSecond: 0, cpuUs: 0 } };
  for (let turn = 0; turn <= TURNS; turn++) {
    for (const [name, server] of [
      ["web", web],
      ["bare", bare],
    ] as const) {
      const rate = await rateOf(server, path);
      // The first turn plans statements and compiles code.
      if (turn === 0) continue;
      total[name].perSecond += rate.perSecond / TURNS;
      total[name].cpuUs += rate.cpuUs / TURNS;
    }
  }
  const ratio = total.web.perSecond / total.bare.perSecond;
  const words = ({ perSecond, cpuUs }: Load) => `${Math.round(perSecond)}/s (${Math.round(cpuUs)} us)`;
  console.log(
    `http ${path.slice(0, 56).padEnd(56)} ${words(total.web)} against ${words(total.bare)}: ${ratio.toFixed(3)}`,
  );
  return { path, ...total, ratio };
}

async function rateOf({ url, pid }: WebProcess, path: string): Promise<Load> {
  const pool = new Pool(url, { connections: CALLERS });
  const startedCpuMs = cpuMsOf(pid);
  const startedMs = performance.now();
  const untilMs = startedMs + (SECONDS * 1000) / TURNS;
  let done = 0;
  // Each caller is another person: equal reads of one person that are under way at once share one run.
  const caller = async (n: number) => {
    const headers = { "x-actor": `caller-${n}` };
    while (performance.now() < untilMs) {
      const { statusCode, body } = await pool.request({ path, method: "GET", headers });
      await body.arrayBuffer();
      if (statusCode !== 200) throw new Error(`${path} answered ${statusCode}`);
      done++;
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, (_, n) => caller(n)));
  const perSecond = (done / (performance.now() - startedMs)) * 1000;
  await pool.close();
  return { perSecond, cpuUs: ((cpuMsOf(pid) - startedCpuMs) * 1000) / done };
}

/** Time until the last byte of a page's HTML, one request at a time. */
async function page(origin: string, path: string): Promise<{ path: string; p50Ms: number; p95Ms: number }> {
  const times: number[] = [];
  for (let i = 0; i < 120; i++) {
    const startedMs = performance.now();
    const answer = await fetch(origin + path, { headers: { accept: "text/html" } });
    await answer.arrayBuffer();
    if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}`);
    if (i >= 20) times.push(performance.now() - startedMs);
  }
  const result = { path, p50Ms: percentile(times, 0.5), p95Ms: percentile(times, 0.95) };
  console.log(
    `http page ${path} p50 ${result.p50Ms.toFixed(1)} ms, p95 ${result.p95Ms.toFixed(1)} ms (aim <= ${PAGE_MS_AIM})`,
  );
  return result;
}

const mb = (bytes: number) => Math.round(bytes / 1e6);

async function memoryOfStream(web: WebProcess): Promise<{ startMb: number; peakMb: number; restMb: number }> {
  const seen = { start: rssBytes(web.pid), peak: 0 };
  const watch = setInterval(() => {
    seen.peak = Math.max(seen.peak, rssBytes(web.pid));
  }, 50);
  const startedMs = performance.now();
  await stream(web.url);
  const seconds = (performance.now() - startedMs) / 1000;
  await sleep(REST_MS);
  clearInterval(watch);
  const memory = { startMb: mb(seen.start), peakMb: mb(seen.peak), restMb: mb(rssBytes(web.pid)) };
  console.log(
    `http memory: ${memory.startMb} MB, at most ${memory.peakMb} MB (aim < ${PEAK_MB_AIM}) while ${mb(STREAM_BYTES)} MB came in within ${seconds.toFixed(0)} s, ${memory.restMb} MB ${REST_MS / 1000} s later (aim < ${REST_MB_AIM})`,
  );
  return memory;
}

const LINE_BYTES = 4_000;

function stream(origin: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const headers = { "content-type": "application/x-ndjson" };
  const outgoing = request(`${origin}/api/v1/events`, { method: "POST", headers }, (answer) => {
    answer.resume().on("end", () => {
      if (answer.statusCode === 202) resolve();
      else reject(new Error(`the stream was answered with ${answer.statusCode}`));
    });
  });
  outgoing.on("error", reject);
  let sent = 0;
  let n = 0;
  const pump = () => {
    while (sent < STREAM_BYTES) {
      const text = Array.from({ length: 16 }, () => line(n++)).join("");
      sent += text.length;
      if (!outgoing.write(text)) return void outgoing.once("drain", pump);
    }
    outgoing.end();
  };
  pump();
  return promise;
}

function line(n: number): string {
  const payload = { orderId: n, note: "x".repeat(LINE_BYTES - 300) };
  const error = { type: "com.acme.Failure", message: `call ${n} of stock failed` };
  const [eventId, aggregateId] = [`streamed-${n}`, `order-${n % 5_000}`];
  return `${JSON.stringify({ source: "orders", eventId, aggregateId, errorCode: "TIMEOUT", error, attempts: 4, payload })}\n`;
}
