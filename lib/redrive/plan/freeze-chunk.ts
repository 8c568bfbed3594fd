import { appendAudit } from "@/lib/guard/audit/audit.write";
import { readSettings } from "@/lib/guard/settings/settings.read";
import { aggregateKey, aggregateKeyOf } from "@/lib/order/aggregate.pure";
import { type HoldingEvents, holderOf } from "@/lib/order/held-by.pure";
import { type Earlier, HEADS_MAX, type Head, headsOf, isSuperseded } from "@/lib/order/order-gate.pure";
import { skippedAmong } from "@/lib/order/tails/tails.read";
import type { Queryable, Tx } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";
import { type GateRules, gate, gateChecks } from "@/lib/redrive/gate/gate.pure";
import { readRulesOver } from "@/lib/redrive/gate/read-rules";
import { countItems } from "@/lib/redrive/life/redrive.write";
import { type IdList, readFree, withIds } from "@/lib/redrive/plan/free-events.read";
import {
  freezeEvents,
  insertRefused,
  noteSlices,
  noteSources,
  type PlannedItem,
} from "@/lib/redrive/plan/freeze-events.write";
import { NO_DELTA } from "@/lib/redrive/run/store/finish-items.write";
import { type Candidate, readNamedCandidates } from "@/lib/selection/candidates.read";
import {
  readEarlierVersions,
  readOutsideCooling,
  readOutsideOrder,
  type WantedAggregate,
} from "@/lib/selection/outside-order.read";
import type { ScopedSelection } from "@/lib/selection/scope.shapes";
import type { Turn } from "@/lib/selection/walk-selection";
import { EVENT_MOVES } from "@/lib/states/event-state.pure";
import type { ConfirmableRefusal } from "@/lib/states/refusal.pure";

type FreezeTarget = {
  id: string;
  actor: string;
  reason: string;
  mode: "verify" | "deliver";
  earlier: Earlier;
  despite: readonly ConfirmableRefusal[];
  selection: ScopedSelection;
  asOfMs: number;
  cutoff: string;
};

type FrozenChunk = { total: number; open: number; refused: Record<string, number>; slices: number[] };

/** Sets up to this size are frozen in the request's own transaction; larger ones by the worker in chunks. */
export const FREEZE_INLINE_MAX = 2_000;

/** What decides about the events of a redrive before any of them is frozen. `id` null: a preview, nothing is frozen. */
type PlanTarget = Pick<FreezeTarget, "earlier" | "despite" | "selection" | "asOfMs" | "cutoff"> & {
  id: string | null;
};

/** Number of earlier versions read in one page, when a chunk takes them along. */
const EARLIER_PAGE = 5_000;

/**
 * Freezes one chunk of a selection into a redrive's manifest, inside the caller's transaction: gate, order, QUEUED by
 * compare-and-set, items, counters, audit. An event that another redrive took in between is refused as already-queued.
 * Only the events about which there is something to decide are read: the free ones go from table to table. After `turn`
 * it changes what the chunks of a redrive share.
 */
export async function freezeChunk(
  tx: Tx,
  redrive: FreezeTarget,
  ids: readonly string[],
  nowMs: number,
  turn: Turn = async () => {},
): Promise<FrozenChunk> {
  const { redriveLimit } = await readSettings(tx);
  const { free, rest } = await readFree(tx, redrive, ids, { nowMs, redriveLimit });
  const planned = await planEvents(tx, redrive, await readNamedCandidates(tx, rest), nowMs);
  return freeze(tx, redrive, { free, planned }, nowMs, turn);
}

/**
 * Decides for each candidate, and for the earlier versions that it takes along, whether a redrive would send it: the
 * gate, and the order of its aggregate. A redrive freezes what this says, and a preview counts it.
 */
export async function planEvents(
  tx: Queryable,
  redrive: PlanTarget,
  candidates: readonly Candidate[],
  nowMs: number,
): Promise<PlannedItem[]> {
  if (candidates.length === 0) return [];
  const selected = await gateEach(tx, redrive, candidates, nowMs);
  const planned =
    redrive.earlier === "include" ? [...selected, ...(await takeAlong(tx, redrive, selected, nowMs))] : selected;
  return redrive.earlier === "pass" ? planned : holdBehindHeads(tx, redrive, planned);
}

