import { createHash } from "node:crypto";
import { ensurePartitions } from "@/lib/intake/partitions.write";
import { foldRollups } from "@/lib/observe/rollups/fold-rollups.write";
import { LAST_PLACE, LINE_COLUMNS, linesOf } from "@/lib/order/line.sql";
import type { Db, Tx } from "@/lib/platform/database/db";
import { uuidv7LowerBound } from "@/lib/platform/ids";
import { GROUPING_VERSION } from "@/lib/selection/aliases.sql";
import {
  ARRIVAL_KINDS,
  CODE_FLOW,
  FLOW_KINDS,
  type FlowTable,
  GROUP_ARRIVALS,
  GROUP_FLOW,
  SOURCE_FLOW,
} from "@/lib/states/flow-tables.sql";
import { dropIndexes } from "@/lib/testing/drop-indexes";
import { rollupDrift } from "@/lib/testing/rollup-drift";

export type StoreSize = {
  events: number;
  /** How many days back they reach. */
  days: number;
};

/** The events of a store. SQL is over `n` (0 and on), `code` (1 and on), and the random `g` and `r` (0 to 1,048,575). */
type StoreShape = {
  sources: readonly string[];
  codes: readonly string[];
  /** The share of each error code. */
  weights: readonly number[];
  /** SQL: the number of the source, 1 and on. */
  source: string;
  /** SQL: the stored status. */
  status: string;
  /** SQL: as text. */
  eventId: string;
  /** How many aggregates the events have. */
  aggregates: number;
  /** SQL: of JSON, as text. */
  payload: string;
};

export const CODES = [
  ...["VALIDATION_ERROR", "TIMEOUT", "UPSTREAM_5XX", "UPSTREAM_4XX", "VERSION_CONFLICT"],
  ...["IDEMPOTENCY_CONFLICT", "RATE_LIMITED", "AUTH_ERROR", "DESERIALIZATION_ERROR", "UNKNOWN"],
];
const SOURCES = ["orders", "payments", "shipping", "inventory"];
export const TYPES = ["OrderCreated", "OrderPaid", "LabelRequested", "StockAdjusted", "EmailRequested"];

const DAY_MS = 86_400_000;

/** The sources, and partitions for events from that moment on. */
async function addSources(db: Db, names: readonly string[], fromMs: number): Promise<void> {
  await ensurePartitions(db, fromMs, Date.now() + 3 * DAY_MS);
  await db.run(
    `insert into sources (id, name, kind, config)
     select ${sourceId("n")}, name, 'http', '{}' from unnest($1::text[]) with ordinality as s (name, n)`,
    [names],
  );
}

const sourceId = (number: string) => `('00000000-0000-7000-8000-0000000000' || lpad(${number}::text, 2, '0'))::uuid`;

/** SQL that counts the events of a table. */
const levelsOf = (table: string) =>
  `insert into dlq_levels select source_id, error_code, status, date_trunc('hour', first_seen, 'UTC'), count(*)
     from ${table} group by 1, 2, 3, 4`;

const groupLevelsOf = (table: string) =>
  `insert into dlq_group_levels select fingerprint, source_id, status, count(*) from ${table} group by 1, 2, 3`;

/** The groups of the stored events. */
async function addGroups(db: Db): Promise<void> {
  await db.run(
    `insert into dlq_groups (fingerprint, error_code, exception_type, message_pattern, first_frame, sample_event, first_seen, last_seen, grouping_version)
     select fingerprint, min(error_code), 'com.acme.Failure' || right(fingerprint, 2),
            'call <n> of ' || (array['stock','pricing','ledger','carrier','mailer','warehouse'])[1 + ('x' || right(fingerprint, 2))::bit(8)::int % 6] || ' failed in ' || fingerprint,
            'com.acme.Client.call', min(id::text)::uuid, min(first_seen), max(first_seen), ${GROUPING_VERSION}
       from dlq_events group by fingerprint`,
  );
}

