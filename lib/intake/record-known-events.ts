import { appendAudits } from "@/lib/guard/audit/audit.write";
import type { Settings } from "@/lib/guard/settings/settings.pure";
import { readSettings } from "@/lib/guard/settings/settings.read";
import { classifyArrival, storedMsOf } from "@/lib/intake/bounce.pure";
import { type BroughtRevision, currentRevisions, keepBrought } from "@/lib/intake/brought-revisions.write";
import { archivedAmongKeys, keyOf } from "@/lib/intake/event-keys.write";
import { markSuperseded } from "@/lib/intake/mark-superseded";
import { type ParkContext, type Parking, touchGroups } from "@/lib/intake/park.write";
import {
  type Bounce,
  countBounces,
  findKnown,
  knownRedrives,
  recordBounces,
  type StoredEvent,
  storeBounces,
} from "@/lib/intake/record-bounces.write";
import { ArchivedArrival } from "@/lib/intake/restore-arrivals";
import { cooldownAfter } from "@/lib/order/after-failure.pure";
import { aggregateKey } from "@/lib/order/aggregate.pure";
import { type BouncedAggregate, countAggregateFailures } from "@/lib/order/aggregate-failures.write";
import { blacklistAggregates } from "@/lib/order/blacklist-aggregate.write";
import { lowerConfirmed } from "@/lib/order/confirmed-versions.write";
import type { Tx } from "@/lib/platform/database/db";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { INT4_MAX } from "@/lib/platform/plain/storable.pure";
import { bounceRedrive } from "@/lib/redrive/pace/canary-and-brake";
import { bytesHash } from "@/lib/repair/revisions/revise-events.write";
import { lockEvents } from "@/lib/states/fence.write";

/** The event that a letter with other bytes is of, and where they are kept. `current`: the next redrive sends them. */
export type ChangedEvent = { kind: "changed"; id: string } & BroughtRevision;

/**
 * Of arrivals of events that are parked already, separates bounces and other bytes from duplicates, and records them. Returns what the
 * arrivals were, by their ids; one that is absent is a duplicate.
 */
export async function recordKnownEvents(
  tx: Tx,
  parkings: Parking[],
  context: ParkContext,
): Promise<ReadonlyMap<string, { kind: "bounced" } | ChangedEvent>> {
  const marks = parkings.flatMap(({ letter }) => letter.redrive?.redriveId ?? []);
  const ours = await knownRedrives(tx, [...new Set(marks)]);
  const settings = await readSettings(tx);
  const outcomes = new Map<string, { kind: "bounced" } | ChangedEvent>();
  let left = parkings;
  while (left.length > 0) {
    const { bounces, changes } = await newsAmong(tx, left, { ours, settings });
    const locked = await lockedOf(tx, changes.length === 0 ? [] : [...changes, ...bounces]);
    const unchanged = await recordChanges(tx, changes, { context, outcomes, locked });
    const bounced = await recordComeback(tx, bounces, { ...context, settings });
    for (const { parking } of bounces) if (bounced.has(parking.id)) outcomes.set(parking.id, { kind: "bounced" });
    // These events changed between the read and the update: read them again.
    left = [...unchanged, ...bounces.flatMap(({ parking }) => (bounced.has(parking.id) ? [] : [parking]))];
  }
  return outcomes;
}

/** Records bounces. Returns the ids of the arrivals that it recorded. */
async function recordComeback(
  tx: Tx,
  bounces: readonly Bounce[],
  context: ParkContext & { settings: Settings },
): Promise<ReadonlySet<string>> {
  if (bounces.length === 0) return new Set();
  const marked = await markSuperseded(
    tx,
    bounces.map(({ parking }) => parking),
    context,
  );
  const judged = bounces.map((bounce, index) => ({ ...bounce, parking: marked[index]! }));
  const moved = await recordBounces(tx, judged, context.nowMs);
  const done = judged.filter(({ found }) => moved.has(found.id));
  if (done.length > 0) await settleBounces(tx, done, context);
  return new Set(done.map(({ parking }) => parking.id));
}

type Change = { found: StoredEvent; parking: Parking };
type Locked = Awaited<ReturnType<typeof lockEvents>>;

