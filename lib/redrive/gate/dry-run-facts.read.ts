import type { OrderedItem } from "@/lib/order/aggregate.pure";
import { aggregateKeyOf, comparePlaces } from "@/lib/order/aggregate.pure";
import { readAggregateOrder } from "@/lib/order/aggregate-order.read";
import { holderOf } from "@/lib/order/held-by.pure";
import type { Earlier } from "@/lib/order/order-gate.pure";
import { columnsOf } from "@/lib/platform/database/columns";
import type { Queryable } from "@/lib/platform/database/db";
import type { OrderFacts } from "@/lib/redrive/gate/dry-run.pure";

type Wanted = OrderedItem & { eventId: string; producer: string };

/**
 * The order of a batch, in two statements: the consumers that reported each event as processed; and, for each
 * aggregate, the newest processed version and the event that holds it now.
 */
export async function readOrderFacts(
  db: Queryable,
  redrive: { id: string; earlier: Earlier } | null,
  wanted: readonly Wanted[],
): Promise<Map<string, OrderFacts>> {
  const processed = await readProcessed(db, wanted);
  const ordered = wanted.flatMap((event) =>
    event.aggregateId === null ? [] : [{ ...event, aggregateId: event.aggregateId }],
  );
  const orders = await readAggregateOrder(db, ordered, redrive);
  return new Map(
    wanted.map((event) => {
      const order = orders.get(aggregateKeyOf(event) ?? "");
      return [
        event.id,
        {
          versionProcessed: order?.versionProcessed ?? null,
          heldBy: (order && holderOf(event, order)?.text) ?? null,
          waits: order?.queued ? comparePlaces({ ...event, ...order.queued }, event) < 0 : false,
          processedBy: processed.get(event.id) ?? [],
        },
      ];
    }),
  );
}

/**
 * The same for selected events that are not frozen yet, and that nothing holds: whether their consumers have processed
 * them, or a newer version.
 */
export async function readPlannedOrderFacts(
  db: Queryable,
  wanted: readonly Wanted[],
): Promise<Map<string, OrderFacts>> {
  const facts = await readOrderFacts(db, null, wanted);
  return new Map([...facts].map(([id, each]) => [id, { ...each, heldBy: null, waits: false }]));
}

async function readProcessed(db: Queryable, wanted: readonly Wanted[]): Promise<Map<string, string[]>> {
  const rows = await db.query<{ id: string; consumers: string[] }>(
    `select w.id, array_agg(p.consumer order by p.consumer) as consumers
       from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[]) as w(id, source_id, event_id, producer)
       join processed_events p on p.event_id = w.event_id and p.source_id = w.source_id and p.producer = w.producer
      group by w.id`,
    columnsOf(wanted, "id", "sourceId", "eventId", "producer"),
    { name: "processed-facts" },
  );
  return new Map(rows.map((row) => [row.id, row.consumers]));
}
