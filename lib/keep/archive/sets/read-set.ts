import { sha256Of, unpackLines } from "@/lib/keep/archive/sets/archive-lines";
import type { ArchiveStore } from "@/lib/platform/archive/archive-store";
import { DomainError } from "@/lib/platform/plain/problem.pure";

/** An object as the store names it. */
type NamedObject = { key: string; sha256: string };

/** `fault`: why the object is of no use, to be read after "its object". */
type Read<T> = { found: T } | { fault: string };

/** Reads an object and compares its SHA-256. Throws DomainError `archive-unavailable` when the archive does not answer. */
export async function readNamedObject(archive: ArchiveStore, { key, sha256 }: NamedObject): Promise<Read<Uint8Array>> {
  let bytes: Uint8Array | null;
  try {
    bytes = await archive.get(key);
  } catch (error) {
    if (error instanceof DomainError && error.code === "archive-unreadable") return { fault: error.message };
    throw error;
  }
  if (bytes === null) return { fault: `${key} is not in ${archive.place}` };
  if (sha256Of(bytes) !== sha256) return { fault: `${key} was changed: its SHA-256 is not what was written` };
  return { found: bytes };
}

/** The lines of a set, without their ends. `object`: its lines, as the store names them. Throws as `readNamedObject`. */
export async function readSetLines(archive: ArchiveStore, object: NamedObject): Promise<Read<Buffer[]>> {
  const read = await readNamedObject(archive, object);
  return "fault" in read ? read : { found: await unpackLines(read.found) };
}
