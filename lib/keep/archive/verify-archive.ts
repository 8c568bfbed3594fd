import type { Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { VerifyAnswer, VerifyRequest } from "@/lib/keep/archive/archive.shapes";
import { type ArchiveScope, type NamedSet, namedSets } from "@/lib/keep/archive/archived-events.read";
import { readNamedObject, readSetLines } from "@/lib/keep/archive/sets/read-set";
import { setKeysBeside } from "@/lib/keep/archive/sets/set-key.pure";
import { readManifest, type SetManifest } from "@/lib/keep/archive/sets/set-manifest.shapes";
import { type ArchiveDeps, type ArchiveStore, archiveOf } from "@/lib/platform/archive/archive-store";
import type { Queryable } from "@/lib/platform/database/db";
import { DomainError } from "@/lib/platform/plain/problem.pure";

/** Of one request, of up to 2,000 events each. */
const SETS_MAX = 8;

/**
 * Reads what the store names of the archive, and compares it with what was written: each object of a set by its SHA-256, and
 * the number of its lines. Sets of sources that the viewer does not see are left out. Throws DomainError
 * `archive-unavailable`, `unknown-event` when nothing of what is named was archived, `forbidden`.
 */
export async function verifyArchive(
  deps: ArchiveDeps & { db: Queryable },
  request: VerifyRequest,
  viewer: Viewer,
): Promise<VerifyAnswer> {
  const archive = archiveOf(deps);
  const { operation = null, day = null, source = null, after = null } = request;
  const scope: ArchiveScope = { operation, day, source };
  const found = await namedSets(deps.db, viewer, { scope, after, limit: SETS_MAX + 1 });
  if (found.length === 0 && after === null && (operation ?? day ?? source) !== null) {
    const [field] = Object.entries(scope).find(([, value]) => value !== null)!;
    throw new DomainError("unknown-event", "Nothing of it was archived", {
      fields: [{ field, detail: "has no set: list what is archived with GET /api/v1/archive" }],
    });
  }
  const sets = found.slice(0, SETS_MAX);
  const faults: VerifyAnswer["faults"] = [];
  // One after the other: an object may be many megabytes.
  for (const set of sets) faults.push(...(await faultsOf(archive, set)));
  return {
    sets: sets.length,
    events: sets.reduce((sum, { events }) => sum + events, 0),
    faults,
    next: found.length > SETS_MAX ? sets.at(-1)!.objectId : null,
  };
}

async function faultsOf(archive: ArchiveStore, set: NamedSet): Promise<VerifyAnswer["faults"]> {
  const { key, sha256, parquetSha256, manifestSha256, events } = set;
  const keys = setKeysBeside(key);
  const faults: VerifyAnswer["faults"] = [];
  const say = (object: string, detail: string) => faults.push({ object, detail });
  const lines = await readSetLines(archive, { key, sha256 });
  if ("fault" in lines) say(key, lines.fault);
  else if (lines.found.length !== events) say(key, countFault(key, lines.found.length, events));
  const parquet = await readNamedObject(archive, { key: keys.parquet, sha256: parquetSha256 });
  if ("fault" in parquet) say(keys.parquet, parquet.fault);
  const read = await readNamedObject(archive, { key: keys.manifest, sha256: manifestSha256 });
  if ("fault" in read) say(keys.manifest, read.fault);
  else {
    const fault = manifestFault(keys.manifest, readManifest(Buffer.from(read.found).toString()), set);
    if (fault !== null) say(keys.manifest, fault);
  }
  return faults;
}

function countFault(key: string, found: number, written: number): string {
  return `${key} holds ${found} events, and ${written} were written`;
}

function manifestFault(key: string, manifest: SetManifest | null, set: NamedSet): string | null {
  if (manifest === null) return `${key} is not a manifest`;
  const { events, lines, parquet } = manifest;
  if (events !== set.events) return countFault(key, events, set.events);
  const same = lines.sha256 === set.sha256 && parquet.sha256 === set.parquetSha256;
  return same ? null : `${key} names different objects than the store`;
}
