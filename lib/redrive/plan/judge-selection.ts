import { aggregateKeyOf, comparePlaces, versionOut } from "@/lib/order/aggregate.pure";
import { type Control, indexControls } from "@/lib/order/controls/control.pure";
import { type Earlier, type Head, isHeldBy } from "@/lib/order/order-gate.pure";
import type { Db, Queryable } from "@/lib/platform/database/db";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { gate } from "@/lib/redrive/gate/gate.pure";
import { type Rules, readRules, readRulesOver } from "@/lib/redrive/gate/read-rules";
import {
  FREEZE_INLINE_MAX,
  gateEach,
  type Holders,
  planEvents,
  readHolders,
  refuseHeld,
  versionOf,
  wantedAggregates,
} from "@/lib/redrive/plan/freeze-chunk";
import type { PlannedItem } from "@/lib/redrive/plan/freeze-events.write";
import {
  EARLIER_BEHIND_MAX,
  EARLIER_HEADS_MAX,
  EARLIER_SAMPLES_MAX,
  type EarlierSummary,
  type Passing,
  summarizeEarlier,
} from "@/lib/redrive/preview/earlier-summary.read";
import type { EarlierOut } from "@/lib/redrive/preview/redrive-preview.shapes";
import {
  type Candidate,
  type CandidateGroup,
  groupCandidates,
  readCandidates,
  readTouched,
  type Selected,
  TOUCHED_MAX,
} from "@/lib/selection/candidates.read";
import type { GateFacts } from "@/lib/selection/gate-facts.pure";
import { readEarlierVersions } from "@/lib/selection/outside-order.read";
import type { ConfirmableRefusal, Refusal } from "@/lib/states/refusal.pure";

/** The events that a redrive selects. `despite`: refusals that the person sets aside. */
export type SelectedForRedrive = Selected & { despite: readonly ConfirmableRefusal[] };

/** Events of one source and error code, and what the gate says of them; null = it lets them go. */
export type CountedEvents = { source: string; errorCode: string; refusal: Refusal | null; count: number };

/** A selection as the gate sees it: kinds of events with their number, and each single event that has its own control. */
export type JudgedSelection = { counts: CountedEvents[]; passing: Passing };

/** The events of a selection as its redrive would freeze them. `earlier`: those behind versions outside of it. */
type PlannedSelection = { planned: PlannedItem[]; earlier: EarlierOut };

/**
 * Plans a selection by the functions that freeze it, and freezes nothing. null = it has more events than a request
 * freezes at once, or takes more along: `judgeSelection` and `findEarlier` count it.
 */
export async function planSelection(
  tx: Queryable,
  selected: SelectedForRedrive,
  earlier: Earlier,
): Promise<PlannedSelection | null> {
  const candidates = await readCandidates(tx, { ...selected, after: null, limit: FREEZE_INLINE_MAX + 1 });
  if (candidates.length > FREEZE_INLINE_MAX) return null;
  const target = { ...selected, id: null, earlier: "hold" as const };
  const gated = await gateEach(tx, target, candidates, selected.asOfMs);
  const page = { ...selected, redriveId: null, above: null, limit: FREEZE_INLINE_MAX + 1 };
  const outside = await readEarlierVersions(tx, wantedAggregates(gated), page);
  if (candidates.length + outside.length > FREEZE_INLINE_MAX) return null;
  const holders = await readHolders(tx, target, gated);
  const held = refuseHeld(gated, holders);
  return {
    planned: earlier === "hold" ? held : await planEvents(tx, { ...target, earlier }, candidates, selected.asOfMs),
    earlier: earlierOf(held, holders, outside),
  };
}

/** What a redrive that holds says of earlier versions. `outside`: those that are not selected. */
function earlierOf(
  planned: readonly PlannedItem[],
  holders: ReadonlyMap<string, Holders>,
  outside: readonly Candidate[],
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
    bounded: false,
    headIds: last.slice(0, EARLIER_HEADS_MAX).map(({ behind }) => behind[0]!.id),
    samples: last
      .sort((a, b) => (a.event.id < b.event.id ? 1 : -1))
      .slice(0, EARLIER_SAMPLES_MAX)
      .map(({ event: { id, eventId, source, aggregateType, aggregateId, version }, behind }) => ({
        id,
        eventId,
        source,
        aggregateType,
        aggregateId: aggregateId!,
        version: versionOut(`${version}`),
        behind: behind.slice(0, EARLIER_BEHIND_MAX).map((head) => ({
          id: head.id,
          eventId: head.eventId,
          version: versionOut(`${head.version}`),
          status: head.status,
        })),
      })),
  };
}

/** Throws DomainError `read-timeout`, also when too many events stand under controls of their own. */
export async function judgeSelection(tx: Queryable, selected: SelectedForRedrive): Promise<JudgedSelection> {
  const rules = await readRules(tx);
  const ofGroups = { ...rules, index: indexControls([...rules.controls, AUTOMATIC]) };
  const touched = await readTouched(tx, selected, rules.controls);
  if (touched.length === TOUCHED_MAX) {
    throw new DomainError("read-timeout", "Too many events have controls of their own to preview each of them");
  }
  const ofTouched = await readRulesOver(tx, touched);
  const { redriveLimit } = rules.settings;
  const kinds = await groupCandidates(tx, selected, { redriveLimit, touched: touched.map(({ id }) => id) });
  const groups = kinds.map((group) => ({ ...group, refusal: refuseGroup(group, ofGroups, selected) }));
  const single = touched.map((each) => ({ ...each, count: 1, refusal: refuseOne(each, ofTouched, selected) }));
  const passing = {
    groups: groups.filter(({ refusal }) => refusal === null),
    touched: single.map(({ id, refusal }) => ({ id, passes: refusal === null })),
    redriveLimit,
  };
  return { counts: [...groups, ...single], passing };
}

/** The events of a judged selection that are behind others which do not go before them. Throws DomainError `read-timeout`. */
export function findEarlier(
  db: Db,
  selected: Selected,
  { passing }: JudgedSelection,
  timeoutMs: number,
): Promise<EarlierSummary> {
  const options = { statementTimeoutMs: timeoutMs, readOnly: true };
  return db.transaction((tx) => summarizeEarlier(tx, selected, passing), options);
}

type Asked = Pick<SelectedForRedrive, "asOfMs" | "despite">;

function refuseOne(facts: GateFacts, rules: Rules, { asOfMs, despite }: Asked): Refusal | null {
  const { redriveLimit } = rules.settings;
  const ruling = gate(facts, { controls: rules.index, redriveLimit, nowMs: asOfMs, at: "request", despite });
  return ruling.pass ? null : ruling.refusal;
}

/** Stands for Parkade's blacklists of the aggregates of a group, which names none of them. */
const AUTOMATIC: Control = {
  id: "",
  kind: "blacklist",
  origin: "automatic",
  scope: "aggregateId",
  value: "",
  source: null,
  aggregateType: null,
  expiresAtMs: null,
};

/** The gate decides alike for all members of the group, once events under their own control are taken out. */
function refuseGroup(group: CandidateGroup, rules: Rules, asked: Asked): Refusal | null {
  const facts = {
    ...group,
    eventId: "",
    aggregateType: null,
    aggregateId: group.blacklisted ? AUTOMATIC.value : null,
    cooldownUntilMs: group.cooling ? Number.POSITIVE_INFINITY : null,
    redrives: group.exhausted ? rules.settings.redriveLimit : 0,
  };
  return refuseOne(facts, rules, asked);
}
