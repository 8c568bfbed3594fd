import {
  CANDIDATE_COLUMNS,
  type Candidate,
  type CandidatePage,
  compileSelection,
} from "@/lib/events/selection/candidates.read";
import { type AggregateName, aggregateKey, NO_AGGREGATE_TYPE } from "@/lib/order/aggregate.pure";
import {
  type AggregateOrder,
  HEADS_JSON,
  headsOut,
  type StoredHead,
  sameAggregate,
  versionProcessed,
} from "@/lib/order/aggregate-order.read";
import { HOLDS, SKIPPED } from "@/lib/order/order.sql";
import { HEADS_MAX } from "@/lib/order/order-gate.pure";
import type { Queryable } from "@/lib/platform/database/db";
import { EVENT } from "@/lib/redrive/states/state.sql";

/** An aggregate of which a redrive sends versions up to `top`. */
export type WantedAggregate = AggregateName & {
  top: bigint;
  /** Read the processed version even when no event is parked outside of the selection. */
  judged?: boolean;
};

type OutsideOrder = Pick<AggregateOrder, "versionProcessed" | "heads">;

const WANTED = `(select * from unnest($2::uuid[], $3::text[], $4::text[], $5::bigint[], $6::boolean[])
  as w(source_id, aggregate_type, aggregate_id, top, judged))`;

function wantedValues(wanted: readonly WantedAggregate[]): unknown[] {
  return [
    wanted.map((aggregate) => aggregate.sourceId),
    wanted.map((aggregate) => aggregate.aggregateType ?? NO_AGGREGATE_TYPE),
    wanted.map((aggregate) => aggregate.aggregateId),
    wanted.map((aggregate) => aggregate.top.toString()),
    wanted.map((aggregate) => aggregate.judged === true),
  ];
}

/** Parked versions of the wanted aggregates below the versions that are sent, over `w` and `e`. */
const EARLIER_PARKED = `${sameAggregate("e", "w")} and ${HOLDS} and e.version < w.top`;

/**
 * The events outside of a selection that hold each aggregate, by `aggregateKey`. The selected PENDING events go before,
 * each through the gate. An aggregate without earlier parked events outside is left out, unless `judged`.
 */
export async function readOutsideOrder(
  db: Queryable,
  wanted: readonly WantedAggregate[],
  page: Pick<CandidatePage, "selection" | "asOfMs" | "cutoff">,
): Promise<Map<string, OutsideOrder>> {
  if (wanted.length === 0) return new Map();
  const selected = compileSelection(page.selection, page.asOfMs, 7);
  // One row for each aggregate, so that the planner need not guess the number of rows of a join.
  const text = `with wanted as materialized ${WANTED}, parked as materialized (
       select w.source_id, w.aggregate_type, w.aggregate_id, array_agg(e.id) as ids, array_agg(e.event_id) as event_ids,
              array_agg(e.version) as versions, array_agg(e.status) as statuses
         from wanted w
         left join dlq_event_rows e on ${EARLIER_PARKED}
                               and (e.status = ${EVENT.IGNORED} or not coalesce(e.id <= $1 and ${selected.where}, false))
        group by w.source_id, w.aggregate_type, w.aggregate_id
       having count(e.id) > 0 or bool_or(w.judged)
     )
     select p.source_id as "sourceId", p.aggregate_type as "aggregateType", p.aggregate_id as "aggregateId",
            d.processed::text, h.heads
       from parked p
       cross join lateral (select ${versionProcessed("p")} as processed) d
       left join lateral (
         select ${HEADS_JSON} as heads from (
           select * from unnest(p.ids, p.event_ids, p.versions, p.statuses) as h(id, event_id, version, status)
            where h.id is not null and (d.processed is null or h.version > d.processed)
            order by h.version, h.id limit ${HEADS_MAX}) h
       ) h on true`;
  type OutsideRow = AggregateName & { processed: string | null; heads: StoredHead[] | null };
  const rows = await db.query<OutsideRow>(text, [page.cutoff, ...wantedValues(wanted), ...selected.values], {
    name: "outside-order",
  });
  return new Map(
    rows.map((row) => [
      aggregateKey(row),
      {
        versionProcessed: row.processed === null ? null : BigInt(row.processed),
        heads: headsOut(row.heads),
      },
    ]),
  );
}

/**
 * The events outside of a selection that cool down after a failure, by `aggregateKey`: with or without a version they
 * hold what comes after them.
 */
export async function readOutsideCooling(
  db: Queryable,
  aggregateIds: readonly string[],
  page: Pick<CandidatePage, "selection" | "asOfMs" | "cutoff">,
): Promise<Map<string, AggregateOrder["cooling"]>> {
  if (aggregateIds.length === 0) return new Map();
  const selected = compileSelection(page.selection, page.asOfMs, 3);
  // In this form the planner may begin with the few events that cool down.
  const text = `select e.source_id as "sourceId", e.aggregate_type as "aggregateType", e.aggregate_id as "aggregateId",
            e.id, e.event_id as "eventId", e.version::text as version
       from dlq_event_rows e
      where e.aggregate_id = any($2::text[]) and e.status = ${EVENT.PENDING} and e.cooldown_until > now()
        and not ${SKIPPED} and not coalesce(e.id <= $1 and ${selected.where}, false)`;
  type CoolingRow = AggregateName & { id: string; eventId: string; version: string | null };
  const rows = await db.query<CoolingRow>(text, [page.cutoff, aggregateIds, ...selected.values], {
    name: "outside-cooling",
  });
  const cooling = rows.map((row) => ({ ...row, version: row.version === null ? null : BigInt(row.version) }));
  return Map.groupBy(cooling, aggregateKey);
}

/**
 * Parked versions that come before the sent versions of these aggregates and are not selected: `include` takes them
 * along. Versions that an earlier chunk took into the redrive are left out. Oldest first, keyset-paged.
 */
export async function readEarlierVersions(
  db: Queryable,
  wanted: readonly WantedAggregate[],
  page: Pick<CandidatePage, "selection" | "asOfMs" | "cutoff" | "limit"> & {
    redriveId: string | null;
    /** The last id of the page before; null = start. */
    above: string | null;
  },
): Promise<Candidate[]> {
  if (wanted.length === 0) return [];
  const selected = compileSelection(page.selection, page.asOfMs, 10);
  const text = `with wanted as materialized ${WANTED}, parked as materialized (
       select w.source_id, w.aggregate_type, w.aggregate_id, array_agg(e.id) as ids, array_agg(e.version) as versions
         from wanted w join dlq_event_rows e on ${EARLIER_PARKED}
        where not coalesce(e.id <= $1 and ${selected.where}, false)
          and not exists (select 1 from redrive_items i where i.id = e.id and i.redrive_id = $7)
          and ($9::uuid is null or e.id > $9)
        group by w.source_id, w.aggregate_type, w.aggregate_id
     ), earlier as materialized (
       select h.id
         from parked p
         cross join lateral (select ${versionProcessed("p")} as processed) d
         cross join lateral unnest(p.ids, p.versions) as h(id, version)
        where d.processed is null or h.version > d.processed
        order by h.id limit $8
     )
     select ${CANDIDATE_COLUMNS} from earlier p join dlq_events e on e.id = p.id join sources s on s.id = e.source_id
      order by e.id`;
  return db.query<Candidate>(text, [
    page.cutoff,
    ...wantedValues(wanted),
    page.redriveId,
    page.limit,
    page.above,
    ...selected.values,
  ]);
}
