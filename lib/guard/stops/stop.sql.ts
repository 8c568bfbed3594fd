/** SQL: the stop `s` is in force over the target with this id. */
export function stopOver(targetId: string): string {
  return `s.lifted_at is null and (s.target_id is null or s.target_id = ${targetId})`;
}
