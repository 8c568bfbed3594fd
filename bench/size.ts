import { setDeps } from "@/app/_server/deps";
import { ensurePartitions } from "@/lib/intake/partitions.write";
import { addSource } from "@/lib/testing/letters";
import { benchDeps } from "./deps";
import { eventChunks, eventLine, ingestAll } from "./ingest";
import { startBenchStack } from "./stack";
import { bytesByTable } from "./table-bytes";

/**
 * Bytes of the store for each event, by table with its indexes: 200,000 events with a payload of 1,000 bytes, parked as a
 * consumer parks them; then an item and an attempt of each, as a redrive leaves them. docs/scale-out.md counts with them.
 *
 * BENCH_EVENTS (200,000) makes a quick run.
 */

const EVENTS = Number(process.env.BENCH_EVENTS ?? 200_000);
const NOTE_BYTES = 965;
const TABLES = [
  ...["dlq_events", "dlq_event_facts", "dlq_event_bodies", "event_keys"],
  ...["audit_entries", "audit_subjects", "redrive_items", "redrive_attempts"],
];

export type SizeResult = { events: number; parked: Record<string, number>; redriven: Record<string, number> };

export async function run(): Promise<SizeResult> {
  const stack = await startBenchStack();
  const deps = benchDeps(stack.databaseUrl);
  try {
    await addSource(deps.db, "orders");
    await ensurePartitions(deps.db, Date.now(), Date.now() + 86_400_000);
    setDeps(deps);
    const chunks = eventChunks(0, EVENTS, (n) => eventLine(n, NOTE_BYTES));
    await ingestAll(chunks, EVENTS);
    const parked = await bytesByTable(deps.db, { events: EVENTS, tables: TABLES });
    await deps.db.run(REDRIVEN);
    return { events: EVENTS, parked, redriven: await bytesByTable(deps.db, { events: EVENTS, tables: TABLES }) };
  } finally {
    setDeps(null);
    await deps.close();
    await stack.stop();
  }
}

const REDRIVEN = `
with redrive as materialized (select gen_random_uuid() as id, gen_random_uuid() as entry), items as (
  insert into redrive_items (id, redrive_id, slice, source_id, aggregate_type, aggregate_id, version, error_code, state, fence, attempts,
                             result, finished_at, claimed_by, queued_entry, ended_entry)
  select e.id, r.id, hashtext(e.aggregate_id) & 1023, e.source_id, e.aggregate_type, e.aggregate_id, e.version, e.error_code, 'delivered', 1,
         1, 'HTTP_200', now(), r.entry, r.entry, r.entry
    from dlq_events e, redrive r)
insert into redrive_attempts (id, redrive_id, attempt, fence, state, target, idempotency_key, opened_at, closed_at, latency_ms, code)
select e.id, r.id, 1, 1, 'delivered', 'orders', 'orders:' || e.event_id, now(), now(), 12.5, 'HTTP_200' from dlq_events e, redrive r`;
