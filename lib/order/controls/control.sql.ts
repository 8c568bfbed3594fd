/** SQL: the control `c` is in force now. */
export const IN_FORCE = "c.lifted_at is null and (c.expires_at is null or c.expires_at > now())";

/** SQL: the control `c` covers `w`, which has `event_id, aggregate_type, aggregate_id, error_code, source`. The same rule as `covers`. */
export const CONTROL_COVERS = `((c.source is null or c.source = w.source)
      and (c.aggregate_type is null or c.aggregate_type = coalesce(w.aggregate_type, ''))
      and (   (c.scope = 'eventId' and c.value = w.event_id)
           or (c.scope = 'aggregateId' and c.value = w.aggregate_id)
           or (c.scope = 'errorCode' and c.value = w.error_code)
           or (c.scope = 'source' and c.value = w.source)))`;

/**
 * SQL: Parkade has blacklisted the aggregate of the event `e`. Such a control is over one aggregate of one source, and ends when
 * somebody lifts it. There may be any number of them, so each event looks for its own.
 */
export const BLACKLISTED_BY_PARKADE = `exists (
  select 1 from controls c join sources s on s.name = c.source
   where c.origin = 'automatic' and c.lifted_at is null
     and c.value = e.aggregate_id and s.id = e.source_id and c.aggregate_type = coalesce(e.aggregate_type, ''))`;