/** In one order with what else locks them: first those of changes and then those of bounces would be another one. */
async function lockedOf(tx: Tx, events: readonly Change[]): Promise<Locked> {
  return lockEvents(
    tx,
    events.map(({ found }) => found.id),
  );
}

/**
 * Keeps the bytes of letters that no revision of their events holds. They are what goes, unless somebody chose another revision than
 * the newest that arrived. Returns the arrivals whose events have changed their status since they were read.
 */
async function recordChanges(
  tx: Tx,
  changes: readonly Change[],
  {
    context: { actor, nowMs },
    outcomes,
    locked,
  }: { context: ParkContext; outcomes: Map<string, { kind: "bounced" } | ChangedEvent>; locked: Locked },
): Promise<Parking[]> {
  if (changes.length === 0) return [];
  const [still, moved] = [[] as Change[], [] as Parking[]];
  for (const change of changes) {
    if (locked.get(change.found.id)?.status === change.found.status) still.push(change);
    else moved.push(change.parking);
  }
  const current = await currentRevisions(
    tx,
    still.map(({ found }) => found.id),
  );
  const brought = await keepBrought(
    tx,
    still.map(({ found: { id }, parking: { letter } }) => {
      const { revision: base, newest } = current.get(id)!;
      return {
        id,
        base,
        becomes: base === newest,
        bounce: null,
        letter,
        headers: letter.headers,
        origin: letter.origin,
      };
    }),
    { actor, nowMs },
  );
  // Another transaction may have stored the same bytes meanwhile.
  const kept = still.flatMap((change) => {
    const revision = brought.get(change.found.id);
    return revision === undefined ? [] : [{ ...change, revision }];
  });
  for (const { found, parking, revision } of kept) {
    outcomes.set(parking.id, { kind: "changed", id: found.id, ...revision });
  }
  await appendAudits(
    tx,
    kept.map(({ found, parking, revision }) => ({
      actor,
      action: "event.changed",
      subjectKind: "event",
      subjectId: found.id,
      reason: null,
      before: { revision: current.get(found.id)!.revision },
      after: { ...revision, errorCode: parking.letter.errorCode },
      count: 1,
      atMs: nowMs,
      eventIds: [found.id],
    })),
  );
  return moved;
}

/**
 * Of arrivals whose events are not in the store, asserts that they repeat archived events that were IGNORED, with bytes
 * of theirs. Throws ArchivedArrival for the others, and DomainError `events-busy` for one that has left since its key was
 * asked for.
 */
async function assertRepeats(tx: Tx, missing: readonly Parking[], ours: ReadonlySet<string>): Promise<void> {
  const archived = await archivedAmongKeys(tx, missing);
  const byKey = new Map(archived.map((event) => [keyOf(event.sourceId, event.eventId, event.producer), event]));
  const back = missing.flatMap(({ sourceId, letter }) => {
    const event = byKey.get(keyOf(sourceId, letter.eventId, letter.producer));
    if (!event) throw new DomainError("events-busy", "An event left the store while it arrived again: send it again");
    const marked = letter.redrive !== null && ours.has(letter.redrive.redriveId);
    const hash = bytesHash(letter.payload);
    const repeats = event.hashes === null || event.hashes.some((known) => known.equals(hash));
    return event.status === "IGNORED" && !marked && repeats ? [] : [event.id];
  });
  if (back.length > 0) throw new ArchivedArrival([...new Set(back)]);
}

type BounceRules = { ours: ReadonlySet<string>; settings: Settings };

