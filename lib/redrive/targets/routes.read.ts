import { aggregateColumns } from "@/lib/order/aggregate.pure";
import { sameAggregate } from "@/lib/order/aggregate-order.read";
import type { Queryable } from "@/lib/platform/database/db";
import { ATTEMPT, EVENT, ITEM, UNSENT } from "@/lib/states/state.sql";

/** Ids of targets: where the item was sent to in this redrive, and where its aggregate's last unconfirmed event was. */
export type SentTo = { sentTo: string | null; aggregateSentTo: string | null };

/** SQL: the target of an attempt `a`. A name is reused for no other target while attempts of an older version count. */
const TARGET_ID = "coalesce(a.target_id, (select t.id from targets t where t.name = a.target))";

/** By the item's id. For the aggregate, an attempt that certainly failed does not count; for the item, every attempt that was sent counts. */
export async function readSentTo(
  db: Queryable,
  redriveId: string,
  items: readonly { id: string; sourceId: string; aggregateType: string | null; aggregateId: string | null }[],
): Promise<Map<string, SentTo>> {
  if (items.length === 0) return new Map();
  const rows = await db.query<SentTo & { id: string }>(
    `select w.id,
            (select ${TARGET_ID} from redrive_attempts a where a.id = w.id and a.redrive_id = $5 and not ${UNSENT}
              order by a.attempt desc limit 1) as "sentTo",
            (select coalesce(i.sent_to_id, (
                      select ${TARGET_ID} from redrive_attempts a
                       where a.id = i.id and a.redrive_id = i.redrive_id and a.state <> ${ATTEMPT.failed}
                       order by a.opened_at desc limit 1))
               from dlq_event_facts f join dlq_events e on e.id = f.id
               join redrive_items i on i.id = e.id and i.state = ${ITEM.delivered}
              where f.aggregate_id = w.aggregate_id and ${sameAggregate("e", "w")} and e.status = ${EVENT.REDRIVEN} and e.confirmed_at is null
              order by i.finished_at desc limit 1) as "aggregateSentTo"
       from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[])
              as w(id, source_id, aggregate_type, aggregate_id)`,
    [items.map(({ id }) => id), ...aggregateColumns(items), redriveId],
    { name: "sent-to" },
  );
  return new Map(rows.map(({ id, ...sentTo }) => [id, sentTo]));
}
