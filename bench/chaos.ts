import { rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { createDb, type Db } from "@/lib/platform/database/db";
import { redisInstalled } from "@/lib/testing/redis";
import { auditGaps, contradictions, rollupDrift } from "@/lib/testing/rollup-drift";
import { buildAll } from "../scripts/build.ts";
import { temporaryDataFolder } from "../scripts/data-folder.ts";
import { type ChaosConsumer, PULSE, startConsumer } from "./chaos-consumer.ts";
import { nextFault } from "./chaos-faults.ts";
import { type ChaosLoad, SOURCES, type Stop, startLoad } from "./chaos-load.ts";
import { type Backend, startProduct } from "./chaos-product.ts";
import { median } from "./figures.ts";
import { randomOf } from "./random.ts";
import { type Reading, scenario } from "./scenario.ts";

/** How long faults are caused, on each backend. */
const SECONDS = Number(process.env.PARKADE_BENCH_SECONDS ?? 300);
const BACKENDS = (process.env.PARKADE_BENCH_BACKENDS ?? "redis,postgres").split(",") as Backend[];
/** The same seed makes the same load and the same faults; the machine decides at which moment of the load a fault comes. */
const SEED = Number(process.env.PARKADE_BENCH_SEED ?? Math.floor(Math.random() * 2 ** 31));

/** Broken rules that are printed. */
const BROKEN_SHOWN = 40;
/** Work goes on this soon after everything is well again. */
const RECOVERY_MS_MAX = 10_000;
/** After the last fault everything that is open must end within this. */
const QUIET_MS_MAX = Number(process.env.PARKADE_BENCH_QUIET_SECONDS ?? 240) * 1000;

/**
 * Five minutes on each backend of parks, redrives, bounces, confirmations and controls against the whole product in processes of its
 * own, while workers, web, PostgreSQL, Redis and the target are killed, frozen, stalled and cut. Then quiet, and every invariant is
 * checked. A redrive under kills alone, and the archive under kills, have their tests in the soak.
 */
export const run = scenario({
  name: "chaos",
  open: () => buildAll((line) => console.log(line)),
  async *measure() {
    for (const backend of BACKENDS) {
      if (backend === "redis" && !redisInstalled) console.log("chaos on Redis skipped: redis-server is not installed");
      else yield* chaosOn(backend);
    }
  },
});

async function* chaosOn(backend: Backend): AsyncGenerator<Reading> {
  const dir = temporaryDataFolder("chaos");
  console.log(`chaos on ${backend}, ${SECONDS} s, seed ${SEED}, logs in ${dir}`);
  const consumer = await startConsumer(SEED);
  const product = await startProduct(backend, dir);
  const db = createDb(product.databaseUrl, { max: 4 });
  const load = startLoad(product.url, consumer, randomOf(SEED));
  const stopping = new AbortController();
  let clean = false;
  try {
    await prepare(load, consumer);
    const running = load.run(stopping.signal);
    const random = randomOf(SEED + 1);
    const faults: Record<string, number> = {};
    const recoveries: number[] = [];
    const broken: unknown[] = [];
    const untilMs = performance.now() + SECONDS * 1000;
    while (performance.now() < untilMs) {
      await sleep(random.whole(500, 3_000));
      const fault = nextFault(random, product, consumer);
      const name = fault.name.replace(/-\d+/, "").replace(/ for \d+ ms| \(SIGTERM\)/, "");
      faults[name] = (faults[name] ?? 0) + 1;
      console.log(`  ${fault.name}`);
      await fault.strike();
      await product.ready(60_000);
      const recoveryMs = await load.pulse(60_000);
      if (recoveryMs === null) broken.push({ rule: "work goes on after a fault", fault: fault.name });
      else recoveries.push(recoveryMs);
      if (recoveryMs !== null && recoveryMs > RECOVERY_MS_MAX) {
        broken.push({ rule: `work goes on within ${RECOVERY_MS_MAX} ms`, fault: fault.name, recoveryMs });
      }
    }
    stopping.abort();
    await running;
    await load.settle();
    broken.push(...(await quiet(db, load)));
    broken.push(...(await check(db, load, consumer)));
    clean = broken.length === 0;
    for (const one of broken.slice(0, BROKEN_SHOWN)) console.error(JSON.stringify(one));
    const again = `again with PARKADE_BENCH_SEED=${SEED}`;
    yield { name: `${backend}: broken rules`, value: broken.length, unit: "found", bound: { max: 0 }, note: again };
    yield {
      name: `${backend}: from all well to a delivery`,
      value: Math.max(0, ...recoveries),
      unit: "ms at worst",
      bound: { max: RECOVERY_MS_MAX },
      note: `${median(recoveries)} ms in the median, after ${JSON.stringify(faults)}`,
    };
    const keys = new Set(consumer.arrivals.map((arrival) => `${arrival.source}:${arrival.eventId}`));
    const arrivals = consumer.arrivals.length;
    const requests = JSON.stringify({ ...load.counts, events: load.acked.size, arrivals });
    yield { name: `${backend}: sends beyond the first`, value: arrivals - keys.size, unit: "sends", note: requests };
  } finally {
    stopping.abort();
    await db.end();
    await product.stop();
    await consumer.stop();
    if (clean) rmSync(dir, { recursive: true, force: true });
  }
}

async function prepare(load: ChaosLoad, consumer: ChaosConsumer): Promise<void> {
  for (const name of [...SOURCES, PULSE]) {
    const config = { redriveUrl: consumer.url };
    await load.call("POST", "/api/v1/sources", { name, kind: "http", config, retryable: true });
    for (const target of [name, `${name}.slow`]) {
      await load.call("PATCH", `/api/v1/targets/${target}`, { ratePerSecond: 200, reason: "chaos" });
    }
  }
  // Short waits, so that ten minutes see many rounds; high limits, so that events go round more than three times.
  const settings = { cooldownMs: 1_000, cooldownMsMax: 4_000, quietWindowMs: 3_000, redriveLimit: 20 };
  const answer = await load.call("PATCH", "/api/v1/settings", { settings, reason: "chaos" });
  if (answer.status !== 200) throw new Error(`settings were refused: ${JSON.stringify(answer.body)}`);
}

/** Waits until nothing is open any more. What is still open then is stuck; what the brake pauses, a person resumes. */
async function quiet(db: Db, load: ChaosLoad): Promise<unknown[]> {
  const untilMs = performance.now() + QUIET_MS_MAX;
  for (;;) {
    const open = await db.query<{ id: string; state: string }>(
      `select id, state, total - delivered - failed - refused - cancelled - passed as open, pause_reason
         from redrives where state in ('PLANNING', 'PLANNED', 'RUNNING', 'PAUSED')`,
    );
    if (open.length === 0) return [];
    if (performance.now() > untilMs) return open.map((redrive) => ({ rule: "nothing stays open", redrive }));
    for (const { id, state } of open) if (state === "PAUSED") await load.resume(id);
    await sleep(500);
  }
}

async function check(db: Db, load: ChaosLoad, consumer: ChaosConsumer): Promise<unknown[]> {
  // The last fold and the last confirmation of a quiet window may be under way.
  await sleep(5_000);
  return [
    ...(await lost(db, load)),
    ...(await unannounced(db, consumer)),
    ...(await inversions(db, load, consumer)),
    ...load.stops.flatMap((stop) => sentAfter(stop, consumer)),
    ...load.faults.map((fault) => ({ rule: "no request is answered with a fault", fault })),
    ...(await rollupDrift(db)),
    ...(await auditGaps(db)),
    ...(await contradictions(db)),
  ];
}

/** Acknowledged and not there, or there twice. */
async function lost(db: Db, load: ChaosLoad): Promise<unknown[]> {
  const rows = await db.query<{ key: string; n: number }>(
    `select s.name || ':' || e.event_id as key, count(*)::int as n
       from dlq_events e join sources s on s.id = e.source_id group by 1`,
  );
  const stored = new Map(rows.map((row) => [row.key, row.n]));
  return [...load.acked.keys()]
    .filter((key) => stored.get(key) !== 1)
    .map((key) => ({ rule: "what was acknowledged is stored once", key, times: stored.get(key) ?? 0 }));
}

/** A send without its intent on record, or two sends under one intent. */
async function unannounced(db: Db, consumer: ChaosConsumer): Promise<unknown[]> {
  const rows = await db.query<{ key: string }>(
    `select s.name || ':' || e.event_id || ' ' || a.redrive_id || ' ' || a.attempt as key
       from sends a join dlq_events e on e.id = a.id join sources s on s.id = e.source_id`,
  );
  const intents = new Set(rows.map((row) => row.key));
  const seen = new Set<string>();
  return consumer.arrivals.flatMap((arrival) => {
    const key = `${arrival.source}:${arrival.eventId} ${arrival.redriveId} ${arrival.attempt}`;
    const twice = seen.has(key);
    seen.add(key);
    if (intents.has(key) && !twice) return [];
    return [{ rule: twice ? "one intent is one send" : "no send without its intent", arrival }];
  });
}

/** A version that went before an earlier one, which was parked when its redrive was asked for and was not sent yet. */
async function inversions(db: Db, load: ChaosLoad, consumer: ChaosConsumer): Promise<unknown[]> {
  const rows = await db.query<{ id: string; ms: number }>(
    "select id, (extract(epoch from created_at) * 1000)::float8 as ms from redrives",
  );
  const askedMs = new Map(rows.map((row) => [row.id, row.ms]));
  const first = new Map<string, { atMs: number; redriveId: string }>();
  for (const arrival of consumer.arrivals) {
    const key = `${arrival.source}:${arrival.eventId}`;
    if (!first.has(key)) first.set(key, arrival);
  }
  const byAggregate = Map.groupBy(
    load.acked,
    ([, event]) => `${event.source} ${event.aggregateType} ${event.aggregateId}`,
  );
  const broken: unknown[] = [];
  for (const events of byAggregate.values()) {
    const sent = events.flatMap(([key, event]) => {
      const send = first.get(key);
      return send && !load.confirmed.has(key) ? [{ key, event, ...send }] : [];
    });
    for (const earlier of sent) {
      for (const later of sent) {
        if (earlier.event.version >= later.event.version || earlier.atMs <= later.atMs) continue;
        if (earlier.event.ackedMs >= askedMs.get(later.redriveId)!) continue;
        broken.push({
          rule: "a later version never passes an earlier parked one",
          earlier: earlier.key,
          later: later.key,
        });
      }
    }
  }
  return broken;
}

/** More sends after the answer to a stop than the answer said were under way. */
function sentAfter(stop: Stop, consumer: ChaosConsumer): unknown[] {
  const after = consumer.arrivals.filter(
    (arrival) =>
      arrival.atMs > stop.fromMs &&
      arrival.atMs < stop.untilMs &&
      (arrival.redriveId === stop.redriveId || stop.eventIds.has(`${arrival.source}:${arrival.eventId}`)),
  );
  if (after.length <= stop.underWay) return [];
  const sample = after
    .slice(0, 3)
    .map((arrival) => ({ eventId: arrival.eventId, afterMs: arrival.atMs - stop.fromMs }));
  return [{ rule: `nothing is sent after ${stop.kind}`, underWay: stop.underWay, sent: after.length, sample }];
}