export async function gateEach(
  tx: Queryable,
  redrive: PlanTarget,
  candidates: readonly Candidate[],
  nowMs: number,
): Promise<PlannedItem[]> {
  const rules = await readRulesOver(tx, candidates);
  const gateRules: GateRules = {
    controls: rules.index,
    redriveLimit: rules.settings.redriveLimit,
    nowMs,
    at: "request",
    despite: redrive.despite,
  };
  return candidates.map((candidate) => {
    const ruling = gate(candidate, gateRules);
    const item = { candidate, detail: null };
    // No worker looks at a refused event: what a person is to know of it is written here.
    return ruling.pass
      ? { ...item, refusal: null }
      : { ...item, refusal: ruling.refusal, findings: gateChecks(candidate, gateRules).filter(({ ok }) => !ok) };
  });
}

/** Reads the earlier versions of the events that passed the gate, and puts each through the gate as well. */
async function takeAlong(
  tx: Queryable,
  redrive: PlanTarget,
  selected: readonly PlannedItem[],
  nowMs: number,
): Promise<PlannedItem[]> {
  const wanted = wantedAggregates(selected);
  const taken: PlannedItem[] = [];
  for (;;) {
    const page = { ...redrive, redriveId: redrive.id, limit: EARLIER_PAGE, above: taken.at(-1)?.candidate.id ?? null };
    const earlier = await readEarlierVersions(tx, wanted, page);
    taken.push(...(await gateEach(tx, redrive, earlier, nowMs)));
    if (earlier.length < EARLIER_PAGE) return taken;
  }
}

/** Below each version: the lowest number of its column. */
const BELOW_ALL = -(2n ** 63n);

type Ordered = Pick<FreezeTarget, "earlier" | "selection" | "asOfMs" | "cutoff">;

/**
 * Refuses the events behind one that holds them and does not go before them: it lies outside of the selection, or the
 * gate refuses it here. An event that another chunk refuses is found when the worker examines the events behind it.
 */
export async function holdBehindHeads(
  tx: Queryable,
  redrive: Ordered,
  planned: readonly PlannedItem[],
): Promise<PlannedItem[]> {
  return refuseHeld(planned, await readHolders(tx, redrive, planned));
}

/** `refused`: the heads among the planned events themselves, which the gate refuses. */
export type Holders = HoldingEvents & { refused: Head[] };

/** The events that hold the planned ones which passed the gate, by the key of their aggregate. */
export async function readHolders(
  tx: Queryable,
  redrive: Ordered,
  planned: readonly PlannedItem[],
): Promise<Map<string, Holders>> {
  const events = planned.map(({ candidate, refusal }) => ({ ...candidate, version: versionOf(candidate), refusal }));
  const stopped = events.filter(({ refusal }) => refusal !== null);
  const skipped = await skippedAmong(
    tx,
    stopped.map(({ id }) => id),
  );
  const refused = Map.groupBy(
    stopped.filter(({ id }) => !skipped.has(id)),
    (event) => aggregateKeyOf(event) ?? "",
  );
  const passing = Map.groupBy(
    events.filter(({ refusal }) => refusal === null),
    (event) => aggregateKeyOf(event) ?? "",
  );
  passing.delete("");
  const cooling = await readOutsideCooling(
    tx,
    [...passing.values()].map(([event]) => ({ ...event!, aggregateId: event!.aggregateId! })),
    redrive,
  );
  const judged = (key: string) => refused.has(key) || cooling.has(key);
  const wanted = wantedAggregates(planned, judged).map((each) => ({ ...each, judged: judged(aggregateKey(each)) }));
  const orders = await readOutsideOrder(tx, wanted, redrive);
  const ids = new Set(events.map(({ id }) => id));
  return new Map(
    [...passing.keys()].map((key) => {
      const { heads = [], versionProcessed = null } = orders.get(key) ?? {};
      const here = refused.get(key) ?? [];
      return [
        key,
        {
          heads: headsOf([...(redrive.earlier === "include" ? [] : heads), ...here], versionProcessed).slice(
            0,
            HEADS_MAX,
          ),
          refused: headsOf(here, versionProcessed),
          cooling: [
            ...(cooling.get(key) ?? []).filter(({ id }) => !ids.has(id)),
            ...here.filter(
              ({ status, cooldownUntilMs }) => status === "PENDING" && (cooldownUntilMs ?? 0) > redrive.asOfMs,
            ),
          ].filter((event) => !isSuperseded(event, versionProcessed)),
        },
      ];
    }),
  );
}

