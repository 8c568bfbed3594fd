import type { WrittenSet } from "@/lib/keep/archive/sets/set-key.pure";
import { type NamedAggregate, reportArchivedVersions } from "@/lib/keep/removal/reported-versions.write";
import { rowsOf } from "@/lib/order/line.sql";
import { deleteSkips } from "@/lib/order/skips.write";
import type { Tx } from "@/lib/platform/database/db";
import { idSpan } from "@/lib/platform/database/id-span";
import type { EventStatus } from "@/lib/states/event-state.pure";
import { rollupOf } from "@/lib/states/rollup.write";
import { PARKED } from "@/lib/states/state.sql";

/** Names sets that lie in the archive. */
export async function insertArchiveObjects(
  tx: Tx,
  sets: readonly WrittenSet[],
  { operationId, removedBy, atMs }: { operationId: string; removedBy: string; atMs: number },
): Promise<void> {
  const of = <Name extends keyof WrittenSet>(name: Name) => sets.map((set) => set[name]);
  await tx.run(
    `insert into archive_objects (id, operation_id, source, day, key, events, bytes, sha256, parquet_sha256, manifest_sha256,
                                  removed_by, removed_at)
     select s.id, $1, s.source, s.day, s.key, s.events, s.bytes, s.sha256, s.parquet_sha256, s.manifest_sha256,
            $2, to_timestamp($3::float8 / 1000)
       from unnest($4::uuid[], $5::text[], $6::date[], $7::text[], $8::int[], $9::bigint[], $10::text[], $11::text[], $12::text[])
              as s (id, source, day, key, events, bytes, sha256, parquet_sha256, manifest_sha256)`,
    [
      operationId,
      removedBy,
      atMs,
      of("id"),
      of("source"),
      of("day"),
      of("key"),
      of("events"),
      of("bytes"),
      of("sha256"),
      of("parquetSha256"),
      of("manifestSha256"),
    ],
    { name: "insert-archive-objects" },
  );
}

/** What a removed event counts, over `old_status`: one that was parked leaves the parked events. */
export const LEFT_PARKED = `case when old_status in ${PARKED} then '{expired}'::text[] end`;

type RemovedEvent = { id: string; from: EventStatus } & NamedAggregate;

/** Deletes locked events and lists them as archived; items and attempts stay as the record of redrives. Returns them, for `closeRemoval`. */
export async function deleteEvents(
  tx: Tx,
  events: readonly { id: string; objectId: string }[],
  atMs: number,
): Promise<RemovedEvent[]> {
  const ids = events.map(({ id }) => id);
  const ofEvents = "= any($1::uuid[])";
  const within = "between $3 and $4";
  return tx.query<RemovedEvent>(
    `with facts as (
       delete from dlq_event_facts f where f.id ${ofEvents} and f.id ${within} returning f.id, f.event_type, f.payload_bytes),
     bodies as (
       delete from dlq_event_bodies b where b.id ${ofEvents} and b.id ${within} returning b.id, sha256(b.payload) as hash),
     revisions as (
       delete from event_revisions r where r.id ${ofEvents} and r.id ${within} returning r.id, coalesce(r.hash, sha256(r.payload)) as hash),
     hashes as (
       select id, array_agg(hash) as all from (select * from bodies union all select * from revisions) b group by id),
     bounces as (delete from event_bounces n where n.id ${ofEvents} and n.id ${within}),
     gone as (
       delete from dlq_events e where e.id ${ofEvents} and e.id ${within}
       returning e.id, e.source_id, e.event_id, e.aggregate_type, e.aggregate_id, e.version, e.error_code, e.fingerprint,
                 e.first_seen, e.status, e.confirmed_at, e.status as old_status, null::text as new_status),
     left_lines as (delete from aggregate_lines where ctid = any(${rowsOf("gone")})),
     archived as (
       insert into archived_events (id, object_id, source_id, source, event_id, aggregate_id, aggregate_type, version, event_type,
                                    error_code, status, payload_bytes, hashes)
       select g.id, o.object_id, g.source_id, s.name, g.event_id, g.aggregate_id, coalesce(g.aggregate_type, ''), g.version,
              f.event_type, g.error_code, g.status, coalesce(f.payload_bytes, 0), h.all
         from gone g join unnest($1::uuid[], $2::uuid[]) o(id, object_id) on o.id = g.id
              join sources s on s.id = g.source_id left join facts f on f.id = g.id left join hashes h on h.id = g.id)
     ${rollupOf("gone", { flow: { kinds: LEFT_PARKED, at: "to_timestamp($5::float8 / 1000)" } })}
     select id, old_status as "from", source_id as "sourceId", aggregate_type as "aggregateType",
            aggregate_id as "aggregateId"
       from gone`,
    [ids, events.map(({ objectId }) => objectId), ...idSpan(ids), atMs],
    { name: "delete-events" },
  );
}

/** A version that counted as processed goes on to count. It locks the reports of versions: to be called last. */
export async function closeRemoval(tx: Tx, removed: readonly RemovedEvent[]): Promise<void> {
  await deleteSkips(
    tx,
    removed.map(({ id }) => id),
  );
  await reportArchivedVersions(tx, removed);
}
