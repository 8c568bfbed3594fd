import { setDeps } from "@/app/_server/deps";
import * as age from "@/app/(observe)/api/v1/stats/age/route";
import * as flow from "@/app/(observe)/api/v1/stats/flow/route";
import * as markers from "@/app/(observe)/api/v1/stats/markers/route";
import * as success from "@/app/(observe)/api/v1/stats/redrive-success/route";
import * as size from "@/app/(observe)/api/v1/stats/size/route";
import * as top from "@/app/(observe)/api/v1/stats/top-errors/route";
import { ensurePartitions } from "@/lib/intake/partitions.write";
import { foldRollups } from "@/lib/observe/rollups/fold-rollups.write";
import { createDb, type Db } from "@/lib/platform/database/db";
import { benchDeps } from "./deps";
import { CODES, fillStore, SOURCES } from "./event-store";
import { percentile, timed } from "./figures";
import { startBenchStack } from "./stack";

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
const P95_AIM_MS = 25;

const ROUTES = {
  size: size.GET,
  flow: flow.GET,
  age: age.GET,
  "redrive-success": success.GET,
  "top-errors": top.GET,
  markers: markers.GET,
};
const WINDOWS = ["", "from=-1h", "from=-6h", "from=-24h", "from=-7d", "from=-30d"];
const FILTERS = [
  ["", ""],
  ["source", `source=${SOURCES[0]}`],
  ["errorCode", `errorCode=${CODES[1]}`],
  ["fingerprint", ""],
] as const;

type Case = { name: string; p50Ms: number; p95Ms: number };
type Phase = { cases: Case[]; worstP95Ms: number; countMs: number; ratio: number };

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
    const withinBounds = full.worstP95Ms <= P95_AIM_MS && afterBurst.worstP95Ms <= P95_AIM_MS;
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
  select s.id as source_id, ($3::text[])[1 + n % 10] as error_code, lpad(to_hex(1 + n % 10), 14, '0') || lpad(to_hex(n % 60), 2, '0') as fingerprint
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
  const cases: Case[] = [];
  for (const [route, handler] of Object.entries(ROUTES)) {
    for (const window of WINDOWS) {
      for (const [name, filter] of FILTERS) {
        if (!takes(route, name)) continue;
        const query = [window, name === "fingerprint" ? `fingerprint=${group!.fingerprint}` : filter]
          .filter(Boolean)
          .join("&");
        cases.push(await measure(`${route} ${window || "default"} ${name}`, () => ask(handler, route, query)));
      }
    }
  }
  const count = await measure("count of events", () =>
    db.query("select count(*) from dlq_events where error_code = $1 and first_seen > now() - interval '1 day'", [
      CODES[1],
    ]),
  );
  const worst = cases.reduce((left, right) => (right.p95Ms > left.p95Ms ? right : left));
  const ratio = worst.p95Ms / count.p95Ms;
  for (const { name, p50Ms, p95Ms } of cases.toSorted((a, b) => b.p95Ms - a.p95Ms).slice(0, 12)) {
    console.log(
      `charts ${phase}: ${name.padEnd(36)} p50 ${p50Ms.toFixed(1).padStart(6)} ms  p95 ${p95Ms.toFixed(1).padStart(6)} ms`,
    );
  }
  console.log(
    `charts ${phase}: worst p95 ${worst.p95Ms.toFixed(1)} ms (aim <= ${P95_AIM_MS}), ${ratio.toFixed(3)} of counting a day's events of one code`,
  );
  return { cases, worstP95Ms: worst.p95Ms, countMs: count.p95Ms, ratio };
}

function takes(route: string, filter: string): boolean {
  if (route === "markers") return filter === "";
  return filter !== "fingerprint" || (route !== "age" && route !== "top-errors");
}

async function ask(handler: typeof size.GET, route: string, query: string): Promise<void> {
  const answer = await handler(new Request(`http://localhost:3000/api/v1/stats/${route}?${query}`), {
    params: Promise.resolve({}),
  });
  if (!answer.ok) throw new Error(`${route}?${query}: ${await answer.text()}`);
}

async function measure(name: string, work: () => Promise<unknown>): Promise<Case> {
  for (let i = 0; i < 8; i++) await work();
  const times: number[] = [];
  for (let i = 0; i < REQUESTS; i++) times.push(await timed(work));
  return { name, p50Ms: percentile(times, 0.5), p95Ms: percentile(times, 0.95) };
}
