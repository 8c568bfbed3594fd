import { type BulkRequest, type ChangeChunk, changeEvents, refusals } from "@/lib/events/bulk/change-events";
import type { BulkAnswer } from "@/lib/events/events.shapes";
import type { Viewer } from "@/lib/guard/viewer/viewer.pure";
import { keepWritten, rememberWriting } from "@/lib/keep/archive/leftovers.write";
import { keyList, setKeysOf, type WrittenSet } from "@/lib/keep/archive/sets/set-key.pure";
import { type NewSet, writeSet } from "@/lib/keep/archive/sets/write-set";
import { type EventRecord, readRecordSizes, readRecords } from "@/lib/keep/records/event-records.read";
import { readHoldingLater } from "@/lib/keep/removal/held-tails.read";
import { type KeptReason, whyKept } from "@/lib/keep/removal/removal.pure";
import { closeRemoval, deleteEvents, insertArchiveObjects } from "@/lib/keep/removal/removed-events.write";
import type { Deps } from "@/lib/lane/deps";
import { type ArchiveDeps, type ArchiveStore, archiveOf } from "@/lib/platform/archive/archive-store";
import type { Db, Tx } from "@/lib/platform/database/db";
import { uuidv7, uuidv7Day } from "@/lib/platform/ids";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { type Candidate, type CandidatePage, readCandidates } from "@/lib/selection/candidates.read";
import type { EventStatus } from "@/lib/states/event-state.pure";
import { lockEvents } from "@/lib/states/fence.write";

/**
 * Removes the settled events of a selection, see `whyKept`. A worker does it: each chunk is written to the archive as
 * sets of objects, read back and compared before the transaction commits that removes it and names them. See `changeEvents`;
 * throws DomainError `archive-unavailable` when no archive is configured, too.
 */
export async function removeEvents(
  deps: Deps & ArchiveDeps,
  request: BulkRequest,
  viewer: Viewer,
): Promise<BulkAnswer> {
  archiveOf(deps);
  return changeEvents(deps, { ...request, kind: "remove", change: null }, viewer);
}

/** Longer than a chunk takes to be written and read back. */
const ARCHIVING_MS_MAX = 90_000;

/** Bytes of records (`readRecordSizes`) that are removed at a time; one event may have more. */
const CHUNK_BYTES_MAX = 16 * 1024 * 1024;
/** Of one chunk: the events are locked until the last one is written. Fewer would leave a few events to a chunk where many sources are busy. */
const CHUNK_SETS_MAX = 64;
/** Written at once. */
const SETS_AT_ONCE = 8;

/** Which events of a removal stay. */
export type Keeping = {
  /** Why an event stays, by its state, source, code and id alone; null = it may go. */
  why(event: Candidate): KeptReason | null;
  /** Of locked events, those that stay for what others say of them. */
  readKept(tx: Tx, ids: readonly string[]): Promise<ReadonlyMap<string, KeptReason>>;
};

/** As it is now: each chunk asks anew. */
export type ReadKeeping = (tx: Tx) => Promise<Keeping>;

/** What a person removes: settled events that hold no others. */
export const readByHand: ReadKeeping = async () => ({
  why: whyKept,
  readKept: async (tx, ids) => allAs("holds-later", await readHoldingLater(tx, ids)),
});

export function allAs(reason: KeptReason, ids: ReadonlySet<string>): Map<string, KeptReason> {
  return new Map([...ids].map((id) => [id, reason]));
}

/** A chunk of a removal: as `readCandidates`, cut where its records become many bytes, or many sets. */
export async function readRemovalChunk(tx: Tx, page: CandidatePage, readKeeping: ReadKeeping): Promise<Candidate[]> {
  const keeping = await readKeeping(tx);
  const candidates = await readCandidates(tx, page);
  const going = new Set(candidates.filter((event) => keeping.why(event) === null).map(({ id }) => id));
  const sizes = await readRecordSizes(tx, [...going]);
  const sets = new Set<string>();
  let bytes = 0;
  const end = candidates.findIndex((event, index) => {
    if (going.has(event.id)) sets.add(setOf(event));
    bytes += sizes.get(event.id) ?? 0;
    return index > 0 && (bytes > CHUNK_BYTES_MAX || sets.size > CHUNK_SETS_MAX);
  });
  return end < 0 ? candidates : candidates.slice(0, end);
}

