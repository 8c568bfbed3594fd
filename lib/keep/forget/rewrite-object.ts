import { keepWritten, rememberWriting } from "@/lib/keep/archive/leftovers.write";
import { idOfLine, readLine } from "@/lib/keep/archive/sets/archive-lines";
import { readSetLines } from "@/lib/keep/archive/sets/read-set";
import { keyList, setKeysBeside, setKeysOf, type WrittenSet } from "@/lib/keep/archive/sets/set-key.pure";
import { setEventOf, writeSet } from "@/lib/keep/archive/sets/write-set";
import { type ArchivedObject, isInWindow, replaceObject } from "@/lib/keep/forget/archived-lines.write";
import { matchesKey } from "@/lib/keep/forget/forget-key.pure";
import { deleteArchived, type Forgotten, forgetEvents } from "@/lib/keep/forget/forgotten-events.write";
import { type ForgetScope, textOf } from "@/lib/keep/forget/matching-events.read";
import { insertArchiveObjects } from "@/lib/keep/removal/removed-events.write";
import type { StoredArrival } from "@/lib/keep/restore/restore-events";
import type { ArchiveStore } from "@/lib/platform/archive/archive-store";
import type { Clock } from "@/lib/platform/clock";
import type { Db, Tx } from "@/lib/platform/database/db";
import { uuidv7, uuidv7Day } from "@/lib/platform/ids";
import { DomainError } from "@/lib/platform/plain/problem.pure";

type RewriteDeps = { db: Db; clock: Clock };

type Rewritten = {
  forgotten: Forgotten[];
  counts: Record<string, number>;
  refused: Record<string, number>;
  /** An event of it was restored, perhaps after the stored events were looked at. */
  moved: boolean;
};

const NOTHING: Rewritten = { forgotten: [], counts: {}, refused: {}, moved: false };

/**
 * Takes what the key names out of a set of the archive: the others of its lines are written as a new set, which is read
 * back; then the rows point to it, and the old one is a leftover. An object that cannot be read stays, and is counted.
 * Throws DomainError `archive-unavailable`.
 */
export async function rewriteObject(
  tx: Tx,
  { db, clock }: RewriteDeps,
  archive: ArchiveStore,
  { forgetId, scope, object }: { forgetId: string; scope: ForgetScope; object: ArchivedObject },
): Promise<Rewritten> {
  const read = await readSetLines(archive, object);
  const lines = "fault" in read ? [] : read.found;
  const events = lines.flatMap((line) => {
    const arrival = readLine(line);
    return arrival === null ? [] : [{ id: idOfLine(line), line, arrival }];
  });
  // What cannot be read whole cannot be written again.
  if ("fault" in read || events.length < lines.length) return { ...NOTHING, refused: { "unreadable-object": 1 } };
  const matching = events.flatMap(({ id, arrival }) =>
    isInWindow(id, scope) && isNamed(scope, arrival) ? [arrival] : [],
  );
  if (matching.length === 0) return NOTHING;
  const going = new Set(matching.map(({ stored }) => stored.state.id));
  const kept = Map.groupBy(
    events.filter(({ id }) => !going.has(id)),
    ({ id }) => uuidv7Day(id),
  );
  const sets = [...kept].map(([day, of]) => {
    const name = { day, source: object.source, operationId: object.operationId, id: uuidv7(clock.wallMs()) };
    return { name, keys: keyList(setKeysOf(name)), of };
  });
  const keys = sets.flatMap((set) => set.keys);
  await rememberWriting(db, keys);
  const written: WrittenSet[] = [];
  for (const { name, of } of sets) {
    const rewritten = of.map(({ line, arrival }) => setEventOf(line, arrival));
    written.push(await writeSet(archive, { ...name, events: rewritten, atMs: clock.wallMs() }));
  }
  if (!(await keepWritten(tx, keys))) throw tookTooLong();
  const { operationId, removedBy, removedAtMs: atMs } = object;
  if (written.length > 0) await insertArchiveObjects(tx, written, { operationId, removedBy, atMs });
  const named = object.ids.filter((id) => going.has(id));
  const forgotten = await deleteArchived(tx, named);
  await forgetEvents(tx, forgetId, forgotten);
  const places = sets.flatMap(({ name, of }) => of.map(({ id }) => ({ id, objectId: name.id })));
  await replaceObject(tx, object, places, keyList(setKeysBeside(object.key)));
  return {
    forgotten,
    counts: { archivedEvents: forgotten.length, [written.length > 0 ? "objectsRewritten" : "objectsRemoved"]: 1 },
    refused: {},
    moved: forgotten.length < going.size,
  };
}

/** It is tried again. */
function tookTooLong(): DomainError {
  return new DomainError("events-busy", "An object of the archive changed while it was being rewritten");
}

function isNamed(scope: ForgetScope, { letter, stored }: StoredArrival): boolean {
  const { key } = scope;
  const revisions =
    "payload" in key ? stored.state.revisions.map(({ payloadBase64 }) => Buffer.from(payloadBase64, "base64")) : [];
  return matchesKey(key, {
    aggregateId: letter.aggregateId,
    aggregateType: letter.aggregateType,
    tags: letter.tags,
    payloads: "payload" in key ? [letter.payload, ...revisions].flatMap(textOf) : [],
  });
}
