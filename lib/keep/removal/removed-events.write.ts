import type { EventStatus } from "@/lib/events/event-state.pure";
import { type NamedAggregate, reportArchivedVersions } from "@/lib/keep/removal/reported-versions.write";
import { rollupOf } from "@/lib/observe/rollups/rollup.write";
import { deleteSkips } from "@/lib/order/skips.write";
import type { Tx } from "@/lib/platform/database/db";
import { idSpan } from "@/lib/platform/database/id-span";
import { PARKED } from "@/lib/redrive/states/state.sql";

export type ArchiveObject = {
  id: string;
  operationId: string;
  source: string;
  key: string;
  events: number;
  bytes: number;
  sha256: string;
  removedBy: string;
  atMs: number;
};

export async function insertArchiveObject(tx: Tx, object: ArchiveObject): Promise<void> {
  await tx.run(
    `insert into archive_objects (id, operation_id, source, key, events, bytes, sha256, removed_by, removed_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, to_timestamp($9::float8 / 1000))`,
    [
      object.id,
      object.operationId,
      object.source,
      object.key,
      object.events,
      object.bytes,
      object.sha256,
      object.removedBy,
      object.atMs,
    ],
    { name: "insert-archive-object" },
  );
}

/** What a removed event counts, over `old_status`: one that was parked leaves the parked events. */
const EXPIRED = `case when old_status in ${PARKED} then '{expired}'::text[] end`;

/**
 * Removes locked events with all that belongs to them alone, and names them as archived. Their items and attempts stay: they
 * are the record of redrives. A version that counted as processed goes on to count. Returns the removed events.
 */
export async function deleteEvents(
  tx: Tx,
  events: readonly { id: string; objectId: string }[],
  atMs: number,
): Promise<{ id: string; from: EventStatus }[]> {
  const ids = events.map(({ id }) => id);
  const ofEvents = "= any($1::uuid[])";
  const within = "between $3 and $4";
  const removed = await tx.query<{ id: string; from: EventStatus } & NamedAggregate>(
    `with facts as (
       delete from dlq_event_facts f where f.id ${ofEvents} and f.id ${within} returning f.id, f.event_type, f.payload_bytes),
     bodies as (delete from dlq_event_bodies b where b.id ${ofEvents} and b.id ${within}),
     revisions as (delete from event_revisions r where r.id ${ofEvents} and r.id ${within}),
     bounces as (delete from event_bounces n where n.id ${ofEvents} and n.id ${within}),
     gone as (
       delete from dlq_events e where e.id ${ofEvents} and e.id ${within}
       returning e.id, e.source_id, e.event_id, e.aggregate_type, e.aggregate_id, e.version, e.error_code, e.fingerprint,
                 e.first_seen, e.status, e.confirmed_at, e.status as old_status, null::text as new_status),
     archived as (
       insert into archived_events (id, object_id, source_id, source, event_id, aggregate_id, aggregate_type, version, event_type,
                                    error_code, status, payload_bytes)
       select g.id, o.object_id, g.source_id, s.name, g.event_id, g.aggregate_id, coalesce(g.aggregate_type, ''), g.version,
              f.event_type, g.error_code, g.status, coalesce(f.payload_bytes, 0)
         from gone g join unnest($1::uuid[], $2::uuid[]) o(id, object_id) on o.id = g.id
              join sources s on s.id = g.source_id left join facts f on f.id = g.id)
     ${rollupOf("gone", { flow: { kinds: EXPIRED, at: "to_timestamp($5::float8 / 1000)" } })}
     select id, old_status as "from", source_id as "sourceId", aggregate_type as "aggregateType",
            aggregate_id as "aggregateId"
       from gone`,
    [ids, events.map(({ objectId }) => objectId), ...idSpan(ids), atMs],
    { name: "delete-events" },
  );
  await deleteSkips(tx, ids);
  await reportArchivedVersions(tx, removed);
  return removed.map(({ id, from }) => ({ id, from }));
}