/** Events of one day and one source lie in one set. */
function setOf({ id, source }: { id: string; source: string }): string {
  return `${uuidv7Day(id)} ${source}`;
}

type RemovingDeps = { db: Db; archive: ArchiveStore };

/** Of one operation. Each chunk becomes a set for each of its days and sources. */
export function removeChunk(deps: RemovingDeps, operationId: string, readKeeping: ReadKeeping): ChangeChunk {
  return async (tx, candidates, { actor, nowMs }) => {
    const keeping = await readKeeping(tx);
    // The transaction waits for the archive: its locks keep the events as they are archived.
    await tx.run(`set local idle_in_transaction_session_timeout = ${ARCHIVING_MS_MAX}`);
    const going = candidates.filter((event) => keeping.why(event) === null).map(({ id }) => id);
    const locked = await lockEvents(tx, going);
    const records = new Map((await readRecords(tx, [...locked.keys()])).map((record) => [record.id, record]));
    const ownReason = (event: Candidate): KeptReason | "no-body" | null => {
      const now = locked.get(event.id);
      if (now === undefined) return keeping.why(event) ?? "not-found";
      const reason = keeping.why({ ...event, status: now.status, confirmed: now.confirmed });
      if (reason !== null) return reason;
      return records.has(event.id) ? null : "no-body";
    };
    // What stays for a reason of its own goes on to count as a later version that others hold.
    const leaving = candidates.filter((event) => ownReason(event) === null).map(({ id }) => id);
    const kept = await keeping.readKept(tx, leaving);
    const removable = leaving.filter((id) => !kept.has(id)).map((id) => records.get(id)!);
    const changed = await archiveEvents(tx, deps, { records: removable, operationId, actor, nowMs });
    const gone = new Set(changed.map(({ id }) => id));
    const refused = refusals(candidates, gone, (event) => ownReason(event) ?? kept.get(event.id) ?? "not-found");
    return { changed, refused, inFlight: [] };
  };
}

type Archiving = { records: readonly EventRecord[]; operationId: string; actor: string; nowMs: number };

/**
 * Writes the events as sets, reads them back, and names them. The events are deleted meanwhile: the transaction commits when
 * all of the sets came back as they were written, or not at all. What is written by then is a leftover, see `removeLeftovers`. Returns the events that have left.
 */
async function archiveEvents(
  tx: Tx,
  { db, archive }: RemovingDeps,
  { records, operationId, actor, nowMs }: Archiving,
): Promise<{ id: string; from: EventStatus }[]> {
  if (records.length === 0) return [];
  const sets = [...Map.groupBy(records, setOf).values()].map((group) => {
    const [{ id: first, source }] = group as [EventRecord];
    return { id: uuidv7(nowMs), day: uuidv7Day(first), source, operationId, events: group, atMs: nowMs };
  });
  const keys = sets.flatMap((set) => keyList(setKeysOf(set)));
  await rememberWriting(db, keys);
  const named = sets.flatMap((set) => set.events.map(({ id }) => ({ id, objectId: set.id })));
  const [removed, written] = await Promise.all([deleteEvents(tx, named, nowMs), writeSets(archive, sets)]);
  if (!(await keepWritten(tx, keys))) throw new DomainError("events-busy", "The archive took too long for a chunk");
  await insertArchiveObjects(tx, written, { operationId, removedBy: actor, atMs: nowMs });
  await closeRemoval(tx, removed);
  return removed.map(({ id, from }) => ({ id, from }));
}

async function writeSets(archive: ArchiveStore, sets: readonly NewSet[]): Promise<WrittenSet[]> {
  const written: WrittenSet[] = [];
  for (let at = 0; at < sets.length; at += SETS_AT_ONCE) {
    written.push(...(await Promise.all(sets.slice(at, at + SETS_AT_ONCE).map((set) => writeSet(archive, set)))));
  }
  return written;
}
