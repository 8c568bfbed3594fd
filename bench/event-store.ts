import { ensurePartitions } from "@/lib/intake/partitions.write";
import type { Db } from "@/lib/platform/database/db";

export type StoreShape = {
  events: number;
  /** How many days back they reach. */
  days: number;
};

export const CODES = [
  ...["VALIDATION_ERROR", "TIMEOUT", "UPSTREAM_5XX", "UPSTREAM_4XX", "VERSION_CONFLICT"],
  ...["IDEMPOTENCY_CONFLICT", "RATE_LIMITED", "AUTH_ERROR", "DESERIALIZATION_ERROR", "UNKNOWN"],
];
export const SOURCES = ["orders", "payments", "shipping", "inventory"];
export const TYPES = ["OrderCreated", "OrderPaid", "LabelRequested", "StockAdjusted", "EmailRequested"];

/**
 * Fills a migrated store with events of a believable skew, made by the server itself: a quarter has the commonest error
 * code, 2 % the rarest; 81 % are PENDING; 60 groups; 100,000 aggregates. Error codes depend on
 * sources: RATE_LIMITED never comes from orders, DESERIALIZATION_ERROR is never IGNORED.
 */
export async function fillStore(db: Db, { events, days }: StoreShape): Promise<void> {
  const nowMs = Date.now();
  await ensurePartitions(db, nowMs - days * 86_400_000, nowMs + 3 * 86_400_000);
  await db.run(
    `insert into sources (id, name, kind, config)
     select ('00000000-0000-7000-8000-00000000000' || n)::uuid, name, 'http', '{}'
       from unnest($1::text[]) with ordinality as s (name, n)`,
    [SOURCES],
  );
  const chunk = 100_000;
  for (let from = 0; from < events; from += chunk) {
    await db.run(FILL, [from, Math.min(from + chunk, events), events, nowMs - days * 86_400_000, nowMs, CODES, TYPES]);
  }
  await db.run(
    `insert into dlq_groups (fingerprint, error_code, exception_type, message_pattern, first_frame, sample_event, first_seen, last_seen)
     select fingerprint, min(error_code), 'com.acme.Failure' || right(fingerprint, 2),
            'call <n> of ' || (array['stock','pricing','ledger','carrier','mailer','warehouse'])[1 + ('x' || right(fingerprint, 2))::bit(8)::int % 6] || ' failed in ' || fingerprint,
            'com.acme.Client.call', min(id::text)::uuid, min(first_seen), max(first_seen)
       from dlq_events group by fingerprint`,
  );
  await db.run(
    `insert into dlq_levels select source_id, error_code, status, date_trunc('hour', first_seen, 'UTC'), count(*)
       from dlq_events group by 1, 2, 3, 4`,
  );
  await db.run(
    "insert into dlq_group_levels select fingerprint, source_id, status, count(*) from dlq_events group by 1, 2, 3",
  );
  await db.run(
    `insert into dlq_flow select date_trunc('minute', first_seen, 'UTC'), source_id, error_code, fingerprint, 'parked', count(*)
       from dlq_events group by 1, 2, 3, 4`,
  );
  await db.run("vacuum analyze");
}

const FILL = `
with raw as (
  select n, ($4::float8 + ($5::float8 - $4::float8) * n / $3)::bigint as ms, hashint4(n) & 1023 as h, hashint4(n + 7919) & 1023 as g
    from generate_series($1::int, $2::int - 1) n
), shaped as (
  select *, (lpad(to_hex(ms), 12, '0') || '7' || lpad(to_hex(n % 4096), 3, '0') || '8' || lpad(to_hex(n), 15, '0'))::uuid as id,
         case when h < 256 then 1 when h < 448 then 2 when h < 608 then 3 when h < 736 then 4 when h < 832 then 5
              when h < 896 then 6 when h < 944 then 7 when h < 976 then 8 when h < 1000 then 9 else 10 end as code
    from raw
), typed as (
  select *, case when code = 7 then 2 + g % 3 else 1 + g % 4 end as source,
         case when code = 9 or g % 100 >= 15 then 'PENDING' when g % 100 >= 7 then 'REDRIVEN' when g % 100 >= 2 then 'IGNORED' else 'QUEUED' end as status
    from shaped
), keys as (
  insert into event_keys (source_id, event_id, id)
  select ('00000000-0000-7000-8000-00000000000' || source)::uuid, 'event-' || n, id from typed
), bodies as (
  insert into dlq_event_bodies (id, payload, content_type)
  select id, convert_to('{"orderId":' || n || '}', 'UTF8'), 'application/json' from typed
), facts as (
  insert into dlq_event_facts (id, aggregate_id, event_type, trace_id, last_error_code, last_error, payload_bytes, tags)
  select id, 'order-' || n % 100000, ($7::text[])[1 + g % 5], md5(n::text), ($6::text[])[code],
         'call ' || n || ' of a service failed with a message of common length, as they do', 20,
         jsonb_build_object('orderId', n::text, 'tenant', (array['acme','globex','initech','umbrella'])[1 + g % 4], 'region', 'eu-' || g % 3)
    from typed
)
insert into dlq_events (id, source_id, event_id, aggregate_type, aggregate_id, version, error_code, fingerprint, status,
                        attempts, bounces, first_seen)
select id, ('00000000-0000-7000-8000-00000000000' || source)::uuid, 'event-' || n, 'order', 'order-' || n % 100000,
       n / 100000, ($6::text[])[code], lpad(to_hex(code), 14, '0') || lpad(to_hex(code * 6 + g % 6), 2, '0'), status, 1 + g % 5,
       case when g = 3 then 1 else 0 end, to_timestamp(ms / 1000.0)
  from typed`;
