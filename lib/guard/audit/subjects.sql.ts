/**
 * The events that an audit entry covers, as SQL. An entry about the items of a redrive lists its events, and the items name the
 * entry: a redrive writes no row for each event. Every other entry has rows of `audit_subjects`.
 */

/** A query of the `entry_id`s that cover the events of `ids`: SQL of a value, or of a query. */
export function entriesOfEvents(ids: string): string {
  return `select s.entry_id from audit_subjects s where s.event_id in (${ids})
    union all select i.queued_entry from redrive_items i where i.id in (${ids}) and i.queued_entry is not null
    union all select i.ended_entry from redrive_items i where i.id in (${ids}) and i.ended_entry is not null`;
}

/** A query of the `event_id`s that the entry covers. @param entry SQL of its id */
export function eventsOfEntry(entry: string): string {
  return `select s.event_id from audit_subjects s where s.entry_id = ${entry}
    union all select unnest(listed.event_ids) from audit_entries listed where listed.id = ${entry}`;
}
