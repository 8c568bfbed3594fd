import pg from "pg";
import { setDeps } from "@/app/_server/deps";
import { createDb, type Db, type Queryable } from "@/lib/platform/database/db";
import { benchDeps } from "./deps";
import { CODES, fillStore, SOURCES } from "./event-store";
import { cpuMsOfAll, type Times, timed, worstOf } from "./figures";
import { type ListedStore, list, listAimMs, measureLists, pick } from "./lists";
import { startBenchStack } from "./stack";

/**
 * The list API over a million events: p95 for each filter, for common pairs, and at depth; and its requests per second
 * against the same SQL sent through `pg` alone. The API is the route's own handler, with parsing, cursor and JSON.
 *
 * PARKADE_BENCH_EVENTS (1,000,000) and BENCH_REQUESTS (400 a case) make a quick run.
 */

const EVENTS = Number(process.env.PARKADE_BENCH_EVENTS ?? 1_000_000);
const REQUESTS = Number(process.env.BENCH_REQUESTS ?? 400);
const STORE: ListedStore = {
  events: EVENTS,
  days: 30,
  sources: SOURCES,
  codes: CODES,
  eventId: (n) => `event-${n}`,
};
const P95_AIM_MS = listAimMs(EVENTS);
const RATIO_AIM = 0.8;

export type SearchResult = Rates & {
  events: number;
  cases: Times[];
  worstP95Ms: number;
  ratio: number;
  withinBounds: boolean;
};

export async function run(): Promise<SearchResult> {
  const stack = await startBenchStack();
  const filler = createDb(stack.databaseUrl, { max: 1 });
  const deps = benchDeps(stack.databaseUrl);
  try {
    const filledMs = await timed(() => fillStore(filler, STORE));
    console.log(`search: ${EVENTS} events over ${STORE.days} days, filled in ${Math.round(filledMs / 1000)} s`);
    setDeps(deps);
    const cases = await measureLists("search", STORE, REQUESTS);
    const rates = await compareRates(deps.lists, stack.databaseUrl);
    const worstP95Ms = worstOf(cases).p95Ms;
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
  const startedCpuMs = cpuMsOfAll();
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
  return { perSecond, cpuUs: ((cpuMsOfAll() - startedCpuMs) * 1000) / done };
}
