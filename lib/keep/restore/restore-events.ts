import { auditEvents } from "@/lib/guard/audit/audit.write";
import { assertMay, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Arrival, Rejection } from "@/lib/intake/arrival.shapes";
import { claimKeys, keyOf, lockOwnKeys, reviveKeys } from "@/lib/intake/event-keys.write";
import { holdSources } from "@/lib/intake/park.write";
import { ensurePartitions, isMissingPartition } from "@/lib/intake/partitions.write";
import { assertRoom } from "@/lib/intake/room/measure-room";
import type { StoredPart } from "@/lib/intake/stored-state.shapes";
import { reportArchivedVersions } from "@/lib/keep/removal/reported-versions.write";
import {
  archivedAmong,
  countRestored,
  forgetArchived,
  insertRestored,
  insertRestoredGroups,
  type Restoring,
  statusesOf,
  storedKeys,
} from "@/lib/keep/restore/restored-events.write";
import { keepRestored } from "@/lib/keep/retention/retention.write";
import { raiseConfirmed } from "@/lib/order/confirmed-versions.write";
import { followLines } from "@/lib/order/lines.write";
import type { Clock } from "@/lib/platform/clock";
import { type Db, isRowFault, type Tx } from "@/lib/platform/database/db";
import { isReadTimeout, retrying } from "@/lib/platform/database/retrying";
import { uuidv7TimeMs } from "@/lib/platform/ids";

const DAY_MS = 86_400_000;
/** Each day of events is a partition of five tables that every list opens. */
const DAYS_BACK_MAX = 400;
/** As the list allows for clocks: no id is further in the future. */
const AHEAD_MS_MAX = 3_600_000;

export type StoredArrival = Arrival & { stored: StoredPart };

/** The outcome of one event: `duplicate`: an event with its source and eventId is stored. */
export type RestoreOutcome = "restored" | "duplicate" | "unknown-source" | { rejection: Rejection };

type RestoreDeps = { db: Db; clock: Clock };

/**
 * Puts events of an export back as they were: under their ids, with status, revisions and bounces; an event that was
 * QUEUED is PENDING. All of it is committed when this resolves, and what is restored again is a duplicate. Answers an
 * outcome for each event, in their order. When the store refuses a value, the batch is halved until the event is alone:
 * it is rejected, and its neighbours are stored. Throws DomainError `forbidden`, and `store-full` while nothing is taken in.
 *
 * `archived`: they come from our own archive, whatever their day. Others come from a file that may be old: what lies in
 * the archive is not put beside it, and no redrive is believed to count them.
 */
export async function restoreEvents(
  deps: RestoreDeps,
  arrivals: readonly StoredArrival[],
  viewer: Viewer,
  { archived = false } = {},
): Promise<RestoreOutcome[]> {
  assertMay(viewer, "restore", [...new Set(arrivals.map(({ source }) => source))]);
  const nowMs = deps.clock.wallMs();
  const outcomes = arrivals.map((arrival): RestoreOutcome | null => {
    const rejection = archived ? null : dayFault(arrival.stored.state.id, nowMs);
    return rejection && { rejection };
  });
  const places = arrivals.flatMap((_, place) => (outcomes[place] === null ? [place] : []));
  const batch = { arrivals: places.map((place) => arrivals[place]!), actor: viewer.name, archived };
  const found = await restoreHalving(deps, batch);
  places.forEach((place, index) => {
    outcomes[place] = found[index]!;
  });
  return outcomes as RestoreOutcome[];
}

function dayFault(id: string, nowMs: number): Rejection | null {
  const ms = uuidv7TimeMs(id);
  if (ms > nowMs + AHEAD_MS_MAX) return invalid("stored.id", "is in the future");
  if (ms >= nowMs - DAYS_BACK_MAX * DAY_MS) return null;
  return invalid("stored.id", `is more than ${DAYS_BACK_MAX} days ago: leave stored out to park it as a new event`);
}

function invalid(field: string, detail: string): Rejection {
  return { code: "invalid-request", field, detail: `${field} ${detail}` };
}

type Batch = { arrivals: readonly StoredArrival[]; actor: string; archived: boolean };

/** A batch that takes too long is halved too. */
async function restoreHalving(deps: RestoreDeps, batch: Batch): Promise<RestoreOutcome[]> {
  const { arrivals } = batch;
  if (arrivals.length === 0) return [];
  try {
    return await restoreRepeating(deps, batch);
  } catch (error) {
    const alone = arrivals.length === 1;
    if (!isRowFault(error) && (alone || !isReadTimeout(error))) throw error;
    if (alone) return [{ rejection: invalid("stored", "contains a value that the store refuses") }];
    const middle = arrivals.length >> 1;
    const half = (from: number, to?: number) => restoreHalving(deps, { ...batch, arrivals: arrivals.slice(from, to) });
    return [...(await half(0, middle)), ...(await half(middle))];
  }
}

