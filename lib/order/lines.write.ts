import { PROCESSED, sameAggregate } from "@/lib/order/aggregate-order.read";
import { raiseConfirmed } from "@/lib/order/confirmed-versions.write";
import { LINES_FOLLOW, linesOf } from "@/lib/order/line.sql";
import type { Db, Tx } from "@/lib/platform/database/db";
import { idSpan } from "@/lib/platform/database/id-span";
import { inTransaction } from "@/lib/platform/database/retrying";
import { lockEvents } from "@/lib/states/fence.write";

/**
 * Makes the rows of these events what the events have become: to be called after each change of an event's status, cooldown, revision or
 * bounces, or of its skip, in the same transaction, which holds the events. A statement on the hot path has LINES_FOLLOW in itself.
 */
export async function followLines(tx: Tx, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await tx.run(
    `with lines as materialized (${linesOf("e.id = any($1::uuid[]) and e.id between $2 and $3")})${LINES_FOLLOW}
     select`,
    [ids, ...idSpan(ids)],
    { name: "follow-lines" },
  );
}

const PAGE = 5_000;
const KEY = "shard, aggregate_id, source_id, aggregate_type, part, place, id";
const NIL = "00000000-0000-0000-0000-000000000000";

/** The last event and the last row of a page, by their keys. */
export type LinesCursor = { eventId: string; row: unknown[] };
export const LINES_START: LinesCursor = { eventId: NIL, row: [-1, "", NIL, "", 0, 0, NIL] };

/** SQL: the row `l` is what the event says, `e` of `linesOf`. */
const SAME = `(${KEY.split(", ")
  .map((column) => `l.${column} = e.${column}`)
  .join(" and ")}) and (l.cooldown_until, l.redrive_id) is not distinct from (e.cooldown_until, e.redrive_id)`;

const EVENTS = `select id from dlq_events where id > $1::uuid order by id limit ${PAGE}`;
const ROWS = `select ctid, * from aggregate_lines
  where (${KEY}) > ($1::int, $2::text, $3::uuid, $4::text, $5::int, $6::bigint, $7::uuid) order by ${KEY} limit ${PAGE}`;
const STRAYS = `from page l where not exists (select from (${linesOf("e.id = l.id")}) e where e.part is not null and ${SAME})`;

/**
 * Mends rows that differ from their events: those that the next events lack, and of the next rows those whose event has left or says
 * otherwise; and raises confirmed versions below those of the next events. A change by hand leaves such rows, or a worker of an earlier
 * release. Returns where the next page begins.
 */
export async function mendLines(db: Db, after: LinesCursor): Promise<{ next: LinesCursor; mended: number }> {
  // Each is looked up by its key: the planner may read both tables for a page of them.
  const [events] = await db.query<{ n: number; last: string; ids: string[]; confirmed: string[] }>(
    `with page as materialized (${EVENTS})
     select count(*)::int as n, (array_agg(id order by id desc))[1] as last,
            array(select e.id from page cross join lateral (${linesOf("e.id = page.id")} offset 0) e
                   where e.part is not null and not exists (select from aggregate_lines l where ${SAME} offset 0)) as ids,
            array(select e.id from page cross join lateral (
                    select e.* from dlq_events e where e.id = page.id and e.aggregate_id is not null and ${PROCESSED} offset 0) e
                   where not exists (select from aggregates a where ${sameAggregate("e", "a")} and a.confirmed_version >= e.version offset 0)
            ) as confirmed
       from page`,
    [after.eventId],
    { name: "events-without-lines" },
  );
  const [rows] = await db.query<{ n: number; last: unknown[]; ids: string[] }>(
    `with page as materialized (${ROWS})
     select (select count(*)::int from page) as n, array(select l.id ${STRAYS}) as ids,
            (select json_build_array(shard, aggregate_id, source_id, aggregate_type, part, place::text, id)
               from page order by (${KEY}) desc limit 1) as last`,
    after.row,
    { name: "stray-lines" },
  );
  const ids = [...new Set([...events!.ids, ...rows!.ids])];
  const changed = [...ids, ...events!.confirmed];
  if (changed.length > 0) {
    await inTransaction(db, async (tx) => {
      await lockEvents(tx, changed);
      const stray = `with page as materialized (${ROWS}) delete from aggregate_lines where ctid = any(array(select l.ctid ${STRAYS}))`;
      await tx.run(stray, after.row);
      await followLines(tx, ids);
      await raiseConfirmed(tx, events!.confirmed);
    });
  }
  return {
    next: {
      eventId: events!.n < PAGE ? NIL : events!.last,
      row: rows!.n < PAGE ? LINES_START.row : rows!.last,
    },
    mended: changed.length,
  };
}
