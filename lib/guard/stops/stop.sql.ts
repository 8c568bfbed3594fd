/** SQL: the stop `s` is in force over the target with this id. */
export function stopOver(targetId: string): string {
  return `s.lifted_at is null and (s.target_id is null or s.target_id = ${targetId})`;
}

/**
 * SQL: a stop is in force over the target to which the redrive `r` sends the events of this source. A verify run sends
 * nothing. A redrive that names no target sends each event to its source's target on the lane.
 */
export function sendsStopped(sourceId: string): string {
  return `(r.mode = 'deliver' and exists (
    select 1 from stops s
     where s.lifted_at is null
       and (s.target_id is null or s.target_id = r.target_id
            or (r.target_id is null and s.target_id = (
                  select t.id from targets t where t.source_id = ${sourceId} and t.lane = r.lane)))))`;
}
