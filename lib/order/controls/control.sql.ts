/** SQL: the control `c` covers `w`, which has `event_id, aggregate_type, aggregate_id, error_code, source`. */
export const CONTROL_COVERS = `((c.source is null or c.source = w.source)
      and (c.aggregate_type is null or c.aggregate_type = w.aggregate_type)
      and (   (c.scope = 'eventId' and c.value = w.event_id)
           or (c.scope = 'aggregateId' and c.value = w.aggregate_id)
           or (c.scope = 'errorCode' and c.value = w.error_code)
           or (c.scope = 'source' and c.value = w.source)))`;