/** Makes the partitions of days that have none. */
function restoreRepeating({ db, clock }: RestoreDeps, batch: Batch): Promise<RestoreOutcome[]> {
  return retrying(() => db.transaction((tx) => restore(tx, batch, clock.wallMs())), {
    pause: db.pause,
    repair: async (error) => {
      if (!isMissingPartition(error)) return false;
      const days = new Set(
        batch.arrivals.map(({ stored }) => Math.floor(uuidv7TimeMs(stored.state.id) / DAY_MS) * DAY_MS),
      );
      for (const day of days) await ensurePartitions(db, day);
      return true;
    },
  });
}

async function restore(tx: Tx, { arrivals, actor, archived }: Batch, nowMs: number): Promise<RestoreOutcome[]> {
  const sources = await holdSources(tx, [...new Set(arrivals.map(({ source }) => source))]);
  // A person who restores from the archive decides about the room; a file that comes in does not.
  if (sources.full && !archived) await assertRoom(tx);
  const ids = arrivals.map(({ stored }) => stored.state.id);
  const own = await lockOwnKeys(
    tx,
    arrivals.flatMap(({ source, letter, stored }) => {
      const sourceId = sources.ids.get(source);
      return sourceId === undefined ? [] : [{ id: stored.state.id, sourceId, letter }];
    }),
  );
  const known = await storedKeys(tx, ids);
  const inArchive = await archivedAmong(tx, ids, { lock: archived });
  const keys = new Set(known.values());
  const outcomes: RestoreOutcome[] = [];
  const events: (Restoring & { place: number })[] = [];
  arrivals.forEach(({ source, letter, stored }, place) => {
    const sourceId = sources.ids.get(source);
    outcomes[place] = "unknown-source";
    if (sourceId === undefined) return;
    const key = keyOf(sourceId, letter.eventId, letter.producer);
    const holder = known.get(stored.state.id);
    outcomes[place] = "duplicate";
    if (holder !== undefined && holder !== key)
      outcomes[place] = { rejection: invalid("stored.id", "is the id of another event") };
    const isArchived = inArchive.has(stored.state.id);
    if (isArchived && !archived)
      outcomes[place] = { rejection: invalid("stored.id", "lies in the archive: restore it from there") };
    // Its line was read before it was forgotten.
    const isForgotten = archived && !isArchived && holder === undefined;
    if (isForgotten) outcomes[place] = { rejection: invalid("stored.id", "is no longer in the archive") };
    if (holder !== undefined || keys.has(key) || isArchived !== archived) return;
    keys.add(key);
    known.set(stored.state.id, key);
    events.push({ place, id: stored.state.id, sourceId, letter, stored });
  });
  const free = await freeAmong(tx, events, own);
  const restored = events.filter(({ id }) => free.has(id));
  for (const { place } of restored) outcomes[place] = "restored";
  if (restored.length > 0) await store(tx, restored, { actor, nowMs, archived });
  return outcomes;
}

/** The ids that now hold the key of their event. */
async function freeAmong(tx: Tx, events: readonly Restoring[], own: ReadonlySet<string>): Promise<Set<string>> {
  const free = new Set(own);
  const others = events.filter(({ id }) => !own.has(id));
  for (const id of await claimKeys(tx, others)) free.add(id);
  const held = events.filter(({ id }) => !free.has(id));
  if (held.length === 0) return free;
  for (const id of await reviveKeys(tx, held)) free.add(id);
  return free;
}

async function store(
  tx: Tx,
  events: readonly Restoring[],
  { actor, nowMs, archived }: { actor: string; nowMs: number; archived: boolean },
): Promise<void> {
  await insertRestoredGroups(tx, events);
  await insertRestored(tx, events, { archived });
  const ids = events.map(({ id }) => id);
  await followLines(tx, ids);
  if (archived) await reportArchivedVersions(tx, await forgetArchived(tx, ids));
  await raiseConfirmed(tx, ids);
  await keepRestored(tx, ids);
  await countRestored(tx, events, { nowMs, archived });
  await auditEvents(tx, ids, {
    actor,
    action: "event.imported",
    after: statusesOf(events),
    atMs: nowMs,
  });
}
