import { createHash, randomUUID } from "node:crypto";
import { setDeps } from "@/app/_server/deps";
import { createDb, type Db } from "@/lib/platform/database/db";
import { benchDeps } from "./deps";
import { printTimes, type Times, timed, worstOf } from "./figures";
import { eventChunks, eventLine, ingestAll } from "./ingest";
import { type ListedStore, listAimMs, measureLists } from "./lists";
import { fillScale, scaleDrift, scaleShape } from "./scale-store";
import { type BenchStack, startBenchStack } from "./stack";
import { measureStatistic, measureStatistics, STATISTIC_AIM_MS } from "./statistics";
import { bytesByTable } from "./table-bytes";

/**
 * What does not stay as it is when the store grows: lists, statistics, ingest and bytes for each event, at two sizes or more in
 * the same run. Each size has a server of its own, and ingest takes turns on them, so that delays of the machine affect all.
 *
 * BENCH_SCALE (1000000,10000000) names the sizes, the smallest first: ten million events take 20 GB. BENCH_REQUESTS
 * (200 a list, a tenth for a statistic) and BENCH_INGEST (60,000 events a turn) make a quick run.
 */

const SIZES = (process.env.BENCH_SCALE ?? "1000000,10000000").split(",").map(Number);
const REQUESTS = Number(process.env.BENCH_REQUESTS ?? 200);
const STATISTIC_REQUESTS = REQUESTS / 10;
const INGESTED = Number(process.env.BENCH_INGEST ?? 60_000);
const DAYS = 30;
const INGEST_AIM = 0.8;
const INGEST_TURNS = 5;

type Store = { events: number; stack: BenchStack; filler: Db; deps: ReturnType<typeof benchDeps> };

type Figures = {
  events: number;
  worstList: Times;
  listAimMs: number;
  worstStatistic: Times;
  /** Groups of a window count its events. */
  windowGroups: Times[];
  bytes: Record<string, number>;
};

export async function run() {
  const stores: Store[] = [];
  try {
    for (const events of SIZES) {
      stores.push(await openStore(events));
      await fill(stores.at(-1)!);
    }
    const figures: Figures[] = [];
    for (const store of stores) figures.push(await measureStore(store));
    const ingest = await compareIngest(stores);
    const ratios = figures.map((one, i) => compare(figures[0]!, one, ingest[i]! / ingest[0]!));
    const withinBounds = figures.every(isWithin) && ratios.every(({ ingest: ratio }) => ratio >= INGEST_AIM);
    return { figures, ingestPerSecond: ingest, ratios, withinBounds };
  } finally {
    setDeps(null);
    for (const { deps, filler, stack } of stores) {
      await deps.close();
      await filler.end();
      await stack.stop();
    }
  }
}

async function openStore(events: number): Promise<Store> {
  const stack = await startBenchStack();
  const filler = createDb(stack.databaseUrl, { max: 3 });
  return { events, stack, filler, deps: benchDeps(stack.databaseUrl) };
}

async function fill({ events, filler }: Store): Promise<void> {
  const ms = await timed(() => fillScale(filler, { events, days: DAYS }));
  console.log(`scale ${events}: filled in ${(ms / 1000).toFixed(0)} s`);
  const drift = await scaleDrift(filler);
  if (drift.length > 0) throw new Error(`rollups differ from a full count: ${JSON.stringify(drift.slice(0, 3))}`);
}

async function measureStore({ events, filler, deps }: Store): Promise<Figures> {
  const label = `scale ${events}`;
  setDeps(deps);
  const { sources, codes } = scaleShape(events);
  const eventId = (n: number) => createHash("md5").update(`event-${n}`).digest("hex");
  const store: ListedStore = { events, days: DAYS, sources, codes, eventId };
  const worstList = worstOf(await measureLists(label, store, REQUESTS));
  const [group] = await filler.query<{ fingerprint: string }>(
    "select fingerprint from dlq_group_levels group by 1 order by sum(n) desc limit 1",
  );
  const names = { source: sources[0]!, errorCode: codes[0]!, fingerprint: group!.fingerprint };
  const statistics = await measureStatistics(names, STATISTIC_REQUESTS);
  for (const one of statistics.toSorted((a, b) => b.p95Ms - a.p95Ms).slice(0, 12)) printTimes(label, one);
  const windowGroups = await measureWindowGroups(label);
  const bytes = await bytesByTable(filler, { events });
  return {
    events,
    worstList,
    listAimMs: listAimMs(events),
    worstStatistic: worstOf(statistics),
    windowGroups,
    bytes,
  };
}

async function measureWindowGroups(label: string): Promise<Times[]> {
  const queries = ["from=-1h", "from=-24h", "from=-7d"];
  const results: Times[] = [];
  for (const query of queries) {
    results.push(await measureStatistic({ route: "groups", name: query, query }, STATISTIC_REQUESTS));
    printTimes(label, results.at(-1)!);
  }
  return results;
}

/** Events per second of each store, in turns; the first turn is not counted: it fills the caches. */
async function compareIngest(stores: readonly Store[]): Promise<number[]> {
  const totals = stores.map(() => 0);
  for (let turn = 0; turn <= INGEST_TURNS; turn++) {
    const chunks = eventChunks(turn * INGESTED, INGESTED, (n) => eventLine(n, 380, randomUUID()));
    for (const [index, { deps }] of stores.entries()) {
      setDeps(deps);
      const ms = await timed(() => ingestAll(chunks, INGESTED));
      if (turn > 0) totals[index]! += (INGESTED / ms) * 1000;
    }
  }
  return totals.map((total) => total / INGEST_TURNS);
}

type Ratios = { events: number; lists: number; statistics: number; bytes: number; ingest: number };

/** Prints the figures of a size, and returns them as ratios to the smallest one's. */
function compare(smallest: Figures, one: Figures, ingest: number): Ratios {
  const { events, worstList, worstStatistic } = one;
  const lists = worstList.p95Ms / smallest.worstList.p95Ms;
  const statistics = worstStatistic.p95Ms / smallest.worstStatistic.p95Ms;
  const [bytes, bytesBefore] = [one, smallest].map((of) => Object.values(of.bytes).reduce((sum, n) => sum + n, 0));
  const worst = ({ name, p95Ms }: Times, aimMs: number) => `${p95Ms.toFixed(1)} ms (aim <= ${aimMs}; ${name})`;
  console.log(
    `scale ${events}: worst list ${worst(worstList, one.listAimMs)}, ${lists.toFixed(2)} of the smallest size`,
  );
  console.log(
    `scale ${events}: worst statistic ${worst(worstStatistic, STATISTIC_AIM_MS)}, ${statistics.toFixed(2)} of the smallest size`,
  );
  console.log(`scale ${events}: ingest ${ingest.toFixed(3)} of the smallest size (aim >= ${INGEST_AIM})`);
  console.log(`scale ${events}: ${bytes} bytes an event: ${JSON.stringify(one.bytes)}`);
  return { events, lists, statistics, bytes: bytes! / bytesBefore!, ingest };
}

function isWithin({ worstList, listAimMs: aimMs, worstStatistic }: Figures): boolean {
  return worstList.p95Ms <= aimMs && worstStatistic.p95Ms <= STATISTIC_AIM_MS;
}
