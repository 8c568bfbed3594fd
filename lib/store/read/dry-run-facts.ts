import { aggregateKey, aggregateKeyOf, NO_AGGREGATE_TYPE } from "@/lib/core/aggregate";
import { compareItems } from "@/lib/core/redrive-plan";
import type { Queryable } from "@/lib/store/db";

type Wanted = {
  id: string;
  sourceId: string;
  eventId: string;
  aggregateType: string | null;
  aggregateId: string | null;
  version: bigint | null;
};

/** What the store knows about a claimed event's place in the world. */
export type OrderFacts = {
  versionProcessed: bigint | null;
  coolingHead: string | null;
  processedBy: string[];
};

type AggregateRow = {
  sourceId: string;
  aggregateType: string;
  aggregateId: string;
  redriven: string | null;
  processed: string | null;
  cooling: { id: string; eventId: string; version: string | null }[] | null;
};

/**
 * Facts for a batch, in two statements: what the inbox says of each event; and of each aggregate the highest version
 * redriven or processed, and its parked events that cool down.
 */
export async function readOrderFacts(db: Queryable, wanted: readonly Wanted[]): Promise<Map<string, OrderFacts>> {
  const processed = await readProcessed(db, wanted);
  const aggregates = await readAggregates(db, wanted);
  return new Map(
    wanted.map((event) => {
      const aggregate = aggregates.get(aggregateKeyOf(event) ?? "");
      return [
        event.id,
        {
          versionProcessed: highest(aggregate?.redriven ?? null, aggregate?.processed ?? null),
          coolingHead: coolingHead(event, aggregate),
          processedBy: processed.get(event.id) ?? [],
        },
      ];
    }),
  );
}

async function readProcessed(db: Queryable, wanted: readonly Wanted[]): Promise<Map<string, string[]>> {
  const rows = await db.query<{ id: string; consumers: string[] }>(
    `select w.id, array_agg(p.consumer order by p.consumer) as consumers
       from unnest($1::uuid[], $2::uuid[], $3::text[]) as w(id, source_id, event_id)
       join processed_events p on p.event_id = w.event_id and p.source_id = w.source_id
      group by w.id`,
    [wanted.map((event) => event.id), wanted.map((event) => event.sourceId), wanted.map((event) => event.eventId)],
    { name: "processed-facts" },
  );
  return new Map(rows.map((row) => [row.id, row.consumers]));
}

async function readAggregates(db: Queryable, wanted: readonly Wanted[]): Promise<Map<string, AggregateRow>> {
  const ordered = wanted.filter((event) => event.aggregateId !== null);
  if (ordered.length === 0) return new Map();
  const rows = await db.query<AggregateRow>(
    `select w.source_id as "sourceId", w.aggregate_type as "aggregateType", w.aggregate_id as "aggregateId",
            e.redriven::text, p.processed::text, e.cooling
       from (select distinct * from unnest($1::uuid[], $2::text[], $3::text[])
               as w(source_id, aggregate_type, aggregate_id)) w
       left join lateral (
         select max(version) filter (where status = 'REDRIVEN') as redriven,
                jsonb_agg(jsonb_build_object('id', id, 'eventId', event_id, 'version', version::text))
                  filter (where status = 'PENDING' and cooldown_until > now()) as cooling
           from dlq_events
          where aggregate_id = w.aggregate_id and source_id = w.source_id
            and coalesce(aggregate_type, '') = w.aggregate_type
            and (status = 'REDRIVEN' or (status = 'PENDING' and cooldown_until > now()))
       ) e on true
       left join lateral (
         select max(version) as processed from processed_events
          where source_id = w.source_id and aggregate_id = w.aggregate_id and aggregate_type = w.aggregate_type
       ) p on true`,
    [
      ordered.map((event) => event.sourceId),
      ordered.map((event) => event.aggregateType ?? NO_AGGREGATE_TYPE),
      ordered.map((event) => event.aggregateId),
    ],
    { name: "aggregate-facts" },
  );
  return new Map(rows.map((row) => [aggregateKey(row), row]));
}

function highest(left: string | null, right: string | null): bigint | null {
  if (left === null || right === null) return left === null && right === null ? null : BigInt(left ?? right!);
  return BigInt(left) > BigInt(right) ? BigInt(left) : BigInt(right);
}

/** The earliest cooling event that comes before this one, by its eventId. */
function coolingHead(event: Wanted, aggregate: AggregateRow | undefined): string | null {
  const earlier = (aggregate?.cooling ?? [])
    .map((head) => ({ ...event, ...head, version: head.version === null ? null : BigInt(head.version) }))
    .filter((head) => head.id !== event.id && compareItems(head, event) < 0)
    .sort(compareItems);
  return earlier[0]?.eventId ?? null;
}
