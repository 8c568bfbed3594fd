import { rollupOf } from "@/lib/observe/rollups/rollup.write";
import { createDb, type Db } from "@/lib/platform/database/db";
import { fillStore } from "./event-store";
import { cpuByLabel } from "./processes";
import { startBenchStack } from "./stack";

/**
 * The cost of a change of an event's state, in bytes of the log and in processor time of the server, against the same
 * changes of the same events in a copy of the table as it was first released: wide, with status in eight indexes.
 *
 * PARKADE_BENCH_EVENTS (300,000) and PARKADE_BENCH_MOVES (20,000, for each step) make a quick run.
 */

const EVENTS = Number(process.env.PARKADE_BENCH_EVENTS ?? 300_000);
const MOVES = Number(process.env.PARKADE_BENCH_MOVES ?? 20_000);
const BATCH = 1_000;
const RATIO_AIM = 0.25;

/** The first release: columns in their order of then, and each of its indexes with a day's partition of its own. */
const WIDE = `
  create table wide_events (
    id uuid not null, source_id uuid not null, event_id text not null, aggregate_type text, aggregate_id text,
    version bigint, event_type text, trace_id text, error_code text not null, fingerprint text not null,
    status text not null default 'PENDING', attempts integer not null default 0, bounces integer not null default 0,
    redrives integer not null default 0, failures integer not null default 0, first_seen timestamptz not null,
    failed_at timestamptz, last_attempt_at timestamptz, last_error_code text, last_error text, last_operator text,
    redrive_at timestamptz, confirmed_at timestamptz, cooldown_until timestamptz, bounced_redrive uuid,
    payload_bytes integer not null, tags jsonb not null default '{}', primary key (id)
  ) partition by range (id);
  create index on wide_events (status, id);
  create index on wide_events (error_code, status, id);
  create index on wide_events (fingerprint, status, id);
  create index on wide_events (source_id, status, id);
  create index on wide_events (source_id, error_code, status, id);
  create index on wide_events (event_type, status, id) where event_type is not null;
  create index on wide_events (id) where bounces > 0;
  create index on wide_events (id) where cooldown_until is not null;
  create index on wide_events (id) where confirmed_at is not null;
  create index on wide_events (aggregate_id, id) where aggregate_id is not null;
  create index on wide_events (trace_id, id) where trace_id is not null;
  create index on wide_events (redrive_at) where status = 'REDRIVEN' and confirmed_at is null;
  create index on wide_events using gin (tags jsonb_path_ops);
  create index on wide_events (aggregate_id, source_id, coalesce(aggregate_type, ''), version, id)
    where status in ('PENDING', 'IGNORED') and aggregate_id is not null;
  create index on wide_events (aggregate_id, source_id, coalesce(aggregate_type, ''), version)
    where status = 'REDRIVEN' and confirmed_at is not null and aggregate_id is not null and version is not null;
  do $$
  declare day record;
  begin
    for day in select c.relname as name, pg_get_expr(c.relpartbound, c.oid) as bounds
                 from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'dlq_events'::regclass loop
      execute format('create table wide_%s partition of wide_events %s', day.name, day.bounds);
    end loop;
  end $$;
  insert into wide_events (id, source_id, event_id, aggregate_type, aggregate_id, version, event_type, trace_id, error_code,
                           fingerprint, status, attempts, bounces, first_seen, last_error_code, last_error, payload_bytes, tags)
  select id, source_id, event_id, aggregate_type, aggregate_id, version, event_type, trace_id, error_code,
         fingerprint, status, attempts, bounces, first_seen, last_error_code, last_error, payload_bytes, tags
    from dlq_event_rows`;

const TABLES = { narrow: "dlq_events", wide: "wide_events" } as const;
type Table = keyof typeof TABLES;

