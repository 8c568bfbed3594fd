import { aggregateKeyOf, comparePlaces } from "@/lib/order/aggregate.pure";
import { type AggregateOrder, readAggregateOrder } from "@/lib/order/aggregate-order.read";
import { type Earlier, type Head, headsText, isHeldBy } from "@/lib/order/order-gate.pure";
import { columnsOf } from "@/lib/platform/database/columns";
import type { Queryable } from "@/lib/platform/database/db";
import type { OrderFacts } from "@/lib/redrive/gate/dry-run.pure";
import type { OrderedItem } from "@/lib/redrive/plan/redrive-plan.pure";

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

/** What holds the event among the heads of its aggregate, in words; null = nothing. */
function behindHeads(event: OrderedItem, heads: readonly Head[]): string | null {
  const before = heads.filter((head) => isHeldBy(event, head));
  return event.aggregateId === null || before.length === 0 ? null : headsText(event.aggregateId, before);
}

/** What holds an aggregate: its heads, and events that cool down. */
export type HoldingEvents = Pick<AggregateOrder, "heads" | "cooling">;

type Holder = { id: string; eventId: string; version: bigint | null; text: string };

/** The head holds later versions. An event that cools down holds every event behind it, with or without a version. */
export function holderOf(event: OrderedItem, { heads, cooling }: HoldingEvents): Holder | null {
  const text = behindHeads(event, heads);
  if (text !== null) return { id: heads[0]!.id, eventId: heads[0]!.eventId, version: heads[0]!.version, text };
  const [first] = cooling
    .map((each) => ({ ...event, ...each }))
    .filter((each) => each.id !== event.id && comparePlaces(each, event) < 0)
    .sort(comparePlaces);
  return first
    ? {
        id: first.id,
        eventId: first.eventId,
        version: first.version,
        text: `event ${first.eventId} comes first and cools down`,
      }
    : null;
}