async function newsAmong(
  tx: Tx,
  parkings: Parking[],
  { ours, settings }: BounceRules,
): Promise<{ bounces: Bounce[]; changes: Change[] }> {
  const known = await findKnown(tx, parkings);
  const found = new Map(known.map((event) => [keyOf(event.sourceId, event.eventId, event.producer), event]));
  const foundOf = ({ sourceId, letter }: Parking) => found.get(keyOf(sourceId, letter.eventId, letter.producer));
  const missing = parkings.filter((parking) => foundOf(parking) === undefined);
  if (missing.length > 0) await assertRepeats(tx, missing, ours);
  const bounces: Bounce[] = [];
  const changes: Change[] = [];
  for (const parking of parkings) {
    const event = foundOf(parking);
    if (!event) continue;
    const mark = parking.letter.redrive?.redriveId ?? null;
    const markedRedrive = mark !== null && ours.has(mark) ? mark : null;
    const arrived = { markedRedrive, storedMs: storedMsOf(parking.letter.origin) };
    const meaning = classifyArrival(event, arrived, settings.redriveLimit);
    if (meaning.kind === "changed") changes.push({ found: event, parking });
    if (meaning.kind !== "bounce") continue;
    const { status, redriveId, failed } = meaning;
    // A send that counted as failed and bounced later is one failure of its redrive, not two.
    const counts = failed && (redriveId === null || !event.failedRedrives.includes(redriveId));
    const cooldownMs = cooldownAfter(event.failures + 1, settings);
    bounces.push({ found: event, parking, status, redriveId, failed, counts, cooldownMs });
  }
  return { bounces, changes };
}

async function settleBounces(
  tx: Tx,
  bounces: Bounce[],
  { actor, nowMs, settings }: ParkContext & { settings: Settings },
): Promise<void> {
  const brought = await storeBounces(tx, bounces, { actor, nowMs });
  await touchGroups(
    tx,
    bounces.map(({ found, parking }) => ({ ...parking, id: found.id })),
    nowMs,
  );
  await appendAudits(
    tx,
    bounces.map(({ found, parking, status, redriveId, failed, counts }) => ({
      actor,
      action: "event.bounced",
      subjectKind: "event",
      subjectId: found.id,
      redriveId,
      reason: status === "IGNORED" && found.status !== "IGNORED" ? "the redrive limit is reached" : null,
      before: { status: found.status, errorCode: found.errorCode, bounces: found.bounces, attempts: found.attempts },
      after: {
        status,
        errorCode: parking.letter.errorCode,
        bounces: found.bounces + 1,
        failures: found.failures + (counts ? 1 : 0),
        ...(failed ? {} : { failed }),
        attempts: Math.min(found.attempts + parking.letter.attempts, INT4_MAX),
        ...(parking.mark === null ? {} : { admission: parking.mark }),
        ...brought.get(found.id),
      },
      count: 1,
      atMs: nowMs,
      eventIds: [found.id],
    })),
  );
  for (const { redriveId, sampled } of await countBounces(tx, bounces)) {
    await bounceRedrive(tx, redriveId, sampled, nowMs);
  }
  const aggregates = bounces.flatMap(({ found: { sourceId, aggregateType, aggregateId } }) =>
    aggregateId === null ? [] : [{ sourceId, aggregateType, aggregateId }],
  );
  if (bounces.some(({ found }) => found.confirmed)) await lowerConfirmed(tx, aggregates);
  await failAggregates(tx, bounces, { limit: settings.aggregateFailureLimit, nowMs });
}

/**
 * A bounce is a failure of its aggregate; all bounces of one redrive count as one. At the limit of consecutive failures
 * the aggregate is blacklisted.
 */
async function failAggregates(
  tx: Tx,
  bounces: Bounce[],
  { limit, nowMs }: { limit: number; nowMs: number },
): Promise<void> {
  const failed = new Map<string, BouncedAggregate>();
  for (const { found, redriveId, counts } of bounces) {
    const { sourceId, aggregateType, aggregateId } = found;
    if (!counts || aggregateId === null) continue;
    const aggregate = { sourceId, aggregateType, aggregateId };
    const key = aggregateKey(aggregate);
    const { redriveIds, unknown } = failed.get(key) ?? { redriveIds: [], unknown: 0 };
    const known = redriveId === null ? redriveIds : [...new Set([...redriveIds, redriveId])];
    failed.set(key, { ...aggregate, redriveIds: known, unknown: unknown + Number(redriveId === null) });
  }
  const failing = await countAggregateFailures(tx, [...failed.values()], limit);
  const lastRedrive = (aggregate: BouncedAggregate) => aggregate.redriveIds.at(-1) ?? null;
  await blacklistAggregates(
    tx,
    failing.map((aggregate) => ({ ...aggregate, redriveId: lastRedrive(failed.get(aggregateKey(aggregate))!) })),
    { limit, nowMs },
  );
}
