/** Where an event stands in its aggregate. */
export type Place = { id: string; version: bigint | null };

/**
 * Order within an aggregate: by version, events without one last, then by the time they were parked (UUIDv7). SQL says the
 * same in `place.sql.ts`.
 */
export function comparePlaces(left: Place, right: Place): number {
  if (left.version !== right.version) {
    if (left.version === null) return 1;
    if (right.version === null) return -1;
    return left.version < right.version ? -1 : 1;
  }
  return left.id < right.id ? -1 : left.id > right.id ? 1 : 0;
}
