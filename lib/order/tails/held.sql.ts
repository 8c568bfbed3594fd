import { inLine, LAST_PLACE, PART, processedOf } from "@/lib/order/line.sql";

/** SQL: the first parked row of the line of `w` that `holds`, and its event. A row without an event, which upkeep removes, holds nothing. */
const firstThat = (holds: string) => `
    select l.id, l.place, e.event_id from aggregate_lines l
     cross join lateral (select e.event_id from dlq_events e where e.id = l.id offset 0) e
     where ${inLine("l", "w", "parked")} and l.place >= d.first and ${holds} order by l.place, l.id limit 1`;

/**
 * SQL: joins to `w` (the aggregate, whose type is not null, `place` and `id` of an event) what holds it: the `head` of its line, else
 * the first row before it that is `cooling`. The rule of `holderOf`.
 */
export const heldBy = (now: string) => `
  ${processedOf("w")}
  left join lateral (${firstThat(`l.place < w.place and w.place < ${LAST_PLACE}`)}) head on true
  left join lateral (${firstThat(`head.id is null and (l.place, l.id) < (w.place, w.id) and l.cooldown_until > ${now}`)}) cooling on true`;

/** SQL: a row of its line holds the event `e`. The first question, one look-up, is all that is asked of an event that comes first. */
export function isHeld(e: string, now: string): string {
  return `(${e}.aggregate_id is not null and exists (
    select from (select ${e}.source_id, ${e}.aggregate_id, coalesce(${e}.aggregate_type, '') as aggregate_type,
                        coalesce(${e}.version, ${LAST_PLACE}) as place, ${e}.id) w
     join lateral (select from aggregate_lines l where ${inLine("l", "w", "parked")} and (l.place, l.id) < (w.place, w.id) limit 1) earlier on true
    ${heldBy(now)}
     where coalesce(head.id, cooling.id) is not null))`;
}

/** SQL: events of lines with more than one parked event, in no order: each event that is held is one of them. `limit`: a parameter. */
export const inLongLines = (limit: string) => `
  select unnest(ids) as id from (
    select array_agg(l.id) as ids from aggregate_lines l where l.part <> ${PART.open}
     group by l.shard, l.aggregate_id, l.source_id, l.aggregate_type having count(*) > 1) long limit ${limit}`;
