import { createHash } from "node:crypto";
import pg from "pg";
import { setDeps } from "@/app/_server/deps";
import * as events from "@/app/(events)/api/v1/events/route";
import { fromSearchParams } from "@/lib/events/filter/event-filter.shapes";
import { encodeCursor } from "@/lib/platform/api/cursor.shapes";
import { createDb, type Db, type Queryable } from "@/lib/platform/database/db";
import { uuidv7LowerBound } from "@/lib/platform/ids";
import { benchDeps } from "./deps";
import { CODES, fillStore, SOURCES, TYPES } from "./event-store";
import { percentile, timed } from "./figures";
import { cpuByLabel } from "./processes";
import { startBenchStack } from "./stack";

/**
 * The list API over a million events: p95 for each filter, for common pairs, and at depth; and its requests per second
 * against the same SQL sent through `pg` alone. The API is the route's own handler, with parsing, cursor and JSON.
 *
 * PARKADE_BENCH_EVENTS (1,000,000) and BENCH_REQUESTS (400 a case) make a quick run.
 */

const EVENTS = Number(process.env.PARKADE_BENCH_EVENTS ?? 1_000_000);
const REQUESTS = Number(process.env.BENCH_REQUESTS ?? 400);
const DAYS = 30;
const P95_AIM_MS = EVENTS > 1_000_000 ? 15 : 10;
const RATIO_AIM = 0.8;

type Case = { name: string; query: (i: number) => string };

const pick = (list: readonly string[], i: number) => list[i % list.length]!;
const event = (i: number) => (i * 7_919) % EVENTS;
const fingerprint = (i: number) => {
  const code = 1 + (i % 10);
  return code.toString(16).padStart(14, "0") + (code * 6 + (i % 6)).toString(16).padStart(2, "0");
};

const CASES: Case[] = [
  { name: "none", query: () => "" },
  { name: "source", query: (i) => `source=${pick(SOURCES, i)}` },
  { name: "eventId", query: (i) => `eventId=event-${event(i)}` },
  { name: "aggregateId", query: (i) => `aggregateId=order-${i % 1_000}` },
  { name: "eventType", query: (i) => `eventType=${pick(TYPES, i)}` },
  { name: "errorCode", query: (i) => `errorCode=${pick(CODES, i)}` },
  { name: "fingerprint", query: (i) => `fingerprint=${fingerprint(i)}` },
  { name: "status", query: (i) => `status=${pick(["PENDING", "QUEUED", "REDRIVEN", "IGNORED"], i)}` },
  { name: "status refined", query: (i) => `status=${pick(["BOUNCED", "CONFIRMED", "COOLING"], i)}` },
  { name: "from", query: (i) => `from=-${1 + (i % 700)}h` },
  { name: "from+to", query: (i) => `from=-${2 + (i % 700)}h&to=-${1 + (i % 700)}h` },
  { name: "traceId", query: (i) => `traceId=${hash(event(i))}` },
  { name: "q word", query: (i) => `q=${pick(["stock", "ledger", "warehouse failed", "nothing"], i)}` },
  { name: "q number", query: (i) => `q=${event(i)}&from=-2h` },
  { name: "tag rare", query: (i) => `tag.orderId=${event(i)}` },
  { name: "tag common", query: (i) => `tag.tenant=${pick(["acme", "globex"], i)}` },
  { name: "errorCode+status", query: (i) => `errorCode=${pick(CODES, i)}&status=${pick(["PENDING", "IGNORED"], i)}` },
  { name: "errorCode+status none", query: () => "errorCode=DESERIALIZATION_ERROR&status=IGNORED" },
  { name: "source+errorCode", query: (i) => `source=${pick(SOURCES, i)}&errorCode=${pick(CODES, i)}` },
  { name: "source+errorCode none", query: () => "source=orders&errorCode=RATE_LIMITED" },
  { name: "source+status", query: (i) => `source=${pick(SOURCES, i)}&status=${pick(["PENDING", "QUEUED"], i)}` },
  { name: "fingerprint+status", query: (i) => `fingerprint=${fingerprint(i)}&status=PENDING` },
  { name: "eventType+status", query: (i) => `eventType=${pick(TYPES, i)}&status=IGNORED` },
  { name: "eventType+errorCode", query: (i) => `eventType=${pick(TYPES, i)}&errorCode=${pick(CODES, i)}` },
  { name: "errorCode+from", query: (i) => `errorCode=${pick(CODES, i)}&from=-24h` },
  { name: "q+status", query: () => "q=stock&status=IGNORED" },
  { name: "tag+status", query: () => "tag.tenant=acme&status=PENDING" },
  { name: "tag+errorCode", query: (i) => `tag.orderId=${event(i)}&errorCode=${pick(CODES, i)}` },
  {
    name: "three codes, two states",
    query: () => "errorCode=TIMEOUT&errorCode=UNKNOWN&errorCode=AUTH_ERROR&status=PENDING&status=QUEUED",
  },
];

