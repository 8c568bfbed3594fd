import { UUID_MAX, UUID_MIN } from "@/lib/platform/ids";

/**
 * The events that an audit entry covers, as SQL. The entries that cover the most events list them, and have no row for each:
 * those of a redrive are named by its items, and that of a parked batch has the millisecond of the ids of its events in its own id.
 * Every other entry has rows of `audit_subjects`.
 */

/** A query of the `entry_id`s that cover events. @param ids a query of their ids */
export function entriesOfEvents(ids: string): string {
  return `select s.entry_id from audit_subjects s where s.event_id in (${ids})
    union all select i.queued_entry from redrive_items i where i.id in (${ids}) and i.queued_entry is not null
    union all select i.ended_entry from redrive_items i where i.id in (${ids}) and i.ended_entry is not null
    union all select b.id from (${ids}) parked (id) cross join lateral (
      select a.id from audit_entries a
       where a.id between ${inMillisecond("parked.id", UUID_MIN)} and ${inMillisecond("parked.id", UUID_MAX)}
         and a.action = 'event.parked' and parked.id = any(a.event_ids) offset 0) b`;
}

/** The first or the last UUIDv7 of the millisecond of `id`, with which it begins. */
function inMillisecond(id: string, end: string): string {
  return `(left(${id}::text, 13) || '${end.slice(13)}')::uuid`;
}

/** A query of the `event_id`s that the entry covers. @param entry SQL of its id */
export function eventsOfEntry(entry: string): string {
  return `select s.event_id from audit_subjects s where s.entry_id = ${entry}
    union all select unnest(listed.event_ids) from audit_entries listed where listed.id = ${entry}`;
}
