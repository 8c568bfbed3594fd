import { assertMay, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { readOrReject } from "@/lib/intake/arrival.shapes";
import { readEventIn } from "@/lib/intake/event-in.shapes";
import type { RestoreAnswer, RestoreRequest } from "@/lib/keep/archive/archive.shapes";
import { sha256Of, unpackLines } from "@/lib/keep/archive/archive-lines";
import { type HoldingObject, objectsOf, objectsOfOperation } from "@/lib/keep/archive/archived-events.read";
import { type ArchiveDeps, archiveOf } from "@/lib/keep/archive/configured-archive";
import type { ArchiveStore } from "@/lib/keep/archive/stores/archive-store";
import { restoreEvents, type StoredArrival } from "@/lib/keep/restore/restore-events";
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
  for (const object of objects) {
    const read = await readObject(archive, object);
    answer.refused.push(...read.refused);
    const outcomes = await restoreEvents(deps, read.arrivals, viewer, { archived: true });
    outcomes.forEach((outcome, index) => {
      const { id } = read.arrivals[index]!.stored.state;
      if (outcome === "restored") answer.restored++;
      else if (outcome === "duplicate") answer.duplicates++;
      else answer.refused.push({ id, detail: whyRefused(outcome, object) });
    });
  }
  return answer;
}

type Holding = { objects: HoldingObject[]; missing: RestoreAnswer["refused"]; next: string | null };

async function holding(db: Db, viewer: Viewer, request: RestoreRequest): Promise<Holding> {
  if ("operation" in request) {
    const { operation, after = null } = request;
    const objects = await objectsOfOperation(db, viewer, { operation, after, limit: OBJECTS_MAX + 1 });
    if (objects.length === 0 && after === null)
      throw nothingArchived("operation", "name an operation that removed events");
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

async function readObject(archive: ArchiveStore, { key, sha256, ids }: HoldingObject): Promise<ReadObject> {
  const refuse = (detail: string) => ({ arrivals: [], refused: ids.map((id) => ({ id, detail })) });
  const bytes = await archive.get(key);
  if (bytes === null) return refuse(`its object ${key} is not in ${archive.place}`);
  if (sha256Of(bytes) !== sha256) return refuse(`its object ${key} was changed: its SHA-256 is not what was written`);
  const wanted = new Set(ids);
  const lines = (await unpackLines(bytes)).filter((line) => wanted.has(idOfLine(line)));
  const arrivals = lines.flatMap(readLine);
  const found = new Set(arrivals.map(({ stored }) => stored.state.id));
  const missing = ids
    .filter((id) => !found.has(id))
    .map((id) => ({ id, detail: `cannot be read in its object ${key}` }));
  return { arrivals, refused: missing };
}

/** What Parkade wrote itself has no limit of size. */
const NO_LIMITS = {
  payloadBytesMax: Number.MAX_SAFE_INTEGER,
  headersMax: Number.MAX_SAFE_INTEGER,
  storedValuesMax: Number.MAX_SAFE_INTEGER,
  defaultSource: null,
};

/** Where `event-records.read.ts` begins what it writes of the store. An object may hold thousands of lines besides the wanted ones. */
const STORED_AT = '"stored":{"id":"';

function idOfLine(line: Buffer): string {
  const at = line.lastIndexOf(STORED_AT) + STORED_AT.length;
  return line.toString("latin1", at, at + 36);
}

function readLine(line: Buffer): StoredArrival[] {
  const arrival = readOrReject(() => readEventIn(line, { start: 0, end: line.length }, NO_LIMITS));
  return "rejection" in arrival || !arrival.stored ? [] : [arrival as StoredArrival];
}
