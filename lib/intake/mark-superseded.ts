import type { ParkContext, Parking } from "@/lib/intake/park.write";
import { type AggregateName, aggregateKey } from "@/lib/order/aggregate.pure";
import { readProcessedAbove } from "@/lib/order/aggregate-order.read";
import type { Tx } from "@/lib/platform/database/db";
import { supersededText } from "@/lib/redrive/gate/dry-run.pure";

/**
 * Marks the arrivals of which a newer version was processed before. Returns all of them, in their order, and adds the ids of
 * the marked ones to `superseded`.
 */
export async function markSuperseded(
  tx: Tx,
  parkings: readonly Parking[],
  { processed, superseded }: Pick<ParkContext, "processed" | "superseded">,
): Promise<readonly Parking[]> {
  if (processed.size === 0) return parkings;
  const aggregates = new Map<string, AggregateName & { above: bigint }>();
  const keys = parkings.map(({ sourceId, letter: { aggregateType, aggregateId, version } }) => {
    if (aggregateId === null || version === null || !processed.has(sourceId)) return null;
    const aggregate = { sourceId, aggregateType, aggregateId, above: version };
    const key = aggregateKey(aggregate);
    const known = aggregates.get(key);
    if (known === undefined || version < known.above) aggregates.set(key, aggregate);
    return key;
  });
  const versions = await readProcessedAbove(tx, [...aggregates.values()]);
  if (versions.size === 0) return parkings;
  return parkings.map((parking, index) => {
    const [version, newest] = [parking.letter.version, versions.get(keys[index] ?? "")];
    if (version === null || newest === undefined || newest <= version) return parking;
    superseded.add(parking.id);
    const record = { rules: [], ...parking.record, finding: supersededText(version, newest) };
    return { ...parking, mark: parking.mark ?? "superseded", record };
  });
}
