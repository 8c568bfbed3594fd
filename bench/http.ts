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
import { createDb, type Db } from "@/lib/platform/database/db";
import { LOCAL_CALLER } from "@/lib/testing/local-caller";
import { buildAll } from "../scripts/build.ts";
import { benchDeps } from "./deps";
import { mean, percentile } from "./figures";
import type { Recording } from "./http-bare";
import { type Load, loadOf, recording } from "./load";
import { cpuMsOf, firstMessage, forkBench, rssBytes, startWebProcess, type WebProcess } from "./processes";
import { inTurns, type Reading, scenario } from "./scenario";
import { startBenchStack } from "./stack";
import { fillStore } from "./store";

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
/** After a load the memory must be down again within this time. */
const REST_MS = 60_000;

export const run = scenario({
  name: "http",
  open: async (atEnd) => {
    await buildAll((line) => console.log(line));
    const stack = await startBenchStack();
    atEnd(stack.stop);
    const filler = createDb(stack.databaseUrl, { max: 3 });
    atEnd(filler.end);
    const web = await startWebProcess(stack.databaseUrl);
    atEnd(web.stop);
    return { databaseUrl: stack.databaseUrl, filler, web, atEnd };
  },
  fill: ({ filler }) => fillStore(filler, { events: EVENTS, days: 30 }),
  async *measure({ databaseUrl, filler, web, atEnd }) {
    const paths = await pathsOf(filler);
    const bare = await startBare(databaseUrl, await recorded(databaseUrl, web.url, paths));
    atEnd(bare.stop);
    for (const path of paths) yield await compare(path, web, bare);
    for (const path of ["/", "/events"]) yield await page(web.url, path);
    yield* memoryOfStream(web);
  },
});

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
  const { sent } = recording([deps.db, deps.lists]);
  try {
    const recordings: Recording[] = [];
    for (const path of paths) {
      sent.length = 0;
      const route = ROUTES.find(([pattern]) => pattern.test(path))!;
      const context = { params: Promise.resolve({ id: /[0-9a-f-]{36}/.exec(path)?.[0] ?? "" }) };
      await route[1](new Request(origin + path, { headers: LOCAL_CALLER }), context);
      const answer: unknown = await (await fetch(origin + path)).json();
      recordings.push({ path, statements: [...sent], answer });
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

async function compare(path: string, web: WebProcess, bare: WebProcess): Promise<Reading> {
  const loads = await inTurns(
    { turns: TURNS, warm: 1 },
    { web: () => rateOf(web, path), bare: () => rateOf(bare, path) },
  );
  const [webUs, bareUs] = [loads.web, loads.bare].map((of) => Math.round(mean(of, "cpuUs")));
  return {
    name: path.slice(0, 56),
    value: mean(loads.web, "perSecond"),
    unit: "requests/s",
    baseline: { name: "of a bare server", value: mean(loads.bare, "perSecond"), bound: { min: 0.75 } },
    // The server process's own, without PostgreSQL's.
    note: `processor ${webUs} us against ${bareUs} us`,
  };
}

async function rateOf({ url, pid }: WebProcess, path: string): Promise<Load> {
  const pool = new Pool(url, { connections: CALLERS });
  const load = await loadOf(
    { callers: CALLERS, seconds: SECONDS / TURNS, cpuMs: () => cpuMsOf(pid) },
    async (caller) => {
      // Each caller is another person: equal reads of one person that are under way at once share one run.
      const headers = { "x-actor": `caller-${caller}` };
      const { statusCode, body } = await pool.request({ path, method: "GET", headers });
      await body.arrayBuffer();
      if (statusCode !== 200) throw new Error(`${path} answered ${statusCode}`);
    },
  );
  await pool.close();
  return load;
}

/** Time until the last byte of a page's HTML, one request at a time. */
async function page(origin: string, path: string): Promise<Reading> {
  const times: number[] = [];
  for (let i = 0; i < 120; i++) {
    const startedMs = performance.now();
    const answer = await fetch(origin + path, { headers: { accept: "text/html" } });
    await answer.arrayBuffer();
    if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}`);
    if (i >= 20) times.push(performance.now() - startedMs);
  }
  const note = `p50 ${percentile(times, 0.5).toFixed(1)} ms`;
  return { name: `page ${path}`, value: percentile(times, 0.95), unit: "ms p95", bound: { max: 30 }, note };
}

const mb = (bytes: number) => Math.round(bytes / 1e6);

async function* memoryOfStream(web: WebProcess): AsyncGenerator<Reading> {
  const startMb = mb(rssBytes(web.pid));
  let peak = 0;
  const watch = setInterval(() => {
    peak = Math.max(peak, rssBytes(web.pid));
  }, 50);
  try {
    await stream(web.url);
    await sleep(REST_MS);
  } finally {
    clearInterval(watch);
  }
  const note = `${startMb} MB before`;
  yield { name: `memory while ${mb(STREAM_BYTES)} MB come in`, value: mb(peak), unit: "MB", bound: { max: 600 }, note };
  yield { name: `memory ${REST_MS / 1000} s later`, value: mb(rssBytes(web.pid)), unit: "MB", bound: { max: 200 } };
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
