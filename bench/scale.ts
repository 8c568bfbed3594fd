import { randomUUID } from "node:crypto";
import { setDeps } from "@/app/_server/deps";
import { createDb, type Db } from "@/lib/platform/database/db";
import { benchDeps } from "./deps";
import { timed, worstOf } from "./figures";
import { eventChunks, eventLine, ingestAll } from "./ingest";
import { listReadings } from "./lists";
import { inTurns, type Reading, scenario } from "./scenario";
import { startBenchStack } from "./stack";
import { measureStatistic, measureStatistics } from "./statistics";
import { fillStore, storeDrift, storeShape } from "./store";

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
const INGEST_TURNS = 5;
/** The slowest statistics that are printed. */
const STATISTICS_SHOWN = 12;

type Store = { events: number; filler: Db; deps: ReturnType<typeof benchDeps> };

export const run = scenario({
  name: "scale",
  open: async (atEnd) => {
    const stores: Store[] = [];
    for (const events of SIZES) {
      const stack = await startBenchStack();
      atEnd(stack.stop);
      const filler = createDb(stack.databaseUrl, { max: 3 });
      atEnd(filler.end);
      const deps = benchDeps(stack.databaseUrl);
      atEnd(deps.close);
      stores.push({ events, filler, deps });
    }
    atEnd(() => setDeps(null));
    return stores;
  },
  fill: async (stores) => {
    for (const { events, filler } of stores) {
      await fillStore(filler, { events, days: DAYS });
      const drift = await storeDrift(filler);
      if (drift.length > 0) throw new Error(`rollups differ from a full count: ${JSON.stringify(drift.slice(0, 3))}`);
    }
  },
  async *measure(stores) {
    const worst: Reading[][] = [];
    for (const store of stores) {
      setDeps(store.deps);
      const lists: Reading[] = [];
      for await (const reading of listReadings({ events: store.events, days: DAYS }, REQUESTS)) {
        lists.push(reading);
        yield sized(store, reading);
      }
      const statistics = await statisticsOf(store);
      for (const reading of statistics) yield sized(store, reading);
      // Groups of a window count its events: it is a list's work, and has no bound.
      for (const query of ["from=-1h", "from=-24h", "from=-7d"])
        yield sized(store, await measureStatistic({ route: "groups", name: query, query }, STATISTIC_REQUESTS));
      worst.push([worstOf(lists), worstOf(statistics), await bytesOf(store)]);
      yield sized(store, worst.at(-1)!.at(-1)!);
    }
    const perSecond = await ingestOf(stores);
    for (const [index, store] of stores.entries()) {
      if (index === 0) continue;
      const smallest = (value: number) => ({ name: "at the smallest size", value });
      for (const [at, reading] of worst[index]!.entries())
        yield sized(store, {
          ...reading,
          name: `the worst: ${reading.name}`,
          baseline: smallest(worst[0]![at]!.value),
        });
      const ingest = { name: "ingest", value: perSecond[index]!, unit: "events/s" };
      yield sized(store, { ...ingest, baseline: { ...smallest(perSecond[0]!), bound: { min: 0.8 } } });
    }
  },
});

const sized = ({ events }: Store, reading: Reading): Reading => ({ ...reading, name: `${events} ${reading.name}` });

/** The slowest, the worst first. */
async function statisticsOf({ events, filler }: Store): Promise<Reading[]> {
  const { sources, codes } = storeShape(events);
  const [group] = await filler.query<{ fingerprint: string }>(
    "select fingerprint from dlq_group_levels group by 1 order by sum(n) desc limit 1",
  );
  const names = { source: sources[0]!, errorCode: codes[0]!, fingerprint: group!.fingerprint };
  const measured = await measureStatistics(names, STATISTIC_REQUESTS);
  return measured.toSorted((a, b) => b.value - a.value).slice(0, STATISTICS_SHOWN);
}

/** Of tables and their partitions, with indexes and what is stored out of line. The largest first. */
async function bytesOf({ events, filler }: Store): Promise<Reading> {
  const rows = await filler.query<{ name: string; bytes: number }>(
    `select coalesce(p.inhparent::regclass, c.oid::regclass)::text as name, sum(pg_total_relation_size(c.oid))::float8 as bytes
       from pg_class c left join pg_inherits p on p.inhrelid = c.oid
      where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace group by 1 order by 2 desc`,
  );
  const counted = rows.map(({ name, bytes }) => [name, Math.round(bytes / events)] as const).filter(([, n]) => n > 0);
  const value = counted.reduce((sum, [, n]) => sum + n, 0);
  return { name: "bytes an event", value, unit: "bytes", note: JSON.stringify(Object.fromEntries(counted)) };
}

/** Events a second of each store; the first turn fills the caches. */
async function ingestOf(stores: readonly Store[]): Promise<number[]> {
  const sides = stores.map(({ events, deps }) => {
    const ingest = async (turn: number) => {
      const chunks = eventChunks(turn * INGESTED, INGESTED, (n) => eventLine(n, 380, randomUUID()));
      setDeps(deps);
      return (INGESTED / (await timed(() => ingestAll(chunks, INGESTED)))) * 1000;
    };
    return [String(events), ingest] as const;
  });
  const measured = await inTurns({ turns: INGEST_TURNS, warm: 1 }, Object.fromEntries(sides));
  return stores.map(({ events }) => measured[String(events)]!.reduce((sum, n) => sum + n, 0) / INGEST_TURNS);
}
