import { CODE_FLOW, FLOW_KINDS, type FlowTable, GROUP_FLOW } from "@/lib/observe/flow-tables.sql";
import { foldRollups } from "@/lib/observe/rollups/fold-rollups.write";
import type { Db, Tx } from "@/lib/platform/database/db";
import { uuidv7LowerBound } from "@/lib/platform/ids";
import { rollupDrift } from "@/lib/testing/rollup-drift";
import {
  addGroups,
  addSources,
  CODES,
  fillText,
  fillValues,
  groupLevelsOf,
  levelsOf,
  SOURCES,
  type StoreShape,
  type StoreSize,
} from "./event-store";

/**
 * A store of any size in all tables that a park fills: 20 sources, the largest with a fifth of the events; 200 error codes
 * by Zipf's law, the first ten from all sources, the others from three at the most; ten events in an aggregate; random event
 * ids; one event in 50 is settled. The rollups are a full count.
 */
export function scaleShape(events: number): StoreShape {
  return {
    sources: [...SOURCES, ...numbered("source", 16)],
    codes: [...CODES, ...numbered("RULE", 190)],
    weights: Array.from({ length: 200 }, (_, rank) => 1 / (rank + 1)),
    source: `case when code = 7 then 2 + floor(19 * power((g / 64 % 1000) / 1000.0, 2))::int
                  when code <= 10 then 1 + floor(20 * power((g / 64 % 1000) / 1000.0, 2))::int
                  else 1 + (code * 7 + g / 64 % (1 + code % 3)) % 20 end`,
    status: `case when code = 9 then 'PENDING' when r % 1000 < 10 then 'REDRIVEN' when r % 1000 < 20 then 'IGNORED'
                  when r % 1000 = 20 then 'QUEUED' else 'PENDING' end`,
    eventId: "md5('event-' || n)",
    aggregates: Math.ceil(events / 10),
    payload: `'{"orderId":' || n || ',"note":"' || repeat('x', 180) || '"}'`,
  };
}

const numbered = (name: string, count: number) => Array.from({ length: count }, (_, i) => `${name}_${i + 11}`);

const HOUR_MS = 3_600_000;
/** A statement of more would sort on disk. */
const PART_EVENTS_MAX = 350_000;
const FILLERS = 2;

/** Two connections fill different hours. `db` needs as many. */
export async function fillScale(db: Db, { events, days }: StoreSize): Promise<void> {
  const shape = scaleShape(events);
  const toMs = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
  const fromMs = toMs - days * 24 * HOUR_MS;
  await addSources(db, shape.sources, fromMs);
  const hours = [24, 12, 8, 6, 4, 3, 2].find((width) => (events / days / 24) * width <= PART_EVENTS_MAX) ?? 1;
  const parts = (days * 24) / hours;
  const eventAt = (part: number) => Math.ceil((events * part) / parts);
  const remaining = Array.from({ length: parts }, (_, part) => part);
  const fill = async () => {
    for (let part = remaining.shift(); part !== undefined; part = remaining.shift()) {
      const startMs = fromMs + part * hours * HOUR_MS;
      const endMs = startMs + hours * HOUR_MS;
      const range = { events, from: eventAt(part), to: eventAt(part + 1), fromMs, toMs };
      await inBulk(db, async (tx) => {
        await tx.run(fillText(shape, AUDIT), fillValues(shape, range));
        await tx.run(COUNT, [uuidv7LowerBound(startMs), uuidv7LowerBound(endMs), endMs]);
      });
    }
  };
  await Promise.all(Array.from({ length: FILLERS }, fill));
  await addGroups(db);
  // At once: deltas of each part would leave a table of mostly free space.
  await inBulk(db, (tx) => tx.run(groupLevelsOf("dlq_events")));
  await foldRollups(db);
  await Promise.all(WIDER_FLOW.map((texts) => inBulk(db, (tx) => runEach(tx, texts))));
  await vacuum(db);
}

