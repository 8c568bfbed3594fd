import { ensurePartitions } from "@/lib/intake/partitions.write";
import type { Db } from "@/lib/platform/database/db";

export type StoreSize = {
  events: number;
  /** How many days back they reach. */
  days: number;
};

/** The events of a store. SQL is over `n` (0 and on), `code` (1 and on), and the random `g` and `r` (0 to 1,048,575). */
export type StoreShape = {
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
export const SOURCES = ["orders", "payments", "shipping", "inventory"];
export const TYPES = ["OrderCreated", "OrderPaid", "LabelRequested", "StockAdjusted", "EmailRequested"];

/**
 * A believable skew: a quarter has the commonest error code, 2 % the rarest; 81 % are PENDING; 60 groups; 100,000 aggregates.
 * Error codes depend on sources: RATE_LIMITED never comes from orders, DESERIALIZATION_ERROR is never IGNORED.
 */
const USUAL: StoreShape = {
  sources: SOURCES,
  codes: CODES,
  weights: [256, 192, 160, 128, 96, 64, 48, 32, 24, 24],
  source: "case when code = 7 then 2 + g % 3 else 1 + g % 4 end",
  status: `case when code = 9 or r % 100 >= 15 then 'PENDING' when r % 100 >= 7 then 'REDRIVEN' when r % 100 >= 2 then 'IGNORED'
                else 'QUEUED' end`,
  eventId: "'event-' || n",
  aggregates: 100_000,
  payload: `'{"orderId":' || n || '}'`,
};

const DAY_MS = 86_400_000;

/** Fills a migrated store with events, made by the server itself. */
export async function fillStore(db: Db, { events, days }: StoreSize): Promise<void> {
  const nowMs = Date.now();
  await addSources(db, USUAL.sources, nowMs - days * DAY_MS);
  const part = { events, fromMs: nowMs - days * DAY_MS, toMs: nowMs };
  const chunk = 100_000;
  for (let from = 0; from < events; from += chunk) {
    await db.run(fillText(USUAL), fillValues(USUAL, { ...part, from, to: Math.min(from + chunk, events) }));
  }
  await addGroups(db);
  await db.run(levelsOf("dlq_events"));
  await db.run(groupLevelsOf("dlq_events"));
  await db.run(
    `insert into dlq_flow select date_trunc('minute', first_seen, 'UTC'), source_id, error_code, fingerprint, 'parked', count(*)
       from dlq_events group by 1, 2, 3, 4`,
  );
  await db.run("vacuum analyze");
}

/** The sources, and partitions for events from that moment on. */
export async function addSources(db: Db, names: readonly string[], fromMs: number): Promise<void> {
  await ensurePartitions(db, fromMs, Date.now() + 3 * DAY_MS);
  await db.run(
    `insert into sources (id, name, kind, config)
     select ${sourceId("n")}, name, 'http', '{}' from unnest($1::text[]) with ordinality as s (name, n)`,
    [names],
  );
}

const sourceId = (number: string) => `('00000000-0000-7000-8000-0000000000' || lpad(${number}::text, 2, '0'))::uuid`;

/** SQL that counts the events of a table. */
export const levelsOf = (table: string) =>
  `insert into dlq_levels select source_id, error_code, status, date_trunc('hour', first_seen, 'UTC'), count(*)
     from ${table} group by 1, 2, 3, 4`;

export const groupLevelsOf = (table: string) =>
  `insert into dlq_group_levels select fingerprint, source_id, status, count(*) from ${table} group by 1, 2, 3`;

/** The groups of the stored events. */
export async function addGroups(db: Db): Promise<void> {
  await db.run(
    `insert into dlq_groups (fingerprint, error_code, exception_type, message_pattern, first_frame, sample_event, first_seen, last_seen)
     select fingerprint, min(error_code), 'com.acme.Failure' || right(fingerprint, 2),
            'call <n> of ' || (array['stock','pricing','ledger','carrier','mailer','warehouse'])[1 + ('x' || right(fingerprint, 2))::bit(8)::int % 6] || ' failed in ' || fingerprint,
            'com.acme.Client.call', min(id::text)::uuid, min(first_seen), max(first_seen)
       from dlq_events group by fingerprint`,
  );
}

/** The fingerprint of one of the six groups of an error code, both counted from 0. */
export function fingerprintOf(code: number, group: number): string {
  return (1 + code).toString(16).padStart(14, "0") + group.toString(16).padStart(2, "0");
}

/** Events number `from` to `to` (excluded) of `events`, which are spread evenly over [fromMs, toMs). */
type StorePart = { events: number; from: number; to: number; fromMs: number; toMs: number };

export function fillValues({ codes, weights }: StoreShape, { events, from, to, fromMs, toMs }: StorePart): unknown[] {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  let sum = 0;
  const firsts = weights.slice(0, -1).map((weight) => {
    sum += weight;
    return Math.round((sum / total) * 1_048_576);
  });
  return [from, to, events, fromMs, toMs, codes, TYPES, firsts];
}

/** SQL that stores a part. `more`: further CTEs over `filled`, starting with a comma. */
export function fillText(shape: StoreShape, more = ""): string {
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
