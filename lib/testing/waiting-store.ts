import { ensurePartitions } from "@/lib/intake/partitions.write";
import { foldRollups } from "@/lib/observe/rollups/fold-rollups.write";
import { PROCESSED } from "@/lib/order/aggregate-order.read";
import { LINE_COLUMNS, linesOf } from "@/lib/order/line.sql";
import type { Db } from "@/lib/platform/database/db";
import { addSource, countStored } from "@/lib/testing/letters";

const DAY_MS = 86_400_000;
const DAYS = 3;

/** SQL: a UUIDv7 of that many milliseconds, one for each `n`. */
const uuid = (ms: string, kind: string, n = "n") =>
  `(lpad(to_hex((${ms})::bigint), 12, '0') || '7${kind}8' || lpad(to_hex(${n}), 15, '0'))::uuid`;

/** Events in which every fourth was redriven two hours ago and waits for its quiet window to end. */
const QUIET = 4_000;

/** The redrive that nearly all open items are in. */
export const WAITING = "0190aaaa-0000-7000-8000-000000000001";

/**
 * What an outage leaves: that many open items in one running redrive and twenty others, their events, the aggregates, attempts and ticks of
 * what was sent before, and what else grows with the store. Every id follows from its number, so the tables are filled one by one.
 */
function filling(items: number, nowMs: number, sources: { orders: string; billing: string }) {
  const fromMs = nowMs - DAYS * DAY_MS;
  const of = (share: number) => `generate_series(1, ${Math.max(20, Math.floor(items / share))}) n`;
  const event = uuid(`${fromMs} + n::bigint * ${DAYS * DAY_MS} / ${Math.ceil(items * 1.2)}`, "0e0");
  const source = `case when n % 10 = 0 then '${sources.billing}'::uuid else '${sources.orders}'::uuid end`;
  const redrive = `case when n % 10 > 0 then '${WAITING}'::uuid else ${uuid(`${nowMs}`, "0a0", "n / 10 % 20")} end`;
  const old = (days: string) => uuid(`${nowMs} - ${days}::bigint * ${DAY_MS}`, "0d0");
  const columns = "created_by, reason, selection, cutoff, slices, queued_sources";
  const values = `'ada', 'stock is back', '{"filter":{}}', '${WAITING}', 900000, '{${sources.orders},${sources.billing}}'`;
  // The last sixth of the events is not in a redrive.
  const events = `generate_series(1, ${Math.floor(items * 1.2)}) n`;
  const code = "case n % 3 when 0 then 'TIMEOUT' else 'UPSTREAM_5XX' end";
  // A quarter of those outside of redrives bounced from the one that waits.
  const bounced = `generate_series(${Math.ceil(items / 4) * 4 + 2}, ${Math.floor(items * 1.2)}, 4) n`;
  return {
    redrives: [
      `insert into redrives (id, state, mode, lane, total, failed, refused, failed_by_reason, refused_by_reason, bounced_by_reason, started_at, sources, ${columns})
       values ('${WAITING}', 'RUNNING', 'deliver', 'main', ${items} + 1000, 500, 500, '{"HTTP_400": 500}', '{"HTTP_400": 500}',
               '{"TIMEOUT": 9, "UPSTREAM_5XX": 20}', now() - interval '1 hour', '{orders,billing}', ${values})`,
      `insert into redrives (id, state, mode, lane, total, started_at, sources, ${columns})
       select ${uuid(`${nowMs}`, "0a0")}, case when n % 2 = 0 then 'PAUSED' else 'RUNNING' end, 'deliver', 'slow', ${Math.floor(items / 200)},
              now() - interval '1 hour', '{orders}', ${values} from generate_series(0, 19) n`,
      `insert into redrives (id, state, mode, lane, total, delivered, started_at, finished_at, created_at, sources, ${columns})
       select ${old("(20 + n % 40)")}, 'DONE', 'deliver', 'main', 10, 10, now() - interval '60 days', now() - make_interval(days => 20 + n % 40),
              now() - make_interval(days => 20 + n % 40), '{orders}', ${values} from ${of(50)}`,
    ],
    open_items: [
      `insert into open_items (id, redrive_id, slice, place, source_id, revision)
       select ${event}, ${redrive}, n % 900000, n % 3, ${source}, 1 from ${of(1)}`,
    ],
    redrive_items: [
      `insert into redrive_items (id, redrive_id, slice, source_id, aggregate_id, aggregate_type, version, error_code, state)
       select ${event}, ${redrive}, n % 900000, ${source}, 'order-' || n / 3, 'order', n % 3, ${code}, 'open' from ${of(1)}`,
      `insert into redrive_items (id, redrive_id, slice, source_id, error_code, state, finished_at)
       select ${event}, ${old("(20 + n % 40)")}, 0, ${source}, ${code}, 'delivered', now() from ${of(50)}`,
      // What failed and what was refused in the redrive that waits, of events that have left the store.
      `insert into redrive_items (id, redrive_id, slice, source_id, error_code, state, result, finished_at)
       select ${uuid(`${nowMs} - n`, "0e0")}, '${WAITING}', 0, ${source}, ${code}, case when n % 2 = 0 then 'failed' else 'refused' end, 'HTTP_400', now()
         from generate_series(1, 1000) n`,
      `insert into redrive_items (id, redrive_id, slice, source_id, error_code, state, result, finished_at)
       select ${event}, '${WAITING}', 0, ${source}, ${code}, 'delivered', 'OK', now() from ${bounced}`,
    ],
    redrive_ticks: [
      `insert into redrive_ticks (redrive_id, at, delivered)
       select case when n % 5 = 0 then '${WAITING}'::uuid else ${uuid(`${nowMs} - (20 + n / 5 % 40)::bigint * ${DAY_MS}`, "0d0", `1 + n / 5 % ${Math.max(20, Math.floor(items / 50))}`)} end,
              now() - n * interval '1 s', 1 from ${of(10)}`,
    ],
    aggregates: [
      `insert into aggregates (source_id, aggregate_type, aggregate_id, lease_until, consecutive_failures, failed_at)
       select ${source}, 'order', 'order-' || n, now() - interval '1 day', n % 2, case when n % 2 = 1 then now() end from ${of(3)}`,
    ],
    controls: [
      `insert into controls (id, kind, scope, value, source, aggregate_type, reason, origin, created_by, lifted_at)
       select uuidv7(), 'blacklist', 'aggregateId', 'order-' || n, 'orders', 'order', '3 failed in a row', 'automatic', 'worker',
              case when n % 2 = 0 then now() - interval '10 days' end from ${of(10)}`,
      `insert into controls (id, kind, scope, value, reason, created_by)
       select uuidv7(), 'blacklist', 'errorCode', 'CODE_' || n, 'broken', 'ada' from generate_series(1, 5) n`,
    ],
    dlq_events: [
      `insert into dlq_events (id, source_id, event_id, aggregate_type, aggregate_id, version, error_code, fingerprint, attempts, first_seen, status,
                               redrive_at, confirmed_at, bounces, bounced_redrives)
       select ${event}, ${source}, 'event-' || n, 'order', 'order-' || n / 3, n % 3, ${code}, 'group-' || n % 100, 4,
              to_timestamp((${fromMs} + n::bigint * ${DAYS * DAY_MS} / ${Math.ceil(items * 1.2)}) / 1000.0),
              case when n <= ${items} then 'QUEUED' when n % 4 = 0 then 'REDRIVEN' when n % 4 = 1 then 'IGNORED' else 'PENDING' end,
              case when n > ${items} and n % 4 = 0 then now() - interval '2 hours' end,
              case when n > ${items + QUIET} and n % 4 = 0 then now() end, case when n % 50 = 0 or n > ${items} and n % 4 = 2 then 1 else 0 end,
              case when n > ${items} and n % 4 = 2 then array['${WAITING}'::uuid] end
         from ${events}`,
    ],
    quiet_windows: [
      `insert into quiet_windows (since, event_ids)
       select now() - interval '2 hours', array_agg(${event}) from generate_series(${Math.ceil((items + 1) / 4) * 4}, ${items + QUIET}, 4) n group by n / 1000`,
      // Of what was delivered a moment ago.
      `insert into quiet_windows (since, event_ids) select now(), array[uuidv7()] from ${of(50)}`,
    ],
    dlq_event_facts: [
      `insert into dlq_event_facts (id, aggregate_id, last_error_code, last_error, payload_bytes)
       select ${event}, 'order-' || n / 3, ${code}, '503 from stock', 300 from ${events}`,
    ],
    dlq_event_bodies: [
      `insert into dlq_event_bodies (id, payload, content_type)
       select ${event}, '{}', 'application/json' from generate_series(${items - 9}, ${Math.floor(items * 1.2)}) n`,
    ],
    event_keys: [
      `insert into event_keys (source_id, event_id, id) select ${source}, 'event-' || n, ${event} from ${events}`,
    ],
    event_bounces: [
      `insert into event_bounces (id, bounce, at, redrive_id, sent, error_code)
       select ${event}, 1, now(), '${WAITING}', 1, ${code} from ${bounced}`,
    ],
    dlq_groups: [
      `insert into dlq_groups (fingerprint, error_code, message_pattern, sample_event, first_seen, last_seen)
       select 'group-' || n, 'TIMEOUT', 'no answer from stock', ${event}, now() - interval '3 days', now() from generate_series(0, 99) n`,
    ],
    audit_entries: [
      `insert into audit_entries (id, at, actor, action, subject_kind, count)
       select ${uuid(`${fromMs} + n`, "0b0")}, now(), 'api', 'event.parked', 'event', 1000 from ${of(20)}`,
      `insert into audit_subjects (event_id, entry_id) select ${event}, ${uuid(`${fromMs} + n`, "0b0")} from ${of(20)}`,
      `insert into audit_seals (seq, kind, entry_id, ref, content_hash, chain_hash, sealed_at)
       select n, 'entry', ${uuid(`${fromMs} + n`, "0b0")}, ${uuid(`${fromMs} + n`, "0b0")}, '\\x01', '\\x01', now() from ${of(20)}`,
    ],
    archived_events: [
      `insert into archive_objects (id, operation_id, source, key, events, bytes, sha256, removed_by, removed_at)
       select ${uuid(`${nowMs}`, "0c0")}, '${WAITING}', 'orders', 'set-' || n, 500, 1, repeat('0', 64), 'retention', now() - interval '5 days' from ${of(2500)}`,
      `insert into archived_events (id, object_id, source_id, source, event_id, error_code, status, payload_bytes)
       select ${uuid(`${fromMs - 40 * DAY_MS} + n`, "0e0")}, ${uuid(`${nowMs}`, "0c0", `1 + n / 500`)}, '${sources.orders}', 'orders', 'gone-' || n, 'TIMEOUT',
              'REDRIVEN', 1 from ${of(5)}`,
    ],
    alerts: [
      `insert into alerts (id, rule_id, rule_name, kind, severity, key, subject, state, since, fired_at, resolved_at, resolved_because, sentence)
       select uuidv7(), uuidv7(), 'rule', 'size', 'warning', 'key-' || n, '{}', 'resolved', now(), now(), now() - interval '2 days', 'cleared', 's'
         from ${of(50)}`,
    ],
    outbox: [
      `insert into outbox (id, aggregate_id, event_type, payload, destination, status, sent_at)
       select 'sent-' || n, 'order-' || n, 'confirmed', '{}', 'orders', 'SENT', now() from ${of(50)}`,
      `insert into alert_outbox (id, aggregate_id, event_type, payload, destination, status, sent_at)
       select 'sent-' || n, 'alert-' || n, 'alert', '{}', 'channel', 'SENT', now() from ${of(50)}`,
    ],
    idempotency_keys: [
      `insert into idempotency_keys (actor, key, expires_at) select 'api', 'key-' || n, now() + interval '1 day' from ${of(50)}`,
    ],
    redrive_attempts: [
      `insert into redrive_attempts (id, redrive_id, attempt, fence, state, target, idempotency_key, opened_at, closed_at, code)
       select ${uuid(`${fromMs}`, "0e0", "n / 2")}, '${WAITING}', 1 + n % 2, 1, 'failed', 'orders', 'orders:' || n,
              now() - n * interval '1 hour' / ${items / 5}, now(), 'TIMEOUT' from ${of(5)}`,
    ],
    send_intents: [
      `insert into send_intents (wave, opened_at, ids, redrive_ids, attempts, fences, revisions, targets, target_ids, keys)
       select uuidv7(), now(), array_agg(${uuid(`${fromMs}`, "0e0", "n")}), array_agg('${WAITING}'::uuid), array_agg(9), array_agg(1::bigint),
              array_agg(1), array_agg('orders'::text), array_agg(uuidv7()), array_agg('orders:' || n) from generate_series(0, 19) n`,
    ],
    worker_heartbeats: [
      `insert into worker_heartbeats (id, started_at, info, seen_at)
       select uuidv7(), now(), '{"running":1,"targets":{}}', now() + interval '1 hour' from generate_series(1, 3)`,
    ],
  };
}