/** Cases that have enough rows to page deep into. */
const DEEP = ["none", "source", "errorCode", "status", "fingerprint", "errorCode+status", "tag common", "q word"];
const DEPTHS = [0.25, 0.5, 0.95];

export type SearchResult = Rates & {
  events: number;
  cases: { name: string; p50Ms: number; p95Ms: number }[];
  worstP95Ms: number;
  ratio: number;
  withinBounds: boolean;
};

export async function run(): Promise<SearchResult> {
  const stack = await startBenchStack();
  const filler = createDb(stack.databaseUrl, { max: 1 });
  const deps = benchDeps(stack.databaseUrl);
  try {
    const filledMs = await timed(() => fillStore(filler, { events: EVENTS, days: DAYS }));
    console.log(`search: ${EVENTS} events over ${DAYS} days, filled in ${Math.round(filledMs / 1000)} s`);
    setDeps(deps);
    const cases = await measureCases();
    const rates = await compareRates(deps.lists, stack.databaseUrl);
    const worstP95Ms = Math.max(...cases.map((one) => one.p95Ms));
    const ratio = rates.api / rates.pg;
    console.log(`search worst p95 ${worstP95Ms.toFixed(1)} ms (aim <= ${P95_AIM_MS})`);
    console.log(
      `search ratio ${ratio.toFixed(3)} of the same SQL through pg alone (aim >= ${RATIO_AIM}): ${Math.round(rates.api)}/s against ${Math.round(rates.pg)}/s`,
    );
    console.log(
      `search processor time of a request, this process and PostgreSQL: ${Math.round(rates.apiCpuUs)} us against ${Math.round(rates.pgCpuUs)} us: on a machine that does nothing else ${(rates.pgCpuUs / rates.apiCpuUs).toFixed(2)} is what the ratio can be`,
    );
    const withinBounds = worstP95Ms <= P95_AIM_MS && ratio >= RATIO_AIM;
    return { events: EVENTS, cases, worstP95Ms, ...rates, ratio, withinBounds };
  } finally {
    setDeps(null);
    await deps.close();
    await filler.end();
    await stack.stop();
  }
}

function hash(n: number): string {
  return createHash("md5").update(String(n)).digest("hex");
}

const context = { params: Promise.resolve({}) };

/** One page. Its bytes are made when the handler answers; a client's work with them is not measured. */
async function list(query: string): Promise<void> {
  const response = await events.GET(new Request(`http://localhost:3000/api/v1/events?${query}`), context);
  if (!response.ok) throw new Error(`${query}: ${await response.text()}`);
}

async function measureCases(): Promise<SearchResult["cases"]> {
  const results: SearchResult["cases"] = [];
  for (const { name, query } of CASES) results.push(await measure(name, query));
  for (const name of DEEP) {
    const { query } = CASES.find((one) => one.name === name)!;
    for (const depth of DEPTHS) {
      const cursors = cursorsAt(query, depth);
      results.push(await measure(`${name} at ${depth * 100} %`, (i) => cursors[i % cursors.length]!));
    }
  }
  return results;
}

/** Queries that start at a share of the store's age: the cursor is what the page before would have given. */
function cursorsAt(query: (i: number) => string, depth: number): string[] {
  return Array.from({ length: 10 }, (_, i) => {
    const text = query(i);
    const atMs = Date.now() - (depth + i / 1_000) * DAYS * 86_400_000;
    const id = uuidv7LowerBound(atMs)
      .replace(/^(.{14})0/, "$17")
      .replace(/^(.{19})0/, "$18");
    const cursor = encodeCursor({ id, towards: "older" }, fromSearchParams(new URLSearchParams(text)));
    return `${text}&cursor=${cursor}`;
  });
}

