import { aggregateKeyOf, NO_AGGREGATE_TYPE } from "@/lib/order/aggregate.pure";
import { readAggregateOrder } from "@/lib/order/aggregate-order.read";
import { behindInLine } from "@/lib/order/line.sql";
import { HOLDS } from "@/lib/order/order.sql";
import { isSuperseded } from "@/lib/order/order-gate.pure";
import type { Queryable } from "@/lib/platform/database/db";
import { idSpan } from "@/lib/platform/database/id-span";
import { PARKED } from "@/lib/states/state.sql";

/** SQL over `e`, a row of dlq_events: later versions of its aggregate that match `also` (over `l`, a row of `rows`) are parked behind it. */
export const beforeParked = (
  also = "true",
  rows: "dlq_events" | "dlq_event_rows" = "dlq_events",
) => `e.aggregate_id is not null and e.version is not null and ${HOLDS}
  and exists (
    select 1 from aggregate_lines n join ${rows} l on l.id = n.id
     where ${behindInLine("n", "e")} and l.status in ${PARKED} and ${also})`;

/** The most later versions that one chunk asks about. Those beyond count as staying, and so do the events before them. */
const BEHIND_MAX = 20_000;

/**
 * Later versions that are parked behind these events, without the events themselves. A later chunk of the same work may remove
 * them: a rule about an aggregate is decided for all of its events, not for one chunk.
 */
export async function readParkedBehind(db: Queryable, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const rows = await db.query<{ id: string }>(
    `select distinct l.id
       from dlq_events e join aggregate_lines n on ${behindInLine("n", "e")} join dlq_events l on l.id = n.id
      where e.id = any($1::uuid[]) and e.id between $2 and $3 and ${HOLDS} and l.id <> all($1::uuid[]) and l.status in ${PARKED}
      limit ${BEHIND_MAX}`,
    [ids, ...idSpan(ids)],
    { name: "parked-behind" },
  );
  return rows.map(({ id }) => id);
}

type Head = { id: string; sourceId: string; aggregateType: string | null; aggregateId: string; version: string };

/**
 * Of these events, those that hold later versions of their aggregate back: without them the later ones would be sent, and
 * nobody has decided that. A version that is not newer than the processed one holds nothing. `leaving`: events that leave the
 * store in the same work, so that they need not be held, see `readParkedBehind`.
 */
export async function readHoldingLater(
  db: Queryable,
  ids: readonly string[],
  leaving: readonly string[] = [],
): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const heads = await db.query<Head>(
    `select e.id, e.source_id as "sourceId", e.aggregate_type as "aggregateType", e.aggregate_id as "aggregateId",
            e.version::text as version
       from dlq_events e where e.id = any($1::uuid[]) and e.id between $2 and $3 and ${beforeParked("l.id <> all($4::uuid[])")}`,
    [ids, ...idSpan(ids), leaving],
    { name: "holding-later" },
  );
  if (heads.length === 0) return new Set();
  const orders = await readAggregateOrder(db, heads, null);
  const holding = heads.filter((head) => {
    const processed = orders.get(aggregateKeyOf(head) ?? NO_AGGREGATE_TYPE)?.versionProcessed ?? null;
    return !isSuperseded({ version: BigInt(head.version) }, processed);
  });
  return new Set(holding.map(({ id }) => id));
}