/** The fingerprint of one of the six groups of an error code, both counted from 0. */
export function fingerprintOf(code: number, group: number): string {
  return (1 + code).toString(16).padStart(14, "0") + group.toString(16).padStart(2, "0");
}

/** Events number `from` to `to` (excluded) of `events`, which are spread evenly over [fromMs, toMs). */
type StorePart = { events: number; from: number; to: number; fromMs: number; toMs: number };

function fillValues({ codes, weights }: StoreShape, { events, from, to, fromMs, toMs }: StorePart): unknown[] {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  let sum = 0;
  const firsts = weights.slice(0, -1).map((weight) => {
    sum += weight;
    return Math.round((sum / total) * 1_048_576);
  });
  return [from, to, events, fromMs, toMs, codes, TYPES, firsts];
}

/** SQL that stores a part. `more`: further CTEs over `filled`, starting with a comma. */
function fillText(shape: StoreShape, more = ""): string {
  return `
with raw as (
  select n, floor($4::float8 + ($5::float8 - $4::float8) * n / $3)::bigint as ms, hashint4(n) & 1048575 as h,
         hashint4(n + 7919) & 1048575 as g, hashint4(n + 104729) & 1048575 as r
    from generate_series($1::int, $2::int - 1) n
), coded as (
  select *, (lpad(to_hex(ms), 12, '0') || '7' || lpad(to_hex(n % 4096), 3, '0') || '8' || lpad(to_hex(n), 15, '0'))::uuid as id,
         1 + width_bucket(h, $8::int[]) as code
    from raw
), shaped as (
  select *, ${shape.source} as source, ${shape.status} as status, ${shape.eventId} as event_id,
         'order-' || n % ${shape.aggregates} as aggregate_id
    from coded
), filled as (
  select *, ${sourceId("source")} as source_id from shaped
), keys as (
  insert into event_keys (source_id, event_id, id) select source_id, event_id, id from filled order by event_id
), bodies as (
  insert into dlq_event_bodies (id, payload, content_type)
  select id, convert_to(${shape.payload}, 'UTF8'), 'application/json' from filled
), facts as (
  insert into dlq_event_facts (id, aggregate_id, event_type, trace_id, last_error_code, last_error, payload_bytes, tags)
  select id, aggregate_id, ($7::text[])[1 + g % 5], md5(n::text), ($6::text[])[code],
         'call ' || n || ' of a service failed with a message of common length, as they do', length(${shape.payload}),
         jsonb_build_object('orderId', n::text, 'tenant', (array['acme','globex','initech','umbrella'])[1 + g % 4], 'region', 'eu-' || g % 3)
    from filled
)${more}
insert into dlq_events (id, source_id, event_id, aggregate_type, aggregate_id, version, error_code, fingerprint, status,
                        attempts, bounces, first_seen)
select id, source_id, event_id, 'order', aggregate_id, n / ${shape.aggregates}, ($6::text[])[code],
       lpad(to_hex(code), 14, '0') || lpad(to_hex(g % 6), 2, '0'), status, 1 + g % 5, case when g % 1024 = 3 then 1 else 0 end,
       to_timestamp(ms / 1000.0)
  from filled`;
}

/**
 * A store of any size in all tables that a park fills: 20 sources, the largest with a fifth of the events; 200 error codes
 * by Zipf's law, the first ten from all sources, the others from three at the most; ten events in an aggregate; random event
 * ids; one event in 50 is settled. The rollups are a full count.
 */
