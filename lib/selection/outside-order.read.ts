import { type AggregateName, aggregateColumns, aggregateKey } from "@/lib/order/aggregate.pure";
import {
  type AggregateOrder,
  HEADS_JSON,
  headsOut,
  processedOf,
  type StoredHead,
} from "@/lib/order/aggregate-order.read";
import { inLine } from "@/lib/order/line.sql";
import { HEADS_MAX } from "@/lib/order/order-gate.pure";
import { columnsOf } from "@/lib/platform/database/columns";
import type { Queryable } from "@/lib/platform/database/db";
import {
  CANDIDATE_COLUMNS,
  type Candidate,
  type CandidatePage,
  compileSelection,
} from "@/lib/selection/candidates.read";
import { EVENT } from "@/lib/states/state.sql";

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
  return [...aggregateColumns(wanted), ...columnsOf(wanted, "top", "judged")];
}

/** SQL: the events `e` of parked versions of the aggregate `w` above its processed version and below `w.top`, which hold what is sent. */
const EARLIER_PARKED = `aggregate_lines l join dlq_event_rows e on e.id = l.id
  where ${inLine("l", "w", "parked")} and l.place >= d.first and l.place < w.top`;

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
  const text = `with wanted as materialized ${WANTED}
     select w.source_id as "sourceId", w.aggregate_type as "aggregateType", w.aggregate_id as "aggregateId",
            d.processed::text, o.heads
       from wanted w ${processedOf("w")}
       left join lateral (
         select ${HEADS_JSON} as heads from (
           select e.id, e.event_id, e.version, e.status from ${EARLIER_PARKED}
              and (e.status = ${EVENT.IGNORED} or not coalesce(e.id <= $1 and ${selected.where}, false))
            order by l.place, l.id limit ${HEADS_MAX}) h
       ) o on true
      where o.heads is not null or w.judged`;
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
  aggregates: readonly AggregateName[],
  page: Pick<CandidatePage, "selection" | "asOfMs" | "cutoff">,
): Promise<Map<string, AggregateOrder["cooling"]>> {
  if (aggregates.length === 0) return new Map();
  const selected = compileSelection(page.selection, page.asOfMs, 7);
  const wanted = aggregates.map((aggregate) => ({ ...aggregate, top: 0n }));
  const text = `select w.source_id as "sourceId", w.aggregate_type as "aggregateType", w.aggregate_id as "aggregateId",
            e.id, e.event_id as "eventId", e.version::text as version
       from ${WANTED} w
       join aggregate_lines l on ${inLine("l", "w", "parked")} and l.cooldown_until > now()
       join dlq_event_rows e on e.id = l.id
      where not coalesce(e.id <= $1 and ${selected.where}, false)`;
  type CoolingRow = AggregateName & { id: string; eventId: string; version: string | null };
  const rows = await db.query<CoolingRow>(text, [page.cutoff, ...wantedValues(wanted), ...selected.values], {
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
  const text = `with wanted as materialized ${WANTED}, earlier as materialized (
       select p.id
         from wanted w ${processedOf("w")}
        cross join lateral (
          select e.id from ${EARLIER_PARKED}
             and not coalesce(e.id <= $1 and ${selected.where}, false)
             and not exists (select 1 from redrive_items i where i.id = e.id and i.redrive_id = $7)
             and ($9::uuid is null or e.id > $9)) p
        order by p.id limit $8
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
