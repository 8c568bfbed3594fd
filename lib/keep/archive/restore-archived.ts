import { assertMay, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { RestoreAnswer, RestoreRequest } from "@/lib/keep/archive/archive.shapes";
import { type HoldingObject, holdingObjects, objectsOf } from "@/lib/keep/archive/archived-events.read";
import { idOfLine, readLine } from "@/lib/keep/archive/sets/archive-lines";
import { readSetLines } from "@/lib/keep/archive/sets/read-set";
import { restoreEvents, type StoredArrival } from "@/lib/keep/restore/restore-events";
import { type ArchiveDeps, type ArchiveStore, archiveOf } from "@/lib/platform/archive/archive-store";
import type { Clock } from "@/lib/platform/clock";
import type { Db } from "@/lib/platform/database/db";
import { DomainError } from "@/lib/platform/plain/problem.pure";

/** Of one request: an object has up to 2,000 events. */
const OBJECTS_MAX = 4;

/**
 * Puts archived events back into the store, as they were: see `restoreEvents`. An object that is missing, or that is not
 * what was written, refuses its own events alone. Throws DomainError `archive-unavailable`, `unknown-event` when nothing
 * of what is named is archived, `forbidden`.
 */
export async function restoreArchived(
  deps: ArchiveDeps & { db: Db; clock: Clock },
  request: RestoreRequest,
  viewer: Viewer,
): Promise<RestoreAnswer> {
  assertMay(viewer, "restore");
  const archive = archiveOf(deps);
  const { objects, missing, next } = await holding(deps.db, viewer, request);
  const answer: RestoreAnswer = { restored: 0, duplicates: 0, refused: missing, next };
  await restoreObjects(deps, archive, { objects, viewer, answer });
  return answer;
}

type Restoring = { objects: readonly HoldingObject[]; viewer: Viewer; answer: RestoreAnswer };

async function restoreObjects(
  deps: { db: Db; clock: Clock },
  archive: ArchiveStore,
  { objects, viewer, answer }: Restoring,
): Promise<void> {
  const moved: string[] = [];
  for await (const { object, read } of readAhead(archive, objects)) {
    const places = await placesNow(deps.db, viewer, read.refused);
    const isMoved = ({ id }: { id: string }) => (places.get(id) ?? object.objectId) !== object.objectId;
    moved.push(...read.refused.filter(isMoved).map(({ id }) => id));
    answer.refused.push(...read.refused.filter((refused) => !isMoved(refused)));
    const outcomes = await restoreEvents(deps, read.arrivals, viewer, { archived: true });
    outcomes.forEach((outcome, index) => {
      const { id } = read.arrivals[index]!.stored.state;
      if (outcome === "restored") answer.restored++;
      else if (outcome === "duplicate") answer.duplicates++;
      else answer.refused.push({ id, detail: whyRefused(outcome, object) });
    });
  }
  if (moved.length === 0) return;
  // A forget has written these into another object since: they are not lost.
  await restoreObjects(deps, archive, { objects: await objectsOf(deps.db, viewer, moved), viewer, answer });
}

async function placesNow(db: Db, viewer: Viewer, refused: RestoreAnswer["refused"]): Promise<Map<string, string>> {
  if (refused.length === 0) return new Map();
  const objects = await objectsOf(
    db,
    viewer,
    refused.map(({ id }) => id),
  );
  return new Map(objects.flatMap(({ objectId, ids }) => ids.map((id) => [id, objectId])));
}

/** The objects as they are read: the next one while one of them is worked, since reading takes the archive and this process. */
async function* readAhead(archive: ArchiveStore, objects: readonly HoldingObject[]) {
  const begin = (object: HoldingObject) => {
    const reading = readObject(archive, object);
    // It is awaited when its turn comes, or never when the work on the one before it throws.
    reading.catch(() => undefined);
    return reading;
  };
  let next = objects[0] && begin(objects[0]);
  for (const [index, object] of objects.entries()) {
    const read = await next!;
    const after = objects[index + 1];
    next = after && begin(after);
    yield { object, read };
  }
}

type Holding = { objects: HoldingObject[]; missing: RestoreAnswer["refused"]; next: string | null };

async function holding(db: Db, viewer: Viewer, request: RestoreRequest): Promise<Holding> {
  if (!("ids" in request)) {
    const { after = null } = request;
    const scope =
      "operation" in request
        ? { operation: request.operation, day: null, source: null }
        : { operation: null, day: request.day, source: request.source ?? null };
    const objects = await holdingObjects(db, viewer, { scope, after, limit: OBJECTS_MAX + 1 });
    if (objects.length === 0 && after === null)
      throw "operation" in request
        ? nothingArchived("operation", "name an operation that removed events")
        : nothingArchived("day", "name a UTC day on which archived events were parked");
    const worked = objects.slice(0, OBJECTS_MAX);
    const next = objects.length > OBJECTS_MAX ? worked.at(-1)!.objectId : null;
    return { objects: worked, missing: [], next };
  }
  const objects = await objectsOf(db, viewer, request.ids);
  if (objects.length === 0)
    throw nothingArchived("ids", "use the `id` of archived events: list them with GET /api/v1/archive");
  const held = new Set(objects.flatMap(({ ids }) => ids));
  const missing = [...new Set(request.ids)].filter((id) => !held.has(id));
  return { objects, missing: missing.map((id) => ({ id, detail: "is not in the archive" })), next: null };
}

function nothingArchived(field: string, detail: string): DomainError {
  return new DomainError("unknown-event", "None of these events is in the archive", { fields: [{ field, detail }] });
}

function whyRefused(outcome: "unknown-source" | { rejection: { detail: string } }, { source }: HoldingObject): string {
  return outcome === "unknown-source"
    ? `its source ${JSON.stringify(source)} does not exist: create it, then restore again`
    : outcome.rejection.detail;
}

type ReadObject = { arrivals: StoredArrival[]; refused: RestoreAnswer["refused"] };

async function readObject(archive: ArchiveStore, object: HoldingObject): Promise<ReadObject> {
  const { key, ids } = object;
  const read = await readSetLines(archive, object);
  if ("fault" in read) return { arrivals: [], refused: ids.map((id) => ({ id, detail: `its object ${read.fault}` })) };
  const wanted = new Set(ids);
  const lines = read.found.filter((line) => wanted.has(idOfLine(line)));
  const arrivals = lines.map(readLine).filter((arrival) => arrival !== null);
  const found = new Set(arrivals.map(({ stored }) => stored.state.id));
  const missing = ids
    .filter((id) => !found.has(id))
    .map((id) => ({ id, detail: `cannot be read in its object ${key}` }));
  return { arrivals, refused: missing };
}
