import type { Refusal } from "@/lib/states/refusal.pure";

/** Events that are alike, and what a redrive does with them; `refusal` null = it sends them. */
export type Outcome = { source: string; errorCode: string; status: string; refusal: Refusal | null; count: number };

export type Tally = {
  total: number;
  eligible: number;
  refused: Record<string, number>;
  /** Of the eligible events. */
  byErrorCode: Record<string, number>;
  bySource: Record<string, number>;
};

export function tally(outcomes: readonly Outcome[]): Tally {
  const counted: Tally = { total: 0, eligible: 0, refused: {}, byErrorCode: {}, bySource: {} };
  for (const { source, errorCode, refusal, count } of outcomes) {
    counted.total += count;
    if (refusal !== null) addTo(counted.refused, refusal, count);
    else {
      counted.eligible += count;
      addTo(counted.byErrorCode, errorCode, count);
      addTo(counted.bySource, source, count);
    }
  }
  return counted;
}

function addTo(counts: Record<string, number>, name: string, count: number): void {
  if (count > 0) counts[name] = (counts[name] ?? 0) + count;
}

type Counted = Omit<Outcome, "refusal">;

/**
 * Outcomes of a selection of which only a part was planned. The planned events stand for all of their source, error code
 * and status, where none was planned, all of them do. `along`: what they take along, in proportion to the selection.
 *
 * @param counts all selected events
 */
export function estimateOutcomes(
  { planned, along }: { planned: readonly Outcome[]; along: readonly Outcome[] },
  counts: readonly Counted[],
): Outcome[] {
  const kindOf = ({ source, errorCode, status }: Counted) => JSON.stringify([source, errorCode, status]);
  const ofKind = Map.groupBy(planned, kindOf);
  const factor = sumOf(counts) / sumOf(planned);
  return [
    ...counts.flatMap((counted) => shared(counted, ofKind.get(kindOf(counted)) ?? planned)),
    ...[...Map.groupBy(along, (each) => kindOf(each) + each.refusal).values()].map((same) => ({
      ...same[0]!,
      count: Math.round(sumOf(same) * factor),
    })),
  ];
}

/** The events by what happens to those that stand for them; rounding goes to the most frequent outcome. */
function shared({ count, ...kind }: Counted, planned: readonly Outcome[]): Outcome[] {
  const [most, ...others] = [...Map.groupBy(planned, ({ refusal }) => refusal)]
    .map(([refusal, same]) => ({ refusal, share: sumOf(same) / sumOf(planned) }))
    .sort((a, b) => b.share - a.share);
  const few = others.map(({ refusal, share }) => ({ ...kind, refusal, count: Math.round(count * share) }));
  return [{ ...kind, refusal: most?.refusal ?? null, count: count - sumOf(few) }, ...few];
}

function sumOf(counts: readonly { count: number }[]): number {
  return counts.reduce((sum, { count }) => sum + count, 0);
}
