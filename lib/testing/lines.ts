import { PROCESSED } from "@/lib/order/aggregate-order.read";
import { linesOf } from "@/lib/order/line.sql";
import { LINES_START, mendLines } from "@/lib/order/lines.write";
import type { Db, Queryable } from "@/lib/platform/database/db";

/**
 * Rows of lines that differ from their events, without their cooldowns, which tests end by hand; and confirmed versions that differ from the
 * newest confirmed event. Empty when they are the same.
 */
export async function lineFaults(db: Queryable): Promise<unknown[]> {
  return db.query(
    `select 'a line differs from its event' as broken, row_to_json(l) as line, row_to_json(e) as event
       from aggregate_lines l full join (select * from (${linesOf("true")}) e where part is not null) e using (id)
      where (l.shard, l.aggregate_id, l.source_id, l.aggregate_type, l.part, l.place, l.redrive_id)
            is distinct from (e.shard, e.aggregate_id, e.source_id, e.aggregate_type, e.part, e.place, e.redrive_id)
     union all
     select 'a confirmed version differs from the newest confirmed event', row_to_json(a), row_to_json(n)
       from aggregates a full join (
         select aggregate_id, source_id, coalesce(aggregate_type, '') as aggregate_type, max(version) as version
           from dlq_events e where ${PROCESSED} and aggregate_id is not null group by 1, 2, 3) n using (aggregate_id, source_id, aggregate_type)
       left join dlq_events e on e.id = a.confirmed_event
      where n.version > coalesce(a.confirmed_version, n.version - 1)
         -- That of a removed event may stay.
         or e.id is not null and (a.confirmed_version is distinct from n.version or e.version <> n.version)`,
  );
}

/** Makes the lines what the events are, which a test has changed by hand. Returns how many rows differed. */
export async function mendAllLines(db: Db): Promise<number> {
  let after = LINES_START;
  let sum = 0;
  do {
    const { next, mended } = await mendLines(db, after);
    after = next;
    sum += mended;
  } while (after.eventId !== LINES_START.eventId || after.row !== LINES_START.row);
  return sum;
}
