import { ensurePartitions } from "@/lib/intake/partitions.write";
import { LINE_COLUMNS, linesOf } from "@/lib/order/line.sql";
import type { Db } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";
import { GROUPING_VERSION } from "@/lib/selection/aliases.sql";

/** Events of one statement: its row locks and its share of the log stay small. */
const CHUNK = 50_000;
/** Events of an aggregate, one behind the other. */
const AGGREGATE_EVENTS = 4;

const DAY_MS = 86_400_000;

export type ManyEvents = {
  source: string;
  events: number;
  redriveUrl: string;
  batch?: { format: "ndjson" };
  /** They were parked so many days ago. */
  daysAgo?: number;
};

/**
 * Makes an HTTP source without a rate and parks that many events in it, by the server itself and thus much faster than
 * through ingest. Rows and rollups are those that ingest writes; the audit is not (a redrive does not read it).
 */
export async function parkMany(db: Db, { source, events, redriveUrl, batch, daysAgo = 0 }: ManyEvents): Promise<void> {
  const sourceId = uuidv7(Date.now());
  await db.run("insert into sources (id, name, kind, config) values ($1, $2, 'http', $3::jsonb)", [
    sourceId,
    source,
    JSON.stringify({ redriveUrl, batch }),
  ]);
  await db.run(
    `insert into targets (id, source_id, lane, name, rate_per_second)
     values (uuidv7(), $1, 'main', $2, null), (uuidv7(), $1, 'slow', $2 || '.slow', null)`,
    [sourceId, source],
  );
  // As many partitions as a store in use has: each costs every statement a little.
  await ensurePartitions(db, Date.now() - Math.max(30, daysAgo) * DAY_MS, Date.now() + 3 * DAY_MS);
  await db.run(
    `insert into dlq_groups (fingerprint, error_code, message_pattern, sample_event, first_seen, last_seen, grouping_version)
     values ($1, 'UPSTREAM_5XX', '<n> from stock-service', uuidv7(), now(), now(), ${GROUPING_VERSION})`,
    [`${source}-group`],
  );
  for (let from = 0; from < events; from += CHUNK) {
    await parkChunk(db, { source, sourceId, daysAgo, from, to: Math.min(from + CHUNK, events) });
  }
  await db.run(
    `insert into aggregate_lines (${LINE_COLUMNS}) select ${LINE_COLUMNS} from (${linesOf("e.source_id = $1")}) e where part is not null
     on conflict do nothing`,
    [sourceId],
  );
  // As autovacuum would have by the time an operator comes to redrive them.
  for (const table of ["dlq_events", "dlq_event_facts", "dlq_event_bodies", "event_keys", "aggregate_lines"])
    await db.run(`vacuum analyze ${table}`);
}

type Chunk = { source: string; sourceId: string; daysAgo: number; from: number; to: number };

async function parkChunk(db: Db, { source, sourceId, daysAgo, from, to }: Chunk): Promise<void> {
  await db.transaction(
    async (tx) => {
      await tx.run(
        `with fresh as materialized (
           select uuidv7(make_interval(days => -$5::int)) as id, g as n, $2 || '-' || lpad(g::text, 9, '0') as event_id
             from generate_series($3::int, $4::int - 1) g
         ), keys as (
           insert into event_keys (source_id, event_id, id) select $1, event_id, id from fresh
         ), bodies as (
           insert into dlq_event_bodies (id, payload, content_type, headers, error_type, error_message, origin)
           select id, convert_to(format('{"orderId": %s, "currency": "EUR", "lines": "%s"}', n, repeat('x', 250)), 'UTF8'),
                  'application/json', '[["tenant","acme"],["x-request","7"]]', 'com.acme.StockException',
                  '503 from stock-service', '{"convention":"http"}'
             from fresh
         ), facts as (
           insert into dlq_event_facts
             (id, aggregate_id, event_type, last_error_code, last_error, payload_bytes, tags)
           select id, $2 || '-order-' || n / ${AGGREGATE_EVENTS}, 'OrderCreated', 'UPSTREAM_5XX', '503 from stock-service',
                  300, jsonb_build_object('orderId', n::text)
             from fresh
         )
         insert into dlq_events
           (id, source_id, event_id, aggregate_type, aggregate_id, version, error_code, fingerprint, attempts, first_seen)
         select id, $1, event_id, 'order', $2 || '-order-' || n / ${AGGREGATE_EVENTS}, n % ${AGGREGATE_EVENTS},
                'UPSTREAM_5XX', $2 || '-group', 4, uuid_extract_timestamp(id)
           from fresh`,
        [sourceId, source, from, to, daysAgo],
      );
      await tx.run(
        `insert into dlq_levels (source_id, error_code, status, hour, n)
         values ($1, 'UPSTREAM_5XX', 'PENDING', date_trunc('hour', now() - make_interval(days => $3::int), 'UTC'), $2)`,
        [sourceId, to - from, daysAgo],
      );
      await tx.run("insert into dlq_group_levels (fingerprint, source_id, status, n) values ($2, $1, 'PENDING', $3)", [
        sourceId,
        `${source}-group`,
        to - from,
      ]);
    },
    { statementTimeoutMs: 0 },
  );
}
