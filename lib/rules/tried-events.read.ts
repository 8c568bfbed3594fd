import type { Queryable } from "@/lib/platform/database/db";
import { wasConfirmed } from "@/lib/selection/filter/event-filter.sql";
import { EVENT, ITEM } from "@/lib/states/state.sql";

/** What is stored of an event's past, for a trial. Epoch milliseconds. */
export type PastOfEvent = {
  kind: string;
  parkedMs: number;
  /** Its first redrive that was not refused, or its confirmation, whichever was earlier; null = it is still parked. */
  leftMs: number | null;
  confirmed: boolean;
  /** It was redriven, and its confirmation is still open. */
  waiting: boolean;
  /** Sends that were delivered or failed, and bounces. */
  sends: number;
};

const ms = (time: string) => `(extract(epoch from ${time}) * 1000)::float8`;

export async function readPastsOfEvents(db: Queryable, ids: readonly string[]): Promise<Map<string, PastOfEvent>> {
  const rows = await db.query<{ id: string } & PastOfEvent>(
    `select e.id, e.fingerprint || ' ' || e.source_id as kind, ${ms("e.first_seen")} as "parkedMs",
            ${ms("least(p.first, e.confirmed_at)")} as "leftMs",
            e.status = ${EVENT.REDRIVEN} and e.confirmed_at is not null as confirmed,
            e.status in (${EVENT.REDRIVEN}, ${EVENT.QUEUED}) and e.confirmed_at is null as waiting,
            e.bounces + p.sends as sends
       from dlq_events e
       cross join lateral (
         select min(r.created_at) as first, count(*) filter (where i.state in (${ITEM.delivered}, ${ITEM.failed}))::int as sends
           from redrive_items i join redrives r on r.id = i.redrive_id
          where i.id = e.id and r.mode = 'deliver' and i.state not in (${ITEM.refused}, ${ITEM.cancelled})) p
      where e.id = any($1::uuid[])`,
    [ids],
  );
  return new Map(rows.map(({ id, ...past }) => [id, past]));
}

/** The confirmations of the kinds of these events since `fromMs`. `after`: the first one after an event was parked. */
export async function readGroupSuccesses(
  db: Queryable,
  events: readonly PastOfEvent[],
  fromMs: number,
): Promise<{ after(event: PastOfEvent): number | null }> {
  const kinds = [...new Set(events.map(({ kind }) => kind))].map((kind) => kind.split(" "));
  const rows = await db.query<{ kind: string; times: number[] }>(
    `select k.fingerprint || ' ' || k.source_id as kind, array_agg(t.at order by t.at) as times
       from unnest($1::text[], $2::uuid[]) as k (fingerprint, source_id)
       cross join lateral (
         select distinct ceil(extract(epoch from c.confirmed_at))::float8 * 1000 as at
           from dlq_events c
          where c.fingerprint = k.fingerprint and c.source_id = k.source_id and ${wasConfirmed("c")}
            and c.confirmed_at >= to_timestamp($3::float8 / 1000)) t
      group by 1`,
    [kinds.map(([fingerprint]) => fingerprint), kinds.map(([, sourceId]) => sourceId), fromMs],
  );
  const times = new Map(rows.map((row) => [row.kind, row.times]));
  return { after: ({ kind, parkedMs }) => firstAbove(times.get(kind) ?? [], parkedMs) };
}

/** `sorted` ascending. */
function firstAbove(sorted: readonly number[], bound: number): number | null {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]! > bound) high = middle;
    else low = middle + 1;
  }
  return sorted[low] ?? null;
}