async function measure(name: string, query: (i: number) => string): Promise<SearchResult["cases"][number]> {
  // Plans are cached per connection after a few calls: the bench measures a server that has run for a while.
  for (let i = 0; i < 30; i++) await list(query(i));
  const times: number[] = [];
  for (let i = 0; i < REQUESTS; i++) times.push(await timed(() => list(query(i))));
  const result = { name, p50Ms: percentile(times, 0.5), p95Ms: percentile(times, 0.95) };
  console.log(
    `search ${name.padEnd(28)} p50 ${result.p50Ms.toFixed(2).padStart(7)} ms  p95 ${result.p95Ms.toFixed(2).padStart(7)} ms`,
  );
  return result;
}

/** Four callers at a time, the same requests: through the route, and its statements as the route sent them through `pg`. */
const CALLERS = 4;
const SECONDS = Number(process.env.BENCH_SECONDS ?? 8);

async function compareRates(db: Db, url: string): Promise<Rates> {
  const query = (i: number) => `errorCode=${pick(CODES, i)}&status=PENDING`;
  const sent = await recorded(db, () => list(query(0)));
  // The same plans as the console has: the ratio measures the layers above them.
  const onConnect = (client: pg.ClientBase) => client.query("set plan_cache_mode = force_generic_plan");
  const pool = new pg.Pool({ connectionString: url, max: 10, ...{ onConnect } });
  // The server may end an idle connection before its close arrives.
  pool.on("error", () => undefined);
  const plain = async (i: number) => {
    for (const { name, text, values } of sent) {
      const own = values.map((value) => (Array.isArray(value) && value[0] === CODES[0] ? [pick(CODES, i)] : value));
      await pool.query({ name, text, values: own });
    }
  };
  try {
    const rates: Rates = { api: 0, pg: 0, apiCpuUs: 0, pgCpuUs: 0 };
    // In turns, so that delays of the machine affect both.
    for (let turn = 0; turn < TURNS; turn++) {
      const api = await rate((i) => list(query(i)));
      const pure = await rate(plain);
      rates.api += api.perSecond / TURNS;
      rates.pg += pure.perSecond / TURNS;
      rates.apiCpuUs += api.cpuUs / TURNS;
      rates.pgCpuUs += pure.cpuUs / TURNS;
    }
    return rates;
  } finally {
    await pool.end();
  }
}

const TURNS = 3;

/** Requests per second, and processor time of one request, ours and the server's together. */
type Rates = { api: number; pg: number; apiCpuUs: number; pgCpuUs: number };

type Sent = { text: string; values: unknown[]; name: string | undefined };

/** All statements that a call sends, in their order, also those of its transactions. */
async function recorded(db: Db, call: () => Promise<unknown>): Promise<Sent[]> {
  const { query, transaction } = db;
  const sent: Sent[] = [];
  const noting = (send: Queryable["query"]) =>
    ((text: string, values: unknown[] = [], options?: { name?: string }) => {
      sent.push({ text, values, name: options?.name });
      return send(text, values, options);
    }) as Queryable["query"];
  db.query = noting(query);
  db.transaction = (work, options) => transaction((tx) => work({ ...tx, query: noting(tx.query) }), options);
  await call();
  Object.assign(db, { query, transaction });
  return sent;
}

async function rate(call: (i: number) => Promise<unknown>): Promise<{ perSecond: number; cpuUs: number }> {
  let done = 0;
  const cpuMs = () => [...cpuByLabel(() => "all").values()].reduce((sum, ms) => sum + ms, 0);
  const startedCpuMs = cpuMs();
  const startedMs = performance.now();
  const untilMs = startedMs + (SECONDS * 1000) / TURNS;
  const caller = async (start: number) => {
    for (let i = start; performance.now() < untilMs; i += CALLERS) {
      await call(i);
      done++;
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, (_, start) => caller(start)));
  const perSecond = (done / (performance.now() - startedMs)) * 1000;
  return { perSecond, cpuUs: ((cpuMs() - startedCpuMs) * 1000) / done };
}
