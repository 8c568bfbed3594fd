import { type BulkRequest, type ChangeChunk, changeEvents, refusals } from "@/lib/events/bulk/change-events";
import type { BulkAnswer } from "@/lib/events/events.shapes";
import { type Candidate, type CandidatePage, readCandidates } from "@/lib/events/selection/candidates.read";
import type { Viewer } from "@/lib/guard/viewer/viewer.pure";
import { packLines, sha256Of } from "@/lib/keep/archive/archive-lines";
import { type ArchiveDeps, archiveOf } from "@/lib/keep/archive/configured-archive";
import type { ArchiveStore } from "@/lib/keep/archive/stores/archive-store";
import { readHeld } from "@/lib/keep/holds/held.read";
import { readRecordSizes, readRecords } from "@/lib/keep/records/event-records.read";
import { readHoldingLater } from "@/lib/keep/removal/held-tails.read";
import { type KeptReason, whyKept } from "@/lib/keep/removal/removal.pure";
import { deleteEvents, insertArchiveObject } from "@/lib/keep/removal/removed-events.write";
import type { Tx } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";
import type { Deps } from "@/lib/platform/low-rate-deps";
import { iso } from "@/lib/platform/plain/iso-time.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { lockEvents } from "@/lib/redrive/run/store/fence.write";

/**
 * Removes the settled events of a selection, see `whyKept`. A worker does it: each chunk is written to the archive as
 * an object, read back and compared, and only then removed, in the transaction that names the object. See `changeEvents`;
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

/** Longer than an object takes to be written and read back. */
const ARCHIVING_MS_MAX = 90_000;

/** Bytes of records (`readRecordSizes`) that are removed at a time; one event may have more. */
const CHUNK_BYTES_MAX = 16 * 1024 * 1024;
/** Of one chunk: each is an object, and the events are locked until the last one is written. */
const CHUNK_SOURCES_MAX = 4;

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

/** A chunk of a removal: as `readCandidates`, cut where its records become many bytes, or come from many sources. */
export async function readRemovalChunk(tx: Tx, page: CandidatePage, readKeeping: ReadKeeping): Promise<Candidate[]> {
  const keeping = await readKeeping(tx);
  const candidates = await readCandidates(tx, page);
  const going = candidates.filter((event) => keeping.why(event) === null).map(({ id }) => id);
  const sizes = await readRecordSizes(tx, going);
  const sources = new Set<string>();
  let bytes = 0;
  const end = candidates.findIndex(({ id, source }, index) => {
    sources.add(source);
    bytes += sizes.get(id) ?? 0;
    return index > 0 && (bytes > CHUNK_BYTES_MAX || sources.size > CHUNK_SOURCES_MAX);
  });
  return end < 0 ? candidates : candidates.slice(0, end);
}

/** Of one operation. Each chunk becomes an object for each of its sources. */
export function removeChunk(archive: ArchiveStore, operationId: string, readKeeping: ReadKeeping): ChangeChunk {
  return async (tx, candidates, { actor, nowMs }) => {
    const keeping = await readKeeping(tx);
    // The transaction waits for the archive: its locks keep the events as they are archived.
    await tx.run(`set local idle_in_transaction_session_timeout = ${ARCHIVING_MS_MAX}`);
    const going = candidates.filter((event) => keeping.why(event) === null).map(({ id }) => id);
    const locked = await lockEvents(tx, going);
    const held = await readHeld(tx, [...locked.keys()]);
    // What a hold keeps does not leave: it goes on to count as a later version that others hold.
    const unheld = [...locked.keys()].filter((id) => !held.has(id));
    const kept = await keeping.readKept(tx, unheld);
    const why = (event: Candidate): KeptReason | null => {
      const now = locked.get(event.id);
      if (now === undefined) return keeping.why(event) ?? "not-found";
      const reason = keeping.why({ ...event, status: now.status, confirmed: now.confirmed });
      return reason ?? (held.has(event.id) ? "held" : (kept.get(event.id) ?? null));
    };
    const removable = candidates.filter((event) => why(event) === null);
    const archived: { id: string; objectId: string }[] = [];
    for (const [source, events] of Map.groupBy(removable, (event) => event.source)) {
      archived.push(...(await archiveEvents(tx, archive, { source, events, operationId, actor, nowMs })));
    }
    const changed = archived.length === 0 ? [] : await deleteEvents(tx, archived, nowMs);
    const gone = new Set(changed.map(({ id }) => id));
    const refused = refusals(candidates, gone, (event) => why(event) ?? "no-body");
    return { changed, refused, inFlight: [] };
  };
}

type Archiving = { source: string; events: readonly Candidate[]; operationId: string; actor: string; nowMs: number };

/** Writes the events as an object, and reads it back. Returns those that are in it: all that have a body. */
async function archiveEvents(
  tx: Tx,
  archive: ArchiveStore,
  { source, events, operationId, actor, nowMs }: Archiving,
): Promise<{ id: string; objectId: string }[]> {
  const ids = events.map(({ id }) => id);
  const records = await readRecords(tx, ids);
  if (records.length === 0) return [];
  const { bytes, sha256 } = await packLines(records.map(({ line }) => line));
  const id = uuidv7(nowMs);
  // A name of its own for each try: what a worker that died has written is never taken for this.
  const key = `removed/${iso(nowMs).slice(0, 10)}/${operationId}/${slugOf(source)}-${id}.ndjson.zst`;
  await archive.put(key, bytes);
  const kept = await archive.get(key);
  if (kept === null || sha256Of(kept) !== sha256) {
    throw new DomainError(
      "archive-unavailable",
      `${archive.place} did not give back what was written as ${key}: nothing was removed`,
    );
  }
  await insertArchiveObject(tx, {
    id,
    operationId,
    source,
    key,
    events: records.length,
    bytes: bytes.byteLength,
    sha256,
    removedBy: actor,
    atMs: nowMs,
  });
  return records.map((record) => ({ id: record.id, objectId: id }));
}

const SLUG_MAX = 60;

/** What every file system and object store takes; the object's row has the whole name. */
function slugOf(source: string): string {
  return source.replaceAll(/[^A-Za-z0-9._-]+/g, "_").slice(0, SLUG_MAX);
}
