/**
 * The least and the greatest of these ids of events, for `id between` beside `id = any(...)`. PostgreSQL leaves out partitions by
 * bounds that are parameters, not by a list that is one: without them a statement looks into the partition of every day.
 */
export function idSpan(ids: readonly string[]): [least: string | null, greatest: string | null] {
  let least = ids[0] ?? null;
  let greatest = least;
  for (const id of ids) {
    if (id < least!) least = id;
    if (id > greatest!) greatest = id;
  }
  return [least, greatest];
}
