import { aggregateKeyOf, comparePlaces, versionOut } from "@/lib/order/aggregate.pure";
import { type Earlier, type Head, isHeldBy } from "@/lib/order/order-gate.pure";
import type { Queryable } from "@/lib/platform/database/db";
import {
  gateEach,
  type Holders,
  holdBehindHeads,
  readHolders,
  refuseHeld,
  versionOf,
  wantedAggregates,
} from "@/lib/redrive/plan/freeze-chunk";
import type { PlannedItem } from "@/lib/redrive/plan/freeze-events.write";
import type { EarlierOut } from "@/lib/redrive/preview/redrive-preview.shapes";
import { type Candidate, readCandidates, type Selected } from "@/lib/selection/candidates.read";
import { readEarlierVersions } from "@/lib/selection/outside-order.read";
import type { ConfirmableRefusal } from "@/lib/states/refusal.pure";

/** The events that a redrive selects. `despite`: refusals that the person sets aside. */
export type SelectedForRedrive = Selected & { despite: readonly ConfirmableRefusal[] };

/** Selected events that are planned without a redrive: 20,000 take about .3 s, .2 s of it in this process. */
export const PLANNED_MAX = 20_000;

const SAMPLES_MAX = 5;
const BEHIND_MAX = 10;
const HEAD_IDS_MAX = 1_000;

/**
 * Events of a selection as its redrive would freeze them. `whole` false: only the newest of the selected events, and at
 * most PLANNED_MAX earlier versions, were looked at.
 */
export type SelectionPlan = {
  selected: PlannedItem[];
  /** Earlier versions outside of the selection that `include` takes along. */
  along: PlannedItem[];
  /** The selected events that are behind others, whatever `earlier` was asked for. */
  earlier: EarlierOut;
  whole: boolean;
};

/** Plans a selection by the functions that freeze it, and freezes nothing. */
export async function planSelection(
  tx: Queryable,
  selected: SelectedForRedrive,
  earlier: Earlier,
  most = PLANNED_MAX,
): Promise<SelectionPlan> {
  const found = await readCandidates(tx, { ...selected, after: null, limit: most + 1 });
  const target = { ...selected, id: null };
  const gated = await gateEach(tx, { ...target, earlier }, found.slice(0, most), selected.asOfMs);
  const page = { ...selected, redriveId: null, above: null, limit: most };
  const outside = await readEarlierVersions(tx, wantedAggregates(gated), page);
  const holders = await readHolders(tx, { ...target, earlier: "hold" }, gated);
  const held = refuseHeld(gated, holders);
  const whole = found.length <= most && outside.length < most;
  const plan = { along: [], earlier: earlierOf(held, holders, { outside, bounded: !whole }), whole };
  if (earlier !== "include") return { ...plan, selected: earlier === "hold" ? held : gated };
  const along = await gateEach(tx, { ...target, earlier }, outside, selected.asOfMs);
  const ordered = await holdBehindHeads(tx, { ...target, earlier }, [...gated, ...along]);
  return { ...plan, selected: ordered.slice(0, gated.length), along: ordered.slice(gated.length) };
}

/** What a redrive that holds says of earlier versions. `outside`: those that are not selected. */
function earlierOf(
  planned: readonly PlannedItem[],
  holders: ReadonlyMap<string, Holders>,
  { outside, bounded }: { outside: readonly Candidate[]; bounded: boolean },
): EarlierOut {
  const heads = Map.groupBy(
    outside.map((event) => ({ ...event, version: BigInt(event.version!) }) as Candidate & Head),
    (event) => aggregateKeyOf(event)!,
  );
  const held = planned.flatMap(({ candidate, refusal }) => {
    const event = { ...candidate, version: versionOf(candidate) };
    const key = aggregateKeyOf(event);
    if (key === null || refusal !== "held-by-head") return [];
    const behind = [...(heads.get(key) ?? []), ...(holders.get(key)?.refused ?? [])].filter((head) =>
      isHeldBy(event, head),
    );
    return behind.length === 0 ? [] : [{ event, key, behind: behind.sort(comparePlaces) }];
  });
  // The last event of an aggregate is behind every earlier version.
  const last = [...Map.groupBy(held, ({ key }) => key).values()].map(
    (of) => of.sort((a, b) => comparePlaces(a.event, b.event)).at(-1)!,
  );
  return {
    heldEvents: held.length,
    heldAggregates: last.length,
    earlierEvents: last.reduce((sum, { behind }) => sum + behind.length, 0),
    takenAlong: last.reduce((sum, { key }) => sum + (heads.get(key) ?? []).length, 0),
    bounded,
    headIds: last.slice(0, HEAD_IDS_MAX).map(({ behind }) => behind[0]!.id),
    samples: last
      .sort((a, b) => (a.event.id < b.event.id ? 1 : -1))
      .slice(0, SAMPLES_MAX)
      .map(({ event: { id, eventId, source, aggregateType, aggregateId, version }, behind }) => ({
        id,
        eventId,
        source,
        aggregateType,
        aggregateId: aggregateId!,
        version: versionOut(`${version}`),
        behind: behind.slice(0, BEHIND_MAX).map((head) => ({
          id: head.id,
          eventId: head.eventId,
          version: versionOut(`${head.version}`),
          status: head.status,
        })),
      })),
  };
}
