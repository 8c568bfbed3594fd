import { NO_AGGREGATE_TYPE, versionOut } from "@/lib/order/aggregate.pure";
import { BLACKLISTED_HASHED } from "@/lib/order/controls/control.sql";
import { inLine } from "@/lib/order/line.sql";
import { SKIPPED } from "@/lib/order/order.sql";
import type { Queryable, Tx } from "@/lib/platform/database/db";
import type { EarlierOut, EarlierSample } from "@/lib/redrive/preview/redrive-preview.shapes";
import { type CandidateGroup, type Selected, selectedWhere } from "@/lib/selection/candidates.read";
import { EVENT, HOLDING } from "@/lib/states/state.sql";

/** Selected events looked at, newest first; of a larger selection the numbers are lower bounds. */
const EARLIER_SELECTED_MAX = 100_000;
/** Up to this many events, aggregates are looked up by index in each partition. */
const LOOKED_UP_MAX = 5_000;
export const EARLIER_SAMPLES_MAX = 5;
export const EARLIER_BEHIND_MAX = 10;
export const EARLIER_HEADS_MAX = 1_000;
/** Events without a version come last in their aggregate. */
const NO_VERSION = "9223372036854775807";
/** Earlier versions returned by id, for a preview that takes them along. */
const EARLIER_IDS_MAX = 20_000;

/** The selected events that pass the gate: whole kinds of events, and single events under a control of their own. */
export type Passing = {
  groups: readonly CandidateGroup[];
  touched: readonly { id: string; passes: boolean }[];
  redriveLimit: number;
};

type HeldGroup = { source: string; errorCode: string; count: number };

export type EarlierSummary = EarlierOut & {
  /** Held events by source and error code, as a preview counts them. */
  held: HeldGroup[];
  /** Earlier versions outside of the selection, at most EARLIER_IDS_MAX. */
  ids: string[];
};

type SummaryRow = {
  selected: number;
  heldEvents: number;
  heldAggregates: number;
  earlierEvents: number;
  takenAlong: number;
  held: HeldGroup[] | null;
  samples:
    | (Omit<EarlierSample, "version" | "behind"> & {
        version: string;
        behind: (Omit<EarlierSample["behind"][number], "version"> & { version: string })[];
      })[]
    | null;
  headIds: string[];
  ids: string[] | null;
};

/**
 * The selected events behind parked versions that do not go before them: outside of the selection, or refused by the
 * gate within it. The rule of `order/order-gate.pure` for a whole selection, in one statement that joins its aggregates once
 * with the parked events. `held` also has the events behind one that cools down, with or without a version.
 */
export async function summarizeEarlier(db: Tx, page: Selected, passing: Passing): Promise<EarlierSummary> {
  const { where, values } = await selectedWhere(db, page, 13);
  const of = <Value>(pick: (group: CandidateGroup) => Value) => passing.groups.map(pick);
  const count = passing.groups.reduce((sum, group) => sum + group.count, passing.touched.length);
  // The planner cannot know how many aggregates a selection has. Many are joined by hash, not by one look-up each.
  if (count > LOOKED_UP_MAX) await db.run("set local enable_nestloop = off");
  const [row] = await db.query<SummaryRow>(summarySql(where), [
    page.cutoff,
    page.asOfMs,
    passing.redriveLimit,
    passing.touched.filter(({ passes }) => passes).map(({ id }) => id),
    passing.touched.map(({ id }) => id),
    of((group) => group.source),
    of((group) => group.errorCode),
    of((group) => group.status),
    of((group) => group.cooling),
    of((group) => group.exhausted),
    of((group) => group.blacklisted),
    of((group) => group.admission ?? ""),
    ...values,
  ]);
  const { selected, held, samples, ids, ...counts } = row!;
  return {
    ...counts,
    bounded: selected > EARLIER_SELECTED_MAX,
    samples: (samples ?? []).map((sample) => ({
      ...sample,
      version: versionOut(sample.version),
      behind: sample.behind.map((head) => ({ ...head, version: versionOut(head.version) })),
    })),
    held: held ?? [],
    ids: ids ?? [],
  };
}

