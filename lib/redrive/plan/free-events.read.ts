import { UNDER_CONTROL } from "@/lib/order/controls/controls.read";
import { inLine } from "@/lib/order/line.sql";
import type { Earlier } from "@/lib/order/order-gate.pure";
import type { Queryable } from "@/lib/platform/database/db";
import { type CandidatePage, compileSelection } from "@/lib/selection/candidates.read";
import { EVENT } from "@/lib/states/state.sql";

/** Ids as the server writes an array of them. They go from one statement to the next as this one text. */
export type IdList = string;

export const NO_IDS: IdList = "{}";

export function withIds(list: IdList, ids: readonly string[]): IdList {
  if (ids.length === 0) return list;
  return list === NO_IDS ? `{${ids.join(",")}}` : `${list.slice(0, -1)},${ids.join(",")}}`;
}

/**
 * SQL: the event `e` of the source `s` passes the gate, and no rule of its own has a say in it. `gate` decides about all
 * others, among them many that it lets pass.
 */
const PASSES = `(e.status = ${EVENT.PENDING} and e.admission is null and e.redrives < $3
  and (e.cooldown_until is null or e.cooldown_until <= to_timestamp($2::float8 / 1000))
  and not ${UNDER_CONTROL})`;

/**
 * Parts the events of a chunk into the free ones, which the redrive sends whatever its rules say, and the rest, about
 * which `planEvents` decides. An aggregate is never split: all its events here are free, or none. It is not free when an
 * event of it here may be refused, or when one outside of the selection may hold it or be taken along.
 */
export async function readFree(
  db: Queryable,
  page: Pick<CandidatePage, "selection" | "asOfMs" | "cutoff"> & { earlier: Earlier },
  ids: readonly string[],
  { nowMs, redriveLimit }: { nowMs: number; redriveLimit: number },
): Promise<{ free: IdList; rest: string[] }> {
  if (ids.length === 0) return { free: NO_IDS, rest: [] };
  const ordered = page.earlier !== "pass";
  const selected = compileSelection(page.selection, page.asOfMs, 5);
  const outside = `not coalesce(e.id <= $4 and ${selected.where}, false)`;
  // Groups instead of a join, whose number of rows the planner would have to guess.
  const text = `with judged as materialized (
       select e.id, e.source_id, coalesce(e.aggregate_type, '') as aggregate_type, e.aggregate_id, e.version, ${PASSES} as passes
         from dlq_events e join sources s on s.id = e.source_id where e.id = any($1::uuid[])
     ), inside as materialized (
       select source_id, aggregate_type, aggregate_id, max(version) as top from judged
        where aggregate_id is not null group by 1, 2, 3 having bool_and(passes)
     ), outside as (
       select i.source_id, i.aggregate_type, i.aggregate_id, min(e.version) as least,
              coalesce(bool_or(l.cooldown_until > now()), false) as cools
         from inside i
         join aggregate_lines l on ${inLine("l", "i", "parked")}
         join dlq_event_rows e on e.id = l.id and (e.status = ${EVENT.IGNORED} or ${outside})
        group by 1, 2, 3
     ), free as materialized (
       select source_id, aggregate_type, aggregate_id
         from (select source_id, aggregate_type, aggregate_id, true as inside, top, null::bigint as least, false as cools from inside
               union all
               select source_id, aggregate_type, aggregate_id, false, null, least, cools from outside) a
        group by 1, 2, 3
       having bool_or(inside) and not bool_or(cools) and (min(least) < max(top)) is not true
     ), parted as materialized (
       select j.id, j.passes and (j.aggregate_id is null or f.aggregate_id is not null) as free
         from judged j left join free f on f.aggregate_id = j.aggregate_id and f.source_id = j.source_id
                                       and f.aggregate_type = j.aggregate_type
     )
     select coalesce(array_agg(id) filter (where free), '{}')::text as free,
            coalesce(array_agg(id) filter (where not free), '{}') as rest
       from ${ordered ? "parted" : "(select id, passes as free from judged) judged"}`;
  const values = [ids, nowMs, redriveLimit, page.cutoff, ...selected.values];
  const [row] = await db.query<{ free: IdList; rest: string[] }>(text, values, {
    name: "free-events",
  });
  return row!;
}