/** The planned events, those refused that one of these events holds. */
export function refuseHeld(planned: readonly PlannedItem[], holders: ReadonlyMap<string, Holders>): PlannedItem[] {
  return planned.map((item) => {
    const held = holders.get(aggregateKeyOf(item.candidate) ?? "");
    const holder =
      item.refusal === null && held ? holderOf({ ...item.candidate, version: versionOf(item.candidate) }, held) : null;
    return holder === null ? item : { ...item, refusal: "held-by-head", detail: holder.text };
  });
}

/**
 * The aggregates of the events that passed the gate, each with the highest version among them. Events without a version
 * come into it only where `judged` asks for their aggregate.
 */
export function wantedAggregates(
  planned: readonly Pick<PlannedItem, "candidate" | "refusal">[],
  judged: (key: string) => boolean = () => false,
): WantedAggregate[] {
  const wanted = new Map<string, WantedAggregate>();
  for (const { candidate, refusal } of planned) {
    const { sourceId, aggregateType, aggregateId } = candidate;
    if (refusal !== null || aggregateId === null) continue;
    const aggregate = { sourceId, aggregateType, aggregateId, top: versionOf(candidate) ?? BELOW_ALL };
    const key = aggregateKey(aggregate);
    if (aggregate.top === BELOW_ALL && !judged(key)) continue;
    const known = wanted.get(key);
    if (known === undefined || known.top < aggregate.top) wanted.set(key, aggregate);
  }
  return [...wanted.values()];
}

export function versionOf({ version }: Candidate): bigint | null {
  return version === null ? null : BigInt(version);
}

async function freeze(
  tx: Tx,
  redrive: FreezeTarget,
  { free, planned }: { free: IdList; planned: readonly PlannedItem[] },
  nowMs: number,
  turn: Turn,
): Promise<FrozenChunk> {
  const passed = planned.flatMap(({ refusal, candidate }) => (refusal === null ? [candidate.id] : []));
  const entryId = uuidv7(nowMs);
  const { queued, first, open, taken, slices, sources } = await freezeEvents(tx, redrive.id, withIds(free, passed), {
    actor: redrive.actor,
    entryId,
  });
  const refusals = [
    ...planned.filter(({ refusal }) => refusal !== null),
    ...(await readNamedCandidates(tx, taken)).map((candidate) => ({
      candidate,
      refusal: "already-queued" as const,
      detail: null,
    })),
  ];
  const refused: Record<string, number> = {};
  for (const { refusal } of refusals) if (refusal) refused[refusal] = (refused[refusal] ?? 0) + 1;
  await turn();
  await insertRefused(tx, redrive.id, refusals);
  await noteSlices(tx, redrive.id, slices);
  await noteSources(tx, redrive.id, sources);
  const total = open + refusals.length;
  await countItems(tx, redrive.id, { ...NO_DELTA, total, refused: refusals.length, refusedByReason: refused });
  if (open > 0) {
    await appendAudit(tx, {
      actor: redrive.actor,
      action: "event.queued",
      subjectId: open === 1 ? first : null,
      redriveId: redrive.id,
      reason: redrive.reason,
      before: { status: EVENT_MOVES.freeze.from[0] },
      after: { status: EVENT_MOVES.freeze.to, mode: redrive.mode },
      count: open,
      atMs: nowMs,
      eventIds: queued,
      listed: { entryId },
    });
  }
  return { total, open, refused, slices };
}
