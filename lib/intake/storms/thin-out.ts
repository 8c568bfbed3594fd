import { storedAmong } from "@/lib/intake/admission/admission.write";
import { keyOf } from "@/lib/intake/event-keys.write";
import type { Parking } from "@/lib/intake/park.write";
import { endOfMinute, isStored } from "@/lib/intake/storms/storm.pure";
import { groupKey, readMinute } from "@/lib/intake/storms/storm-counts.write";
import type { Tx } from "@/lib/platform/database/db";

/** More events of one group came than the source stores whole in a minute. */
export type Storm = { sourceId: string; limit: number; atMs: number; endsAtMs: number };

type ThinOptions = {
  nowMs: number;
  /** `stormPerMinute` by the id of the source; one that is absent stores all. */
  limits: ReadonlyMap<string, number>;
  /**
   * Given where an acknowledged original is gone, as in a queue: then all are stored, and this is called for each source with a
   * storm.
   */
  onStorm: ((storm: Storm) => void) | undefined;
};

/**
 * Separates the arrivals that the caller counts and does not store. Never one of an event that is stored, or that a redrive has sent, and
 * never one of an aggregate: a later version must not be sent past one that nobody kept.
 */
export async function thinOut<One extends Parking>(
  tx: Tx,
  arrivals: readonly One[],
  { nowMs, limits, onStorm }: ThinOptions,
): Promise<{ kept: readonly One[]; unstored: One[] }> {
  const limited = limits.size === 0 ? [] : arrivals.filter(({ sourceId }) => limits.has(sourceId));
  if (limited.length === 0) return { kept: arrivals, unstored: [] };
  const minute = await readMinute(tx, limited, nowMs);
  const groups = Map.groupBy(limited, ({ sourceId, group }) => groupKey(sourceId, group.fingerprint));
  const storming = [...groups].filter(
    ([key, its]) => (minute.get(key) ?? 0) + its.length > limits.get(its[0]!.sourceId)!,
  );
  if (onStorm !== undefined) {
    const sources = new Set(storming.map(([, its]) => its[0]!.sourceId));
    for (const sourceId of sources) {
      onStorm({ sourceId, limit: limits.get(sourceId)!, atMs: nowMs, endsAtMs: endOfMinute(nowMs) });
    }
    return { kept: arrivals, unstored: [] };
  }
  const sampled = storming.flatMap(([, its]) => its.filter(mayBeLeftOut));
  if (sampled.length === 0) return { kept: arrivals, unstored: [] };
  const chosen = await storedAmong(tx, sampled);
  const unstored: One[] = [];
  const places = new Map(minute);
  for (const one of sampled) {
    const [key, group] = [
      keyOf(one.sourceId, one.letter.eventId, one.letter.producer),
      groupKey(one.sourceId, one.group.fingerprint),
    ];
    if (chosen.has(key)) continue;
    const place = (places.get(group) ?? 0) + 1;
    places.set(group, place);
    if (isStored(place, limits.get(one.sourceId)!)) chosen.add(key);
    else unstored.push(one);
  }
  const left = new Set(unstored);
  return { kept: arrivals.filter((one) => !left.has(one)), unstored };
}

function mayBeLeftOut({ letter }: Parking): boolean {
  return letter.aggregateId === null && letter.redrive === null;
}
