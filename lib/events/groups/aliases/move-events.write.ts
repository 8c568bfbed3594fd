import type { Tx } from "@/lib/platform/database/db";
import { idSpan } from "@/lib/platform/database/id-span";
import { lockEvents } from "@/lib/states/fence.write";
import { rollupOf } from "@/lib/states/rollup.write";
import { PARKED } from "@/lib/states/state.sql";

/** `bounces`: the group was found by the error that the event had then; null = whatever its error is. */
export type EventMove = { id: string; from: string; to: string; bounces: number | null };

/**
 * Puts events into other groups, by compare-and-set, with their counters. The history of the old group stays in it:
 * `corrected` takes a parked event out of the one group and adds it to the other, so that the flow of both still adds up
 * to what is parked, also when the history follows later. Returns how many were moved.
 */
export async function moveEvents(tx: Tx, moves: readonly EventMove[]): Promise<number> {
  if (moves.length === 0) return 0;
  const ids = moves.map(({ id }) => id);
  await lockEvents(tx, ids);
  const [row] = await tx.query<{ n: number }>(
    `with moved as (
       update dlq_events e set fingerprint = w.new
         from unnest($1::uuid[], $2::text[], $3::text[], $4::int[]) w (id, old, new, bounces)
        where e.id = w.id and e.id = any($1::uuid[]) and e.id between $5 and $6 and e.fingerprint = w.old
          and e.bounces = coalesce(w.bounces, e.bounces)
       returning e.source_id, e.error_code, e.error_code as old_error_code, e.fingerprint, w.old as old_fingerprint, e.first_seen,
                 e.status as old_status, e.status as new_status
     )${rollupOf("moved", { regrouped: true })}, corrected as (
       insert into dlq_flow (minute, source_id, error_code, fingerprint, kind, n)
       select date_trunc('minute', now(), 'UTC'), source_id, error_code, print, 'corrected', sum(n) from (
         select source_id, error_code, old_fingerprint as print, -1 as n from moved where new_status in ${PARKED}
         union all select source_id, error_code, fingerprint, 1 from moved where new_status in ${PARKED}) delta
        group by source_id, error_code, print
     )
     select count(*)::int as n from moved`,
    [
      ids,
      moves.map(({ from }) => from),
      moves.map(({ to }) => to),
      moves.map(({ bounces }) => bounces),
      ...idSpan(ids),
    ],
    { name: "move-events" },
  );
  return row!.n;
}
