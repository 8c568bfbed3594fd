import { setDeps } from "@/app/_server/deps";
import { ensurePartitions } from "@/lib/intake/partitions.write";
import { foldRollups } from "@/lib/observe/rollups/fold-rollups.write";
import { createDb, type Db } from "@/lib/platform/database/db";
import { benchDeps } from "./deps";
import { CODES, fillStore, SOURCES } from "./event-store";
import { percentiles, printTimes, type Times, worstOf } from "./figures";
import { startBenchStack } from "./stack";
import { measureStatistics, STATISTIC_AIM_MS } from "./statistics";

/**
 * Every statistics endpoint, for each window that the console offers, over a full store and again after an hour in which a
 * million events came in. The baseline is `select count(*)` over the events of one error code in the last day, in the
 * same run: what a chart would cost if it read events.
 *
 * BENCH_EVENTS (5,000,000), BENCH_BURST (1,000,000) and BENCH_REQUESTS (60 a case) make a quick run.
 */

const EVENTS = Number(process.env.BENCH_EVENTS ?? 5_000_000);
const BURST = Number(process.env.BENCH_BURST ?? 1_000_000);
const REQUESTS = Number(process.env.BENCH_REQUESTS ?? 60);

type Phase = { cases: Times[]; worstP95Ms: number; countMs: number; ratio: number };

export async function run() {
  const stack = await startBenchStack();
  const filler = createDb(stack.databaseUrl, { max: 1 });
  const deps = benchDeps(stack.databaseUrl);
  setDeps(deps);
  try {
    const startedMs = performance.now();
    await fillStore(filler, { events: EVENTS, days: 30 });
    await addHistory(filler);
    await foldRollups(filler);
    await filler.run("vacuum analyze");
    console.log(
      `charts: ${EVENTS} events over 30 days, filled in ${Math.round((performance.now() - startedMs) / 1000)} s`,
    );
    const full = await measureAll("full store", filler);
    await burst(filler);
    const afterBurst = await measureAll("after the burst", filler);
    const withinBounds = full.worstP95Ms <= STATISTIC_AIM_MS && afterBurst.worstP95Ms <= STATISTIC_AIM_MS;
    return { events: EVENTS, burst: BURST, full, afterBurst, withinBounds };
  } finally {
    setDeps(null);
    await deps.close();
    await filler.end();
    await stack.stop();
  }
}

/** The filled store knows only arrivals: a fifth of them was redriven, confirmed or bounced an hour later. */
async function addHistory(db: Db): Promise<void> {
  await db.run(
    `insert into dlq_flow (minute, source_id, error_code, fingerprint, kind, n)
     select minute + interval '1 hour', source_id, error_code, fingerprint, k.kind, n
       from dlq_flow cross join (values ('redriven'), ('confirmed'), ('bounced'), ('failed')) k (kind)
      where hashtext(fingerprint || minute || k.kind) % 5 = 0 and minute < now() - interval '1 hour'`,
  );
}

/** An hour of arrivals as ingest writes them: a statement of 1,000 events appends its deltas, and the janitor folds. */
async function burst(db: Db): Promise<void> {
  const batch = 1_000;
  await ensurePartitions(db, Date.now(), Date.now() + 86_400_000);
  for (let from = 0; from < BURST; from += batch) {
    const atMs = Date.now() - 3_600_000 + (from / BURST) * 3_600_000;
    await db.run(DELTAS, [atMs, batch, CODES]);
    if ((from / batch) % 4 === 0) await foldRollups(db);
  }
}

const DELTAS = `
with e as (
  select s.id as source_id, ($3::text[])[1 + n % 10] as error_code, lpad(to_hex(1 + n % 10), 14, '0') || lpad(to_hex(n / 10 % 6), 2, '0') as fingerprint
    from generate_series(1, $2::int) n join sources s on s.id = ('00000000-0000-7000-8000-00000000000' || 1 + n % 4)::uuid
), levels as (
  insert into dlq_levels (source_id, error_code, status, hour, n)
  select source_id, error_code, 'PENDING', date_trunc('hour', to_timestamp($1::float8 / 1000), 'UTC'), count(*) from e group by 1, 2
), groups as (
  insert into dlq_group_levels (fingerprint, source_id, status, n)
  select fingerprint, source_id, 'PENDING', count(*) from e group by 1, 2
)
insert into dlq_flow (minute, source_id, error_code, fingerprint, kind, n)
select date_trunc('minute', to_timestamp($1::float8 / 1000), 'UTC'), source_id, error_code, fingerprint, 'parked', count(*)
  from e group by 2, 3, 4`;

async function measureAll(phase: string, db: Db): Promise<Phase> {
  const [group] = await db.query<{ fingerprint: string }>("select fingerprint from dlq_groups order by 1 limit 1");
  const names = { source: SOURCES[0]!, errorCode: CODES[1]!, fingerprint: group!.fingerprint };
  const cases = await measureStatistics(names, REQUESTS);
  const count = await percentiles("count of events", { warm: 8, times: REQUESTS }, () =>
    db.query("select count(*) from dlq_events where error_code = $1 and first_seen > now() - interval '1 day'", [
      CODES[1],
    ]),
  );
  const worst = worstOf(cases);
  const ratio = worst.p95Ms / count.p95Ms;
  for (const one of cases.toSorted((a, b) => b.p95Ms - a.p95Ms).slice(0, 12)) printTimes(`charts ${phase}:`, one);
  console.log(
    `charts ${phase}: worst p95 ${worst.p95Ms.toFixed(1)} ms (aim <= ${STATISTIC_AIM_MS}), ${ratio.toFixed(3)} of counting a day's events of one code`,
  );
  return { cases, worstP95Ms: worst.p95Ms, countMs: count.p95Ms, ratio };
}