/** The differences between the rollups and a full count: empty when they are exact. */
export function scaleDrift(db: Db): Promise<unknown[]> {
  return inBulk(db, rollupDrift);
}

async function runEach(tx: Tx, texts: readonly string[]): Promise<void> {
  for (const text of texts) await tx.run(text);
}

function inBulk<T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T> {
  const withMemory = async (tx: Tx) => {
    await tx.run("set local synchronous_commit = off; set local work_mem = '128MB'");
    return work(tx);
  };
  return db.transaction(withMemory, { statementTimeoutMs: 3_600_000 });
}

/** One table at a time, so that no statement lasts longer than a connection waits. */
async function vacuum(db: Db): Promise<void> {
  const tables = await db.query<{ name: string }>(
    `select oid::regclass::text as name from pg_class
      where relkind in ('r', 'p') and not relispartition and relnamespace = 'public'::regnamespace`,
  );
  for (const { name } of tables) await db.run(`vacuum analyze ${name}`);
}

/** CTEs behind those of the events: an audit entry for each thousand of them, as ingest writes it. */
const AUDIT = `, batches as (
  select min(n) / 1000 as batch, min(ms) as ms, count(*)::int as n,
         (lpad(to_hex(min(ms)), 12, '0') || '7000a' || lpad(to_hex(min(n)), 15, '0'))::uuid as id
    from filled group by n / 1000
), entries as (
  insert into audit_entries (id, at, actor, action, subject_kind, after, count)
  select id, to_timestamp(ms / 1000.0), 'api', 'event.parked', 'event', '{"status": "PENDING"}', n from batches
), subjects as (
  insert into audit_subjects (event_id, entry_id)
  select f.id, b.id from filled f join batches b on b.batch = f.n / 1000
)`;

const KEYS = "source_id, error_code";
const GROUP_KEYS = `${KEYS}, fingerprint`;
const FINEST = GROUP_FLOW.at(-1)!;

/** Counts the events of [$1, $2) by id. Those that are settled left half an hour after they came, and before the time $3. */
const COUNT = `
with part as materialized (
  select ${GROUP_KEYS}, status, first_seen, date_trunc('minute', first_seen, 'UTC') as at
    from dlq_events where id >= $1::uuid and id < $2::uuid
), levels as (
  ${levelsOf("part")}
)
insert into ${FINEST.table} (at, ${GROUP_KEYS}, parked, redriven, ignored)
select at, ${GROUP_KEYS}, sum(parked), sum(redriven), sum(ignored) from (
    select at, ${GROUP_KEYS}, 1 as parked, 0 as redriven, 0 as ignored from part
    union all
    select least(at + interval '30 minutes', to_timestamp($3::float8 / 1000) - interval '1 minute'), ${GROUP_KEYS}, 0,
           (status = 'REDRIVEN')::int, (status = 'IGNORED')::int
      from part where status in ('REDRIVEN', 'IGNORED')) moved
 group by at, ${GROUP_KEYS} order by fingerprint, at`;

/** Each further table of the flow, from the one of the next smaller width. The two can run at the same time. */
const WIDER_FLOW = [
  widerThan(GROUP_FLOW.toReversed(), GROUP_KEYS),
  widerThan([FINEST, ...CODE_FLOW.toReversed()], KEYS),
];

function widerThan(tables: readonly FlowTable[], keys: string): string[] {
  const sums = FLOW_KINDS.map((kind) => `sum(${kind})`).join(", ");
  return tables.slice(1).map(
    ({ table, widthMs }, index) => `
      insert into ${table} (at, ${keys}, ${FLOW_KINDS.join(", ")})
      select date_bin('${widthMs / 1000} s', at, 'epoch'), ${keys}, ${sums} from ${tables[index]!.table}
       group by 1, ${keys} order by ${keys === KEYS ? "" : "fingerprint, "}1`,
  );
}
