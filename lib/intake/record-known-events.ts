import { appendAudit } from "@/lib/guard/audit/audit.write";
import type { Settings } from "@/lib/guard/settings/settings.pure";
import { readSettings } from "@/lib/guard/settings/settings.read";
import { meaningOf, storedMsOf } from "@/lib/intake/bounce.pure";
import { archivedAmongKeys, keyOf } from "@/lib/intake/event-keys.write";
import { markSuperseded } from "@/lib/intake/mark-superseded";
import { type ParkContext, type Parking, touchGroups } from "@/lib/intake/park.write";
import {
  type Bounce,
  countBounces,
  findKnown,
  knownRedrives,
  recordBounces,
  storeBounces,
} from "@/lib/intake/record-bounces.write";
import { ArchivedArrival } from "@/lib/intake/restore-arrivals";
import { cooldownAfter } from "@/lib/order/after-failure.pure";
import { aggregateKey } from "@/lib/order/aggregate.pure";
import { type BouncedAggregate, countAggregateFailures } from "@/lib/order/aggregate-failures.write";
import { blacklistAggregate } from "@/lib/order/blacklist-aggregate.write";
import type { Tx } from "@/lib/platform/database/db";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { INT4_MAX } from "@/lib/platform/plain/storable.pure";
import { bounceRedrive } from "@/lib/redrive/pace/canary-and-brake";

/**
 * Of arrivals of events that are parked already, separates bounces from duplicates and records the bounces. Returns the ids
 * (of the arrivals) of the bounces.
 */
export async function recordKnownEvents(tx: Tx, parkings: Parking[], context: ParkContext): Promise<Set<string>> {
  const marks = parkings.flatMap(({ letter }) => letter.redrive?.redriveId ?? []);
  const ours = await knownRedrives(tx, [...new Set(marks)]);
  const settings = await readSettings(tx);
  const bounced = new Set<string>();
  let left = parkings;
  while (left.length > 0) {
    const bounces = await bouncesAmong(tx, left, { ours, settings });
    if (bounces.length === 0) break;
    const marked = await markSuperseded(
      tx,
      bounces.map(({ parking }) => parking),
      context,
    );
    const judged = bounces.map((bounce, index) => ({ ...bounce, parking: marked[index]! }));
    const moved = await recordBounces(tx, judged, context.nowMs);
    const done = judged.filter(({ found }) => moved.has(found.id));
    if (done.length > 0) await settleBounces(tx, done, { ...context, settings });
    for (const { parking } of done) bounced.add(parking.id);
    // These events changed between the read and the update: read them again.
    left = judged.filter(({ found }) => !moved.has(found.id)).map(({ parking }) => parking);
  }
  return bounced;
}

/**
 * Of arrivals whose events are not in the store, asserts that they repeat archived events that were IGNORED. Throws
 * ArchivedArrival for those of events that were sent or expired, and DomainError `events-busy` for one that has left since its key was
 * asked for.
 */
async function assertRepeats(tx: Tx, missing: readonly Parking[], ours: ReadonlySet<string>): Promise<void> {
  const archived = await archivedAmongKeys(tx, missing);
  const byKey = new Map(archived.map((event) => [keyOf(event.sourceId, event.eventId, event.producer), event]));
  const back = missing.flatMap(({ sourceId, letter }) => {
    const event = byKey.get(keyOf(sourceId, letter.eventId, letter.producer));
    if (!event) throw new DomainError("events-busy", "An event left the store while it arrived again: send it again");
    const marked = letter.redrive !== null && ours.has(letter.redrive.redriveId);
    return event.status === "IGNORED" && !marked ? [] : [event.id];
  });
  if (back.length > 0) throw new ArchivedArrival([...new Set(back)]);
}

type BounceRules = { ours: ReadonlySet<string>; settings: Settings };

async function bouncesAmong(tx: Tx, parkings: Parking[], { ours, settings }: BounceRules): Promise<Bounce[]> {
  const known = await findKnown(tx, parkings);
  const found = new Map(known.map((event) => [keyOf(event.sourceId, event.eventId, event.producer), event]));
  const missing = parkings.filter(
    ({ sourceId, letter }) => !found.has(keyOf(sourceId, letter.eventId, letter.producer)),
  );
  if (missing.length > 0) await assertRepeats(tx, missing, ours);
  return parkings.flatMap((parking): Bounce[] => {
    const event = found.get(keyOf(parking.sourceId, parking.letter.eventId, parking.letter.producer));
    if (!event) return [];
    const mark = parking.letter.redrive?.redriveId ?? null;
    const markedRedrive = mark !== null && ours.has(mark) ? mark : null;
    const arrived = { markedRedrive, storedMs: storedMsOf(parking.letter.origin) };
    const meaning = meaningOf(event, arrived, settings.redriveLimit);
    if (meaning.kind === "duplicate") return [];
    const { status, redriveId } = meaning;
    // A send that counted as failed and bounced later is one failure of its redrive, not two.
    const counts = redriveId === null || !event.failedRedrives.includes(redriveId);
    return [
      { found: event, parking, status, redriveId, counts, cooldownMs: cooldownAfter(event.failures + 1, settings) },
    ];
  });
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
  for (const { found, parking, status, redriveId, counts } of bounces) {
    await appendAudit(tx, {
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
        attempts: Math.min(found.attempts + parking.letter.attempts, INT4_MAX),
        ...(parking.mark === null ? {} : { admission: parking.mark }),
        ...brought.get(found.id),
      },
      count: 1,
      atMs: nowMs,
      eventIds: [found.id],
    });
  }
  for (const { redriveId, sampled } of await countBounces(tx, bounces)) {
    await bounceRedrive(tx, redriveId, sampled, nowMs);
  }
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
  for (const aggregate of await countAggregateFailures(tx, [...failed.values()], limit)) {
    const redriveId = failed.get(aggregateKey(aggregate))!.redriveIds.at(-1) ?? null;
    await blacklistAggregate(tx, aggregate, { redriveId, limit, nowMs });
  }
}
