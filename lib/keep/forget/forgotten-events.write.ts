import { LEFT_PARKED } from "@/lib/keep/removal/removed-events.write";
import { reportArchivedVersions } from "@/lib/keep/removal/reported-versions.write";
import { rowsOf } from "@/lib/order/line.sql";
import { deleteSkips } from "@/lib/order/skips.write";
import type { Tx } from "@/lib/platform/database/db";
import { idSpan } from "@/lib/platform/database/id-span";
import { rollupOf } from "@/lib/states/rollup.write";
import { EVENT } from "@/lib/states/state.sql";

/** Who reports the versions of forgotten events, while others of their aggregates are stored. */
const REPORTED_BY = "parkade-forgotten";

export type Forgotten = {
  id: string;
  sourceId: string;
  eventId: string;
  aggregateType: string | null;
  aggregateId: string | null;
  /** The version that its consumer has processed; null = it has not, or has no version. */
  processed: string | null;
};

const FORGOTTEN = `id, source_id as "sourceId", event_id as "eventId", aggregate_type as "aggregateType", aggregate_id as "aggregateId"`;

/** Deletes locked events with all that belongs to them alone. Counts are those of rows. */
export async function deleteStored(
  tx: Tx,
  ids: readonly string[],
  atMs: number,
): Promise<{ forgotten: Forgotten[]; revisions: number; bounces: number }> {
  const ofEvents = "= any($1::uuid[])";
  const within = "between $2 and $3";
  const rows = await tx.query<Forgotten & { revisions: number; bounces: number }>(
    `with facts as (delete from dlq_event_facts f where f.id ${ofEvents} and f.id ${within}),
     bodies as (delete from dlq_event_bodies b where b.id ${ofEvents} and b.id ${within}),
     revisions as (delete from event_revisions r where r.id ${ofEvents} and r.id ${within} returning 1),
     bounces as (delete from event_bounces n where n.id ${ofEvents} and n.id ${within} returning 1),
     gone as (
       delete from dlq_events e where e.id ${ofEvents} and e.id ${within}
       returning e.id, e.source_id, e.event_id, e.aggregate_type, e.aggregate_id, e.version, e.error_code, e.fingerprint,
                 e.first_seen, e.status, e.confirmed_at, e.status as old_status, null::text as new_status),
     left_lines as (delete from aggregate_lines where ctid = any(${rowsOf("gone")}))
     ${rollupOf("gone", { flow: { kinds: LEFT_PARKED, at: "to_timestamp($4::float8 / 1000)" } })}
     select ${FORGOTTEN}, case when status = ${EVENT.REDRIVEN} and confirmed_at is not null then version::text end as processed,
            (select count(*)::int from revisions) as revisions, (select count(*)::int from bounces) as bounces
       from gone`,
    [ids, ...idSpan(ids), atMs],
  );
  await deleteSkips(tx, ids);
  return { forgotten: rows, revisions: rows[0]?.revisions ?? 0, bounces: rows[0]?.bounces ?? 0 };
}

/** Takes events out of the archive's list; those that were restored meanwhile are left out. */
export async function deleteArchived(tx: Tx, ids: readonly string[]): Promise<Forgotten[]> {
  const gone = await tx.query<Forgotten>(
    `delete from archived_events where id = any($1::uuid[])
     returning ${FORGOTTEN}, case when status = ${EVENT.REDRIVEN} then version::text end as processed`,
    [ids],
  );
  await reportArchivedVersions(tx, gone);
  return gone;
}

/**
 * What else the store holds of these events: their keys (that of a newer event of the same id stays), reports of consumers, and what items and attempts say of them. The
 * items stay, so that the counts of their redrives stay true.
 */
