import { type AggregateName, aggregateColumns } from "@/lib/order/aggregate.pure";
import { PROCESSED, sameAggregate } from "@/lib/order/aggregate-order.read";
import type { Tx } from "@/lib/platform/database/db";
import { idSpan } from "@/lib/platform/database/id-span";

/**
 * Raises the confirmed versions of the aggregates of these events to those of the events that are confirmed: to be called in the
 * transaction that confirmed or restored them. It locks the rows of all these aggregates by id, source and type, so that what locks some
 * of them afterwards cannot deadlock. A raised row has a lease that ended yesterday: a removal that does not see
 * a restored event yet waits for the row, and then sees that lease.
 */
export async function raiseConfirmed(tx: Tx, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await tx.run(
    `insert into aggregates as a (source_id, aggregate_type, aggregate_id, lease_until, confirmed_version, confirmed_event)
     select e.source_id, coalesce(e.aggregate_type, ''), e.aggregate_id, now() - interval '1 day',
            max(e.version) filter (where ${PROCESSED}), (array_agg(e.id order by e.version desc) filter (where ${PROCESSED}))[1]
       from dlq_events e
      where e.id = any($1::uuid[]) and e.id between $2 and $3 and e.aggregate_id is not null
      group by 1, 2, 3 order by 3, 1, 2
     on conflict (aggregate_id, source_id, aggregate_type) do update
        set confirmed_version = excluded.confirmed_version, confirmed_event = excluded.confirmed_event,
            lease_until = greatest(a.lease_until, excluded.lease_until)
      where excluded.confirmed_version >= coalesce(a.confirmed_version, excluded.confirmed_version)`,
    [ids, ...idSpan(ids)],
    { name: "raise-confirmed" },
  );
}

/**
 * Of these aggregates, lowers the confirmed versions whose event is confirmed no longer to the newest version that is: to be called in the
 * transaction of its bounce. It reads the stored events of such an aggregate. All of the aggregates are locked first, by a statement of
 * its own: what another transaction has confirmed meanwhile is seen by the next one.
 */
export async function lowerConfirmed(tx: Tx, aggregates: readonly AggregateName[]): Promise<void> {
  if (aggregates.length === 0) return;
  const values = aggregateColumns(aggregates);
  const NAMED = `(select distinct * from unnest($1::uuid[], $2::text[], $3::text[]) as n(source_id, aggregate_type, aggregate_id)
                   order by aggregate_id, source_id, aggregate_type)`;
  await tx.run(
    `select from ${NAMED} n cross join lateral (select from aggregates a where ${SAME_NAME} for update of a) a`,
    values,
    { name: "lock-aggregates" },
  );
  await tx.run(
    `with lost as materialized (
       select n.* from ${NAMED} n cross join lateral (select a.confirmed_event from aggregates a where ${SAME_NAME} offset 0) a
        where a.confirmed_event is not null
          and not exists (select from dlq_events e where e.id = a.confirmed_event and ${PROCESSED} offset 0)
     )
     update aggregates a set confirmed_version = c.version, confirmed_event = c.id
       from lost n left join lateral (
         select e.version, e.id from dlq_event_facts f cross join lateral (
           select e.version, e.id from dlq_events e where e.id = f.id and ${sameAggregate("e", "n")} and ${PROCESSED} offset 0) e
          where f.aggregate_id = n.aggregate_id order by e.version desc limit 1) c on true
      where ${SAME_NAME}`,
    values,
    { name: "lower-confirmed" },
  );
}

/** SQL: the row `a` is the aggregate `n`. */
const SAME_NAME =
  "a.aggregate_id = n.aggregate_id and a.source_id = n.source_id and a.aggregate_type = n.aggregate_type";