/**
 * Fills the store with `items` open items. `told`: every table has as many rows as with so many, says its row of pg_class to the planner,
 * which takes the pages from the file. Full pages make a scan of the table cheaper than it would be: a plan that still finds its rows by an
 * index is the one of a store of that size.
 */
export async function fillWaiting(db: Db, items: number, { told = items } = {}): Promise<void> {
  const nowMs = Date.now();
  const sources = { orders: await addSource(db, "orders"), billing: await addSource(db, "billing") };
  await ensurePartitions(db, nowMs - DAYS * DAY_MS, nowMs + DAY_MS);
  const tables = Object.entries(filling(items, nowMs, sources));
  await Promise.all(
    [0, 1].map((half) =>
      fill(
        db,
        tables.filter((_, index) => index % 2 === half),
      ),
    ),
  );
  await db.run(
    `insert into aggregate_lines (${LINE_COLUMNS}) select ${LINE_COLUMNS} from (${linesOf("true")}) e where part is not null`,
  );
  await db.run(
    `insert into aggregates (source_id, aggregate_type, aggregate_id, lease_until, confirmed_version, confirmed_event)
     select distinct on (e.aggregate_id, e.source_id) e.source_id, e.aggregate_type, e.aggregate_id, now() - interval '1 day', e.version, e.id
       from dlq_events e where ${PROCESSED} order by e.aggregate_id, e.source_id, e.version desc
     on conflict (aggregate_id, source_id, aggregate_type) do update
        set confirmed_version = excluded.confirmed_version, confirmed_event = excluded.confirmed_event`,
  );
  await countStored(db);
  await foldRollups(db);
  await db.run("vacuum analyze");
  await db.run(
    `select pg_restore_relation_stats('schemaname', 'public', 'relname', relname::text, 'version', current_setting('server_version_num')::int,
              'relpages', relpages, 'reltuples', (reltuples * $1)::real, 'relallvisible', relallvisible)
       from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'i') and reltuples > $2`,
    [told / items, items / 1_000],
  );
}

/** Indexes are made when their table is full, which takes half of the time. */
async function fill(db: Db, tables: [table: string, texts: string[]][]): Promise<void> {
  for (const [table, texts] of tables) {
    await db.transaction(async (tx) => {
      await tx.run("set local maintenance_work_mem = '512MB'");
      const indexes = await tx.query<{ name: string; text: string }>(
        `select i.indexrelid::regclass::text as name, pg_get_indexdef(i.indexrelid) as text from pg_index i
          where i.indrelid = $1::regclass and not exists (select from pg_constraint c where c.conindid = i.indexrelid)`,
        [table],
      );
      for (const { name } of indexes) await tx.run(`drop index ${name}`);
      for (const text of texts) await tx.run(text);
      for (const { text } of indexes) await tx.run(text.replace(" ON ONLY ", " ON "));
    });
  }
}