/**
 * `$1`..`$12`: the cutoff, the moment, the redrive limit, the touched ids, and the columns of the groups. `where` has the
 * parameters after these.
 */
function summarySql(where: string): string {
  return `with cooling as materialized (
     select e.id, e.source_id, coalesce(e.aggregate_type, '${NO_AGGREGATE_TYPE}') as aggregate_type, e.aggregate_id, e.version,
            (e.id <= $1 and ${where}) is true as selected
       from dlq_event_rows e
      where e.status = ${EVENT.PENDING} and e.cooldown_until > to_timestamp($2::float8 / 1000) and e.aggregate_id is not null
        and not ${SKIPPED}
   ), selected as materialized (
     select e.id, e.event_id, e.source_id, coalesce(e.aggregate_type, '${NO_AGGREGATE_TYPE}') as aggregate_type,
            e.aggregate_id, e.version, e.error_code, s.name as source, e.status,
            (e.cooldown_until > to_timestamp($2::float8 / 1000)) is true as cooling, e.redrives >= $3 as exhausted,
            ${BLACKLISTED_HASHED} as blacklisted, coalesce(e.admission, '') as admission
       from dlq_event_rows e join sources s on s.id = e.source_id
      where e.id <= $1 and e.aggregate_id is not null and e.status in ${HOLDING} and ${where}
        and (e.version is not null or (e.source_id, coalesce(e.aggregate_type, '${NO_AGGREGATE_TYPE}'), e.aggregate_id) in (
              select source_id, aggregate_type, aggregate_id from cooling))
      order by e.id desc limit ${EARLIER_SELECTED_MAX + 1}
   ), judged as materialized (
     select *, (id = any($4::uuid[]) or (id <> all($5::uuid[]) and (source, error_code, status, cooling, exhausted, blacklisted, admission) in (
              select * from unnest($6::text[], $7::text[], $8::text[], $9::boolean[], $10::boolean[], $11::boolean[], $12::text[])))) as passes
       from selected
   ), refused as materialized (
     select id from judged where not passes
   ), wanted as materialized (
     select source_id, aggregate_type, aggregate_id, max(version) as top
       from judged where passes and version is not null group by source_id, aggregate_type, aggregate_id
   ), parked as materialized (
     select w.source_id, w.aggregate_type, w.aggregate_id, e.id, e.event_id, e.version, e.status
       from wanted w join aggregate_lines l on ${inLine("l", "w", "parked")} and l.place < w.top join dlq_event_rows e on e.id = l.id
      where not coalesce(e.id <= $1 and ${where}, false) or e.id in (select id from refused)
   ), behind as materialized (
     select source_id, aggregate_type, aggregate_id from parked
     union
     select source_id, aggregate_type, aggregate_id from cooling
      where version is not null
        and (source_id, aggregate_type, aggregate_id) in (
              select source_id, aggregate_type, aggregate_id from judged where passes)
   ), done as materialized (
     select k.*, greatest(p.version, c.confirmed_version) as processed
       from behind k
       left join (select k.source_id, k.aggregate_type, k.aggregate_id, max(p.version) as version
                    from behind k join processed_events p on p.source_id = k.source_id
                     and p.aggregate_id = k.aggregate_id and p.aggregate_type = k.aggregate_type
                   group by 1, 2, 3) p using (source_id, aggregate_type, aggregate_id)
       left join aggregates c using (source_id, aggregate_type, aggregate_id)
   ), heads as materialized (
     select p.* from parked p join done d using (source_id, aggregate_type, aggregate_id)
      where d.processed is null or p.version > d.processed
   ), firsts as materialized (
     select source_id, aggregate_type, aggregate_id, min(version) as first
       from heads group by source_id, aggregate_type, aggregate_id
   ), held as materialized (
     select j.* from judged j join firsts f using (source_id, aggregate_type, aggregate_id)
      where j.passes and j.version > f.first
   ), behind_cooling as materialized (
     select j.id, j.source, j.error_code from judged j
      where j.passes and exists (
        select 1 from cooling c
         where (c.source_id, c.aggregate_type, c.aggregate_id) = (j.source_id, j.aggregate_type, j.aggregate_id)
           and (not c.selected or c.id in (select id from refused))
           and not exists (select 1 from done d
                            where (d.source_id, d.aggregate_type, d.aggregate_id) = (c.source_id, c.aggregate_type, c.aggregate_id)
                              and d.processed >= c.version)
           and (coalesce(c.version, ${NO_VERSION}), c.id) < (coalesce(j.version, ${NO_VERSION}), j.id))
   ), samples as (
     select * from (
       select distinct on (aggregate_id, source_id, aggregate_type) * from held
        order by aggregate_id, source_id, aggregate_type, version desc, id) last_of
      order by id desc limit ${EARLIER_SAMPLES_MAX}
   )
   select (select count(*) from selected) as selected,
          (select count(*) from held) as "heldEvents",
          (select count(*) from firsts) as "heldAggregates",
          (select count(*) from heads) as "earlierEvents",
          (select count(*) from heads h where not exists (select 1 from judged j where j.id = h.id)) as "takenAlong",
          (select jsonb_agg(jsonb_build_object('source', source, 'errorCode', error_code, 'count', n))
             from (select source, error_code, count(*) as n from (
                     select id, source, error_code from held union select id, source, error_code from behind_cooling) h
                    group by source, error_code) g) as held,
          (select jsonb_agg(jsonb_build_object('id', s.id, 'eventId', s.event_id, 'source', s.source,
                    'aggregateType', nullif(s.aggregate_type, ''), 'aggregateId', s.aggregate_id,
                    'version', s.version::text, 'behind', b.behind) order by s.id desc)
             from samples s cross join lateral (
               select jsonb_agg(jsonb_build_object('id', h.id, 'eventId', h.event_id, 'version', h.version::text,
                                                   'status', h.status) order by h.version, h.id) as behind
                 from (select * from heads h
                        where h.aggregate_id = s.aggregate_id and h.source_id = s.source_id
                          and h.aggregate_type = s.aggregate_type and h.version < s.version
                        order by h.version, h.id limit ${EARLIER_BEHIND_MAX}) h) b) as samples,
          array(select distinct on (aggregate_id, source_id, aggregate_type) id from heads
                 order by aggregate_id, source_id, aggregate_type, version, id limit ${EARLIER_HEADS_MAX}) as "headIds",
          (select array_agg(id) from (
             select h.id from heads h where not exists (select 1 from judged j where j.id = h.id) limit ${EARLIER_IDS_MAX}) i) as ids`;
}

/** Earlier versions that a selection of few events would take along, up to `limit`, before any gate. */
export async function countEarlierUpTo(db: Queryable, page: Selected, limit: number): Promise<number> {
  const { where, values } = await selectedWhere(db, page, 3);
  const [row] = await db.query<{ n: number }>(
    `with wanted as materialized (
       select e.source_id, coalesce(e.aggregate_type, '${NO_AGGREGATE_TYPE}') as aggregate_type, e.aggregate_id,
              max(e.version) as top
         from dlq_event_rows e
        where e.id <= $1 and e.version is not null and e.aggregate_id is not null and e.status = ${EVENT.PENDING} and ${where}
        group by 1, 2, 3
     )
     select count(*) as n from (
       select 1 from wanted w join aggregate_lines l on ${inLine("l", "w", "parked")} and l.place < w.top join dlq_event_rows e on e.id = l.id
        where not coalesce(e.id <= $1 and ${where}, false) limit $2) few`,
    [page.cutoff, limit, ...values],
  );
  return row!.n;
}
