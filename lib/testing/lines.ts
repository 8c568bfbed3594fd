import { linesOf } from "@/lib/order/line.sql";
import { LINES_START, mendLines } from "@/lib/order/lines.write";
import type { Db, Queryable } from "@/lib/platform/database/db";

/** Rows of lines that differ from their events; without their cooldowns, which tests end by hand. Empty when they are the same. */
export async function lineFaults(db: Queryable): Promise<unknown[]> {
  return db.query(
    `select 'a line differs from its event' as broken, row_to_json(l) as line, row_to_json(e) as event
       from aggregate_lines l full join (select * from (${linesOf("true")}) e where part is not null) e using (id)
      where (l.shard, l.aggregate_id, l.source_id, l.aggregate_type, l.part, l.place, l.redrive_id)
            is distinct from (e.shard, e.aggregate_id, e.source_id, e.aggregate_type, e.part, e.place, e.redrive_id)`,
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