/** Frozen and cancelled, ignored and released, frozen and delivered. A bounce is an arrival: it changes more than the state. */
const STEPS = [
  { from: "PENDING", to: "QUEUED", set: "last_operator = 'maria'" },
  { from: "QUEUED", to: "PENDING", set: "last_operator = 'maria'" },
  { from: "PENDING", to: "IGNORED", set: "last_operator = 'maria'" },
  { from: "IGNORED", to: "PENDING", set: "last_operator = 'maria', redrives = 0" },
  { from: "PENDING", to: "QUEUED", set: "last_operator = 'maria'" },
  {
    from: "QUEUED",
    to: "REDRIVEN",
    set: "redrives = redrives + 1, attempts = attempts + 1, redrive_at = now(), last_attempt_at = now()",
  },
] as const;

type Cost = { bytes: number; cpuMs: number; changes: number };
export type MovesResult = { name: string; walRatio: number; cpuRatio: number; met: boolean }[];

export async function run(): Promise<MovesResult> {
  const stack = await startBenchStack();
  const db = createDb(stack.databaseUrl, { max: 1, statementTimeoutMs: 0 });
  try {
    await fillStore(db, { events: EVENTS, days: 30 });
    await db.transaction((tx) => tx.run(WIDE), { statementTimeoutMs: 0 });
    await db.run("vacuum analyze wide_events");
    return [
      await compare(db, "neighbours", "id desc"),
      // In the order of a hash: hardly two of a page.
      await compare(db, "scattered", "hashtext(event_id)"),
    ];
  } finally {
    await db.end();
    await stack.stop();
  }
}

async function compare(db: Db, name: string, order: string): Promise<MovesResult[number]> {
  const rows = await db.query<{ id: string }>(
    `select id from dlq_events where status = 'PENDING' order by ${order} limit ${MOVES}`,
  );
  const ids = rows.map((row) => row.id);
  const costs: Record<Table, Cost> = {
    narrow: { bytes: 0, cpuMs: 0, changes: 0 },
    wide: { bytes: 0, cpuMs: 0, changes: 0 },
  };
  for (const table of ["wide", "narrow"] as const) {
    // The log then holds each page whole at its first change, once for all steps.
    await db.run("checkpoint");
    for (const step of STEPS) await move(db, table, step, ids, costs[table]);
  }
  const per = (table: Table, of: "bytes" | "cpuMs") => costs[table][of] / costs[table].changes;
  const walRatio = per("narrow", "bytes") / per("wide", "bytes");
  const cpuRatio = per("narrow", "cpuMs") / per("wide", "cpuMs");
  console.log(
    `moves ${name.padEnd(10)} log ${Math.round(per("narrow", "bytes"))} of ${Math.round(per("wide", "bytes"))} bytes a change: ratio ${walRatio.toFixed(3)}; ` +
      `processor ${(per("narrow", "cpuMs") * 1000).toFixed(0)} of ${(per("wide", "cpuMs") * 1000).toFixed(0)} us: ratio ${cpuRatio.toFixed(3)} (aim <= ${RATIO_AIM})`,
  );
  return { name, walRatio, cpuRatio, met: walRatio <= RATIO_AIM && cpuRatio <= RATIO_AIM };
}

async function move(db: Db, table: Table, step: (typeof STEPS)[number], ids: string[], cost: Cost): Promise<void> {
  const before = { lsn: await logPosition(db), cpuMs: serverCpuMs() };
  for (let from = 0; from < ids.length; from += BATCH) {
    const [row] = await db.query<{ n: number }>(
      `with moved as (
         update ${TABLES[table]} e set status = '${step.to}', ${step.set}
          where id = any($1::uuid[]) and status is not distinct from '${step.from}'
         returning e.id, e.source_id, e.error_code, e.fingerprint, e.first_seen, '${step.from}' as old_status, '${step.to}' as new_status
       )${rollupOf("moved")} select count(*) as n from moved`,
      [ids.slice(from, from + BATCH)],
      { name: `${table}-${step.from}-${step.to}` },
    );
    cost.changes += row!.n;
  }
  cost.cpuMs += serverCpuMs() - before.cpuMs;
  cost.bytes += (await logPosition(db)) - before.lsn;
}

async function logPosition(db: Db): Promise<number> {
  const [row] = await db.query<{ at: number }>("select (pg_current_wal_insert_lsn() - '0/0')::bigint as at");
  return row!.at;
}

const serverCpuMs = () => cpuByLabel(({ name }) => name).get("postgres") ?? 0;