export function storeShape(events: number): StoreShape {
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

/** The id that the source gave to event number `n`. */
export const eventIdOf = (n: number) => createHash("md5").update(`event-${n}`).digest("hex");

const numbered = (name: string, count: number) => Array.from({ length: count }, (_, i) => `${name}_${i + 11}`);

const HOUR_MS = 3_600_000;
/** A statement of more would sort on disk. */
const PART_EVENTS_MAX = 350_000;
const FILLERS = 2;

/** Two connections fill different hours. `db` needs as many. */
export async function fillStore(db: Db, { events, days }: StoreSize): Promise<void> {
  const shape = storeShape(events);
  const toMs = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
  const fromMs = toMs - days * 24 * HOUR_MS;
  await addSources(db, shape.sources, fromMs);
  const filled = ["dlq_events", "dlq_event_facts", "dlq_event_bodies", "event_keys", "audit_subjects", FINEST.table];
  const addIndexes = await inBulk(db, (tx) => dropIndexes(tx, filled));
  const hours = [24, 12, 8, 6, 4, 3, 2].find((width) => (events / days / 24) * width <= PART_EVENTS_MAX) ?? 1;
  const parts = (days * 24) / hours;
  const eventAt = (part: number) => Math.ceil((events * part) / parts);
  const remaining = Array.from({ length: parts }, (_, part) => part);
  const inTurn = (work: () => Promise<void>) => Promise.all(Array.from({ length: FILLERS }, work));
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
  await inTurn(fill);
  // One after the other: two at once may choose the same name for the index of a partition.
  for (const text of addIndexes) await inBulk(db, (tx) => tx.run(text));
  await addGroups(db);
  await inBulk(db, (tx) =>
    tx.run(
      `insert into open_items (id, redrive_id, slice, place, source_id, revision)
       select id, '00000000-0000-7000-8000-000000000099', 0, coalesce(version, ${LAST_PLACE}), source_id, 1
         from dlq_events where status = 'QUEUED'`,
    ),
  );
  await inBulk(db, async (tx) => {
    const texts = await dropIndexes(tx, ["aggregate_lines"]);
    await tx.run(
      `insert into aggregate_lines (${LINE_COLUMNS}) select ${LINE_COLUMNS} from (${linesOf("true")}) e where part is not null`,
    );
    await runEach(tx, texts);
  });
  // At once: deltas of each part would leave a table of mostly free space.
  await inBulk(db, (tx) => tx.run(groupLevelsOf("dlq_events")));
  await foldRollups(db);
  await Promise.all(WIDER_FLOW.map((texts) => inBulk(db, (tx) => runEach(tx, texts))));
  await vacuum(db);
}

/** The differences between the rollups and a full count: empty when they are exact. */
export function storeDrift(db: Db): Promise<unknown[]> {
  return inBulk(db, rollupDrift);
}

async function runEach(tx: Tx, texts: readonly string[]): Promise<void> {
  for (const text of texts) await tx.run(text);
}

function inBulk<T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T> {
  const withMemory = async (tx: Tx) => {
    await tx.run(
      "set local synchronous_commit = off; set local work_mem = '128MB'; set local maintenance_work_mem = '1GB'",
    );
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

/** Each further table of the flow, from the one of the next smaller width. They can run at the same time. */
const WIDER_FLOW = [
  widerThan(GROUP_FLOW.toReversed(), GROUP_KEYS),
  widerThan([FINEST, ...CODE_FLOW.toReversed()], KEYS),
  widerThan([FINEST, ...SOURCE_FLOW.toReversed()], "source_id"),
  widerThan([FINEST, ...GROUP_ARRIVALS.toReversed()], "fingerprint", ARRIVAL_KINDS),
];

function widerThan(tables: readonly FlowTable[], keys: string, kinds: readonly string[] = FLOW_KINDS): string[] {
  const sums = kinds.map((kind) => `sum(${kind})`).join(", ");
  return tables.slice(1).map(
    ({ table, widthMs }, index) => `
      insert into ${table} (at, ${keys}, ${kinds.join(", ")})
      select date_bin('${widthMs / 1000} s', at, 'epoch'), ${keys}, ${sums} from ${tables[index]!.table}
       group by 1, ${keys} order by ${keys === GROUP_KEYS ? "fingerprint, " : ""}1`,
  );
}
