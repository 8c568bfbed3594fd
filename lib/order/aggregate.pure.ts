/**
 * An aggregate is its source, its type and its id together. Two sources that both have an aggregate 42 share nothing,
 * nor do an order 42 and a customer 42. All events without a type belong to aggregates of no type.
 */
export type AggregateName = { sourceId: string; aggregateType: string | null; aggregateId: string };

/** The store writes "no type" as this text: a part of a primary key cannot be null. */
export const NO_AGGREGATE_TYPE = "";

/** Aggregates as the parameters of an `unnest`: sources, types, ids. */
export function aggregateColumns(
  aggregates: readonly (Omit<AggregateName, "aggregateId"> & { aggregateId: string | null })[],
): [string[], string[], (string | null)[]] {
  return [
    aggregates.map(({ sourceId }) => sourceId),
    aggregates.map(({ aggregateType }) => aggregateType ?? NO_AGGREGATE_TYPE),
    aggregates.map(({ aggregateId }) => aggregateId),
  ];
}

/** Two aggregates have the same key only if they are equal, whatever characters their names hold. */
export function aggregateKey({ sourceId, aggregateType, aggregateId }: AggregateName): string {
  return JSON.stringify([sourceId, aggregateType ?? NO_AGGREGATE_TYPE, aggregateId]);
}

/** The key of the aggregate of an event; null = the event has no aggregate. */
export function aggregateKeyOf(
  event: Omit<AggregateName, "aggregateId"> & { aggregateId: string | null },
): string | null {
  const { sourceId, aggregateType, aggregateId } = event;
  return aggregateId === null ? null : aggregateKey({ sourceId, aggregateType, aggregateId });
}

/** A version as the API gives it: a number when a number holds it exactly, else its digits. */
export function versionOut(digits: string): number | string {
  const version = Number(digits);
  return Number.isSafeInteger(version) ? version : digits;
}

/** Where an event stands in its aggregate. */
type Place = { id: string; version: bigint | null };

/**
 * Order within an aggregate: by version, events without one last, then by the time they were parked (UUIDv7). SQL says the
 * same in `line.sql.ts`.
 */
export function comparePlaces(left: Place, right: Place): number {
  if (left.version !== right.version) {
    if (left.version === null) return 1;
    if (right.version === null) return -1;
    return left.version < right.version ? -1 : 1;
  }
  return left.id < right.id ? -1 : left.id > right.id ? 1 : 0;
}

export type OrderedItem = {
  id: string;
  sourceId: string;
  aggregateType: string | null;
  aggregateId: string | null;
  version: bigint | null;
};
