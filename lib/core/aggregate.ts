/**
 * What an aggregate is: its source, its type and its id together. Two sources that both have an aggregate 42, or an order
 * 42 beside a customer 42, share nothing. An event without a type belongs to the aggregate of no type.
 */
export type AggregateName = { sourceId: string; aggregateType: string | null; aggregateId: string };

/** The store's word for "of no type": a part of a primary key cannot be null. */
export const NO_AGGREGATE_TYPE = "";

/** Equal for equal aggregates only, whatever characters the names hold. */
export function aggregateKey({ sourceId, aggregateType, aggregateId }: AggregateName): string {
  return JSON.stringify([sourceId, aggregateType ?? NO_AGGREGATE_TYPE, aggregateId]);
}

/** Of an event that may have no aggregate; null = it has none. */
export function aggregateKeyOf(
  event: Omit<AggregateName, "aggregateId"> & { aggregateId: string | null },
): string | null {
  const { sourceId, aggregateType, aggregateId } = event;
  return aggregateId === null ? null : aggregateKey({ sourceId, aggregateType, aggregateId });
}
