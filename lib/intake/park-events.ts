import { appendAudit } from "@/lib/guard/audit/audit.write";
import { assertMay, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { admissionRecord } from "@/lib/intake/admission/admission.pure";
import {
  type AdmissionCount,
  type AdmissionSample,
  countAdmission,
  rememberDrops,
  sampleAdmission,
  storedAmong,
} from "@/lib/intake/admission/admission.write";
import {
  type AdmittedArrival,
  type AdmittedBatch,
  admitArrivals,
  RulesChanged,
} from "@/lib/intake/admission/admit-arrivals";
import type { Arrival } from "@/lib/intake/arrival.shapes";
import { type CountedArrival, countNotParked, countRejected, type NotParked } from "@/lib/intake/arrival-counts.write";
import { claimKeys, keyOf, reviveKeys } from "@/lib/intake/event-keys.write";
import { markSuperseded } from "@/lib/intake/mark-superseded";
import { holdSources, insertEvents, type ParkContext, type Parking } from "@/lib/intake/park.write";
import { ensurePartitions, isMissingPartition } from "@/lib/intake/partitions.write";
import { ofKnownProducers, withStoredProducer } from "@/lib/intake/producer";
import { type ChangedEvent, recordKnownEvents } from "@/lib/intake/record-known-events";
import { ArchivedArrival, type ArrivalDeps, restoreArrivals } from "@/lib/intake/restore-arrivals";
import { assertRoom } from "@/lib/intake/room/measure-room";
import { type OpenSend, ofSentRecords, ReceiptOutstanding, stillOpen } from "@/lib/intake/sent-records.write";
import { type Storm, thinOut } from "@/lib/intake/storms/thin-out";
import { isRowFault, type Queryable, type Tx } from "@/lib/platform/database/db";
import { retrying } from "@/lib/platform/database/retrying";
import { uuidv7 } from "@/lib/platform/ids";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { PARKED_AS } from "@/lib/states/event-state.pure";

/** Events of one transaction: large enough that a commit costs little, small enough that a refusal wastes little. */
export const PARK_BATCH_MAX = 1_000;

/**
 * The outcome of one arrival. An object: its event was known, and its bytes are a further revision of it. `dropped`: a rule of admission says that it is noise. `unstored`: it was counted in a storm and is
 * not among its sample. `rejected`: the store refuses one of its values.
 */
export type ParkOutcome =
  | "parked"
  | "duplicate"
  | "bounced"
  | "dropped"
  | "unstored"
  | "unknown-source"
  | "rejected"
  | ChangedEvent;

/**
 * Parks a batch of at most PARK_BATCH_MAX arrivals in one transaction: all of it is committed when this resolves, so
 * that a source may acknowledge. When it rejects, the batch may be parked again: what was stored counts as duplicate.
 * Answers an outcome for each arrival, in their order. When the store refuses a value, the batch is halved until the
 * arrival is alone: it is `rejected`, and its neighbours are stored.
 *
 * The rules of admission in force when the transaction begins are applied to each arrival, see `lib/intake/admission/admission.pure.ts`.
 *
 * New events are stored with body, group, counters and one audit entry; an event that is known already is a duplicate,
 * a bounce, or has other bytes, see `lib/intake/bounce.pure.ts`. An archived event that was sent is restored first; an arrival of one
 * that was IGNORED is a duplicate, unless its bytes are new. Of two batches that park the same event at the same time exactly one does.
 *
 * Rejects with DomainError `store-full` while there is no room, see `room/`: known events wait as well.
 *
 * `atMs` is when they count as parked, default now. Ids follow it: of two batches of one stream that are stored at the
 * same time, the later one needs the later moment to stay behind the other.
 *
 * Of a source with `stormPerMinute` a storm is thinned out, see `storms/thin-out.ts`. `onStorm`: acknowledged originals are gone,
 * so all are stored, and the caller reads slower.
 *
 * `whole`: a batch with a value that the store refuses is `rejected` as a whole, and nothing of it is counted: its messages stay at
 * their broker, and the caller parks them one by one.
 */
export async function parkEvents(
  deps: ArrivalDeps,
  arrivals: readonly Arrival[],
  viewer: Viewer,
  { atMs, onStorm, whole = false }: Partial<Omit<ParkOptions, "actor">> = {},
): Promise<ParkOutcome[]> {
  if (arrivals.length > PARK_BATCH_MAX) throw new RangeError(`at most ${PARK_BATCH_MAX} arrivals at a time`);
  if (arrivals.length === 0) return [];
  if (viewer.sources !== "all" || viewer.actions !== "all") {
    assertMay(viewer, "ingest", [...new Set(arrivals.map(({ source }) => source))]);
  }
  return parkHalving(deps, await admitArrivals(deps, arrivals), { actor: viewer.name, atMs, onStorm, whole });
}

type ParkOptions = {
  actor: string;
  atMs: number | undefined;
  onStorm: ((storm: Storm) => void) | undefined;
  whole: boolean;
};

async function parkHalving(deps: ArrivalDeps, batch: AdmittedBatch, options: ParkOptions): Promise<ParkOutcome[]> {
  const { arrivals } = batch;
  try {
    return await parkRepeating(deps, batch, options);
  } catch (error) {
    if (!isRowFault(error)) throw error;
    if (options.whole) return arrivals.map(() => "rejected");
    if (arrivals.length === 1) {
      await countRejected(deps.db, arrivals[0]!, options.atMs ?? deps.clock.wallMs());
      return ["rejected"];
    }
    const middle = arrivals.length >> 1;
    const half = (from: number, to: number) =>
      parkHalving(deps, { ...batch, arrivals: arrivals.slice(from, to) }, options);
    const first = await half(0, middle);
    return [...first, ...(await half(middle, arrivals.length))];
  }
}

/** If the rules change at every try, the last one locks them until the batch is stored. */
const JUDGED_AGAIN_MAX = 3;

/**
 * A consumer may fail within milliseconds, before the receipt of the send is committed. A batch with a letter that may be
 * of such a send waits once for the end of the sends that are under way, ten seconds at most: a send that begins later is
 * not the letter's. What is unknown then is parked as a new event.
 */
const RECEIPT_LOOKS_MAX = 100;
const RECEIPT_LOOK_MS = 100;

async function awaitReceipts({ db, clock }: ArrivalDeps, sends: readonly OpenSend[]): Promise<void> {
  let open = sends;
  for (let looks = 0; open.length > 0 && looks < RECEIPT_LOOKS_MAX; looks++) {
    await clock.sleep(RECEIPT_LOOK_MS);
    open = await stillOpen(db, open);
  }
}

/** Makes the partition of a day that has none yet, and judges arrivals again when the rules of admission have changed. */
function parkRepeating(
  deps: ArrivalDeps,
  batch: AdmittedBatch,
  { actor, atMs, onStorm }: ParkOptions,
): Promise<ParkOutcome[]> {
  const { db, clock } = deps;
  let nowMs = 0;
  let admitted = batch;
  let judgedAgain = 0;
  let mayWait = true;
  const lost = new Set<string>();
  const judgeAgain = async (of: Queryable) => {
    const arrived = admitted.arrivals.map(({ source, arrived: letter }) => ({ source, letter }));
    admitted = await admitArrivals({ db: of, clock }, arrived, { reread: true });
  };
  const once = () => {
    nowMs = atMs ?? clock.wallMs();
    return db.transaction(async (tx) => {
      if (judgedAgain === JUDGED_AGAIN_MAX) {
        await tx.query("select from admission_revision where id = 1 for share");
        await judgeAgain(tx);
      }
      return park(tx, admitted, { actor, nowMs, mayWait, lost, onStorm });
    });
  };
  const repair = async (error: unknown) => {
    if (error instanceof RulesChanged) {
      if (++judgedAgain < JUDGED_AGAIN_MAX) await judgeAgain(db);
      return true;
    }
    if (error instanceof ReceiptOutstanding) {
      mayWait = false;
      await awaitReceipts(deps, error.sends);
      return true;
    }
    if (error instanceof ArchivedArrival) {
      for (const id of await restoreArrivals(deps, error.ids)) lost.add(id);
      return true;
    }
    if (!isMissingPartition(error)) return false;
    await ensurePartitions(db, nowMs);
    return true;
  };
  return retrying(once, { repair, pause: db.pause }).catch((error: unknown) => {
    if (!(error instanceof ArchivedArrival)) throw error;
    throw new DomainError("events-busy", "Events left the store while they arrived again: send them again");
  });
}

type BatchOptions = Pick<ParkContext, "actor" | "nowMs"> & {
  onStorm: ParkOptions["onStorm"];
  /** For the receipts of sends that are under way. */
  mayWait: boolean;
  /** Ids of archived events that the archive did not give back: their arrivals take their keys, as new events. */
  lost: ReadonlySet<string>;
};

/** One arrival of a known source. `place`: in its batch. `id` is used when the event is new. */
type Incoming = Parking & { admitted: AdmittedArrival; place: number };

const arrivalKey = ({ sourceId, letter }: Parking) => keyOf(sourceId, letter.eventId, letter.producer);

async function park(
  tx: Tx,
  { arrivals, revision: judgedBy }: AdmittedBatch,
  options: BatchOptions,
): Promise<ParkOutcome[]> {
  const sources = await holdSources(tx, [...new Set(arrivals.map(({ source }) => source))]);
  const { revision, full } = sources;
  if (full) await assertRoom(tx);
  if (revision !== null && revision !== judgedBy) throw new RulesChanged();
  const { actor, nowMs } = options;
  const context: ParkContext = { actor, nowMs, processed: sources.processed, superseded: new Set() };
  // Ids of one millisecond are random; sorted, they keep the order of arrival, which is the order of an aggregate
  // whose events carry no version.
  const ids = arrivals.map(() => uuidv7(nowMs)).sort();
  const outcomes: ParkOutcome[] = arrivals.map(() => "unknown-source");
  const incoming: Incoming[] = [];
  for (const [place, admitted] of arrivals.entries()) {
    const sourceId = sources.ids.get(admitted.source);
    if (sourceId === undefined) continue;
    const { group, mark, arrived, label, matched, failed } = admitted;
    const letter = withStoredProducer(admitted.letter);
    const record = admissionRecord(arrived, { letter, group: label, matched, failed });
    incoming.push({ id: ids[place]!, sourceId, letter, group, mark, record, admitted, place });
  }
  const settle = (parkings: readonly Incoming[], outcome: ParkOutcome) => {
    for (const { place } of parkings) outcomes[place] = outcome;
  };
  const sent = await ofSentRecords(tx, incoming, { mayWait: options.mayWait });
  const known = await ofKnownProducers(tx, sent, options.lost);
  const { kept: admitted, dropped, again } = await dropNoise(tx, known);
  settle(dropped, "dropped");
  settle(again, "duplicate");
  const { stormLimits: limits } = sources;
  const { kept, unstored } = await thinOut(tx, admitted, { nowMs, limits, onStorm: options.onStorm });
  settle(unstored, "unstored");
  const [firsts, repeats] = firstsOf(kept);
  const parked = await parkNew(tx, firsts, context, options.lost);
  settle(
    firsts.filter(({ id }) => parked.has(id)),
    "parked",
  );
  const stored = firsts.filter(({ id }) => !parked.has(id));
  // Arrivals of the same event are recorded one at a time, in their order: each sees the result of the one before.
  for (const group of withoutRepeats([...stored, ...repeats])) {
    const news = await recordKnownEvents(tx, group, context);
    for (const parking of group) settle([parking], outcomeOf(news.get(parking.id)));
  }
  await countNotParked(tx, notParked(incoming, outcomes), nowMs);
  await recordAdmission(tx, incoming, outcomes, context);
  return outcomes;
}

function outcomeOf(known: { kind: "bounced" } | ChangedEvent | undefined): ParkOutcome {
  if (known === undefined) return "duplicate";
  return known.kind === "bounced" ? "bounced" : known;
}

const NOT_PARKED: readonly ParkOutcome[] = ["duplicate", "dropped", "unstored"] satisfies NotParked[];

function notParked(incoming: readonly Incoming[], outcomes: readonly ParkOutcome[]): CountedArrival[] {
  return incoming.flatMap((parking) => {
    const outcome = outcomes[parking.place]!;
    if (typeof outcome !== "string") return [{ kind: "duplicate", parking }];
    return NOT_PARKED.includes(outcome) ? [{ kind: outcome as NotParked, parking }] : [];
  });
}

/**
 * Separates the arrivals that a rule drops. A bounce is never dropped, nor is an arrival of an event that is stored: it
 * may be one. `again`: was dropped within the last hour, and is not counted a second time.
 */
async function dropNoise(
  tx: Tx,
  incoming: readonly Incoming[],
): Promise<{ kept: readonly Incoming[]; dropped: Incoming[]; again: Incoming[] }> {
  const noise = incoming.filter(({ admitted, letter }) => admitted.dropped !== null && letter.redrive === null);
  if (noise.length === 0) return { kept: incoming, dropped: [], again: [] };
  const stored = await storedAmong(tx, noise);
  const gone = noise.filter((parking) => !stored.has(arrivalKey(parking)));
  const fresh = await rememberDrops(tx, gone);
  const [dropped, again]: [Incoming[], Incoming[]] = [[], []];
  for (const parking of gone) (fresh.delete(arrivalKey(parking)) ? dropped : again).push(parking);
  const left = new Set(gone);
  return { kept: incoming.filter((parking) => !left.has(parking)), dropped, again };
}

/** Counts what the rules did to the arrivals that were stored or dropped, and keeps samples of what is not stored. */
async function recordAdmission(
  tx: Tx,
  incoming: readonly Incoming[],
  outcomes: readonly ParkOutcome[],
  { nowMs, superseded }: ParkContext,
): Promise<void> {
  const counts: AdmissionCount[] = [];
  const samples: AdmissionSample[] = [];
  for (const { id, sourceId, admitted, place } of incoming) {
    const { dropped, matched, failed, arrived: letter } = admitted;
    const outcome = outcomes[place]!;
    if (outcome !== "parked" && outcome !== "bounced" && outcome !== "dropped") continue;
    for (const { fault, ...rule } of failed) {
      counts.push({ ruleId: rule.id, sourceId, outcome: "failed" });
      samples.push({ rule, sourceId, outcome: "failed", letter, fault });
    }
    if (outcome === "dropped") {
      counts.push({ ruleId: dropped!.id, sourceId, outcome });
      samples.push({ rule: dropped!, sourceId, outcome, letter, fault: null });
      continue;
    }
    for (const rule of matched) counts.push({ ruleId: rule.id, sourceId, outcome: "matched" });
    if (superseded.has(id)) counts.push({ ruleId: null, sourceId, outcome: "superseded" });
  }
  await countAdmission(tx, counts, nowMs);
  await sampleAdmission(tx, samples, nowMs);
}

/** The first arrival of each event, and those that repeat it. */
function firstsOf(kept: readonly Incoming[]): [firsts: readonly Incoming[], repeats: Incoming[]] {
  // Ids alone say nearly always that there are none, and a key is made of three texts.
  if (new Set(kept.map(({ letter }) => letter.eventId)).size === kept.length) return [kept, []];
  const seen = new Set<string>();
  const [firsts, repeats]: [Incoming[], Incoming[]] = [[], []];
  for (const parking of kept) {
    (seen.has(arrivalKey(parking)) ? repeats : firsts).push(parking);
    seen.add(arrivalKey(parking));
  }
  return [firsts, repeats];
}

/** Splits the arrivals into groups that hold no event twice. */
function withoutRepeats(parkings: Incoming[]): Incoming[][] {
  const result: Incoming[][] = [];
  const depth = new Map<string, number>();
  for (const parking of parkings) {
    const key = arrivalKey(parking);
    const round = depth.get(key) ?? 0;
    depth.set(key, round + 1);
    if (!result[round]) result[round] = [];
    result[round].push(parking);
  }
  return result;
}

/** Stores the events whose key is free, or whose key belongs to an event that no longer exists. Returns their ids. */
async function parkNew(
  tx: Tx,
  parkings: readonly Parking[],
  context: ParkContext,
  lost: ReadonlySet<string>,
): Promise<Set<string>> {
  const { actor, nowMs } = context;
  const free = await claimKeys(tx, parkings);
  const taken = parkings.filter(({ id }) => !free.has(id));
  if (taken.length > 0) for (const id of await reviveKeys(tx, taken, lost)) free.add(id);
  const fresh = await markSuperseded(
    tx,
    parkings.filter(({ id }) => free.has(id)),
    context,
  );
  await insertEvents(tx, fresh, nowMs);
  if (fresh.length > 0) {
    await appendAudit(tx, {
      actor,
      action: "event.parked",
      subjectId: fresh.length === 1 ? fresh[0]!.id : null,
      after: { status: PARKED_AS },
      count: fresh.length,
      atMs: nowMs,
      eventIds: fresh.map(({ id }) => id),
      listed: { entryId: uuidv7(nowMs) },
    });
  }
  return free;
}
