import { followLines } from "@/lib/order/lines.write";
import { deleteSkips } from "@/lib/order/skips.write";
import type { Tx } from "@/lib/platform/database/db";
import { INT4_MAX } from "@/lib/platform/plain/storable.pure";
import type { WithdrawnItem } from "@/lib/redrive/life/withdraw-items.write";
import type { EVENT_MOVES } from "@/lib/states/event-state.pure";
import { lockEvents } from "@/lib/states/fence.write";
import { flowSql, rollupOf } from "@/lib/states/rollup.write";
import { EVENT, EVENT_MOVE } from "@/lib/states/state.sql";

type IgnoredFrom = (typeof EVENT_MOVES.ignore.from)[number];

/**
 * Moves events from PENDING, or from QUEUED when their item was just withdrawn, to IGNORED. `attempts`: sends of the
 * item, which count as the event's; `lost`: one of them may have been delivered, and counts as a redrive. Returns the moved events, with their status before.
 */
export async function ignoreEvents(
  tx: Tx,
  events: readonly Omit<WithdrawnItem, "redriveId">[],
  actor: string,
): Promise<{ id: string; from: IgnoredFrom }[]> {
  await lockEvents(
    tx,
    events.map(({ id }) => id),
  );
  const ignored = await tx.query<{ id: string; from: IgnoredFrom }>(
    `with was as materialized (
       select e.id, e.status, w.attempts, w.lost
         from dlq_events e join unnest($1::uuid[], $3::int[], $4::int[]) as w(id, attempts, lost) on w.id = e.id
        where e.id = any($1::uuid[]) and e.status in ${EVENT_MOVE.ignore.from}
     ), moved as (
       update dlq_events e
          set status = ${EVENT_MOVE.ignore.to}, last_operator = $2, attempts = least(e.attempts::bigint + was.attempts, ${INT4_MAX}),
              redrives = e.redrives + was.lost
         from was
        where e.id = was.id and e.status = was.status
          and (e.status <> ${EVENT.QUEUED} or not exists (select 1 from open_items i where i.id = e.id))
       returning e.id, e.source_id, e.error_code, e.fingerprint, e.first_seen, was.status as old_status,
                 e.status as new_status
     )${rollupOf("moved", { flow: { kinds: flowSql("ignore"), at: "now()" } })}
     select id, old_status as "from" from moved`,
    [
      events.map(({ id }) => id),
      actor,
      events.map(({ attempts }) => attempts),
      events.map(({ lost }) => (lost ? 1 : 0)),
    ],
  );
  await followLines(
    tx,
    ignored.map(({ id }) => id),
  );
  return ignored;
}

/** IGNORED to PENDING, with a fresh redrive limit and no cooldown unless `keepLimits`. Returns the ids that moved. */
export async function releaseEvents(
  tx: Tx,
  ids: readonly string[],
  { actor, keepLimits = false }: { actor: string; keepLimits?: boolean },
): Promise<string[]> {
  await lockEvents(tx, ids);
  const rows = await tx.query<{ id: string }>(
    `with moved as (
       update dlq_events e
          set status = ${EVENT_MOVE.release.to}, last_operator = $2,
              redrives = case when $3 then e.redrives else 0 end,
              failures = case when $3 then e.failures else 0 end,
              cooldown_until = case when $3 then e.cooldown_until end
        where e.id = any($1::uuid[]) and e.status in ${EVENT_MOVE.release.from}
       returning e.id, e.source_id, e.error_code, e.fingerprint, e.first_seen, ${EVENT_MOVE.release.from} as old_status,
                 e.status as new_status
     )${rollupOf("moved", { flow: { kinds: flowSql("release"), at: "now()" } })}
     select id from moved`,
    [ids, actor, keepLimits],
  );
  const released = rows.map((row) => row.id);
  // Whoever releases a skipped event wants it to be sent in its place.
  await deleteSkips(tx, released);
  return released;
}