export async function forgetEvents(tx: Tx, forgetId: string, events: readonly Forgotten[]): Promise<void> {
  if (events.length === 0) return;
  const ids = events.map(({ id }) => id);
  const keys = [events.map(({ sourceId }) => sourceId), events.map(({ eventId }) => eventId)];
  const NAMED = "unnest($1::uuid[], $2::text[]) as w(source_id, event_id)";
  await tx.run(
    `insert into forgotten_events as f (id, source_id, forget_id) select w.id, w.source_id, $3 from unnest($1::uuid[], $2::uuid[]) as w(id, source_id)
     on conflict (id) do update set times = f.times + 1, forget_id = excluded.forget_id`,
    [ids, keys[0], forgetId],
  );
  await tx.run(
    `delete from event_keys k using ${NAMED} where k.event_id = w.event_id and k.source_id = w.source_id and k.id = any($3::uuid[])`,
    [...keys, ids],
  );
  await tx.run(
    `delete from processed_events p using ${NAMED} where p.event_id = w.event_id and p.source_id = w.source_id
        and not exists (
              select from event_keys k where k.event_id = p.event_id and k.source_id = p.source_id and k.producer = p.producer)`,
    keys,
  );
  await tx.run("delete from restored_events where id = any($1::uuid[])", [ids]);
  await tx.run("select id from redrive_items where id = any($1::uuid[]) order by id for no key update", [ids]);
  await tx.run(
    `update redrive_items set aggregate_id = null, aggregate_type = '', version = null, detail = null, verdict = null, sent_record = null
      where id = any($1::uuid[])`,
    [ids],
  );
  await tx.run(
    `update redrive_attempts set idempotency_key = 'forgotten:' || id || ':' || revision, detail = null, decision = null
      where id = any($1::uuid[])`,
    [ids],
  );
  await tx.run(
    `update send_intents s
        set keys = array(select case when w.id = any($1::uuid[]) then 'forgotten:' || w.id else w.key end
                           from unnest(s.ids, s.keys) with ordinality as w(id, key, n) order by w.n)
      where s.ids && $1::uuid[]`,
    [ids],
  );
  await reportProcessed(tx, events);
}

/** A processed version goes on to count while other events of its aggregate are stored: they would be sent behind it otherwise. */
async function reportProcessed(tx: Tx, events: readonly Forgotten[]): Promise<void> {
  const processed = events.filter(({ processed, aggregateId }) => processed !== null && aggregateId !== null);
  if (processed.length === 0) return;
  await tx.run(
    `insert into processed_events as p (consumer, source_id, event_id, aggregate_type, aggregate_id, version)
     select $5, w.source_id, jsonb_build_array(w.aggregate_type, w.aggregate_id)::text, w.aggregate_type, w.aggregate_id, max(w.version)
       from unnest($1::uuid[], $2::text[], $3::text[], $4::bigint[]) as w(source_id, aggregate_type, aggregate_id, version)
      group by w.source_id, w.aggregate_type, w.aggregate_id
     on conflict (event_id, source_id, producer, consumer) do update set version = greatest(p.version, excluded.version)`,
    [
      processed.map(({ sourceId }) => sourceId),
      processed.map(({ aggregateType }) => aggregateType ?? ""),
      processed.map(({ aggregateId }) => aggregateId),
      processed.map(({ processed }) => processed),
      REPORTED_BY,
    ],
  );
}

/** Deletes what is known of those aggregates that no longer have a stored or archived event, in one source if it is named. */
export async function forgetEmptyAggregates(
  tx: Tx,
  aggregateIds: readonly string[],
  source: string | null,
): Promise<string[]> {
  const empty = await tx.query<{ id: string }>(
    `select w.id from unnest($1::text[]) as w(id)
      where not exists (select 1 from dlq_event_facts f where f.aggregate_id = w.id)
        and not exists (select 1 from archived_events a where a.aggregate_id = w.id)`,
    [aggregateIds],
  );
  const ids = empty.map(({ id }) => id);
  for (const table of ["processed_events", "aggregates"])
    await tx.run(
      `delete from ${table} where aggregate_id = any($1::text[])
          and ($2::text is null or source_id = (select s.id from sources s where s.name = $2))`,
      [ids, source],
    );
  return ids;
}
