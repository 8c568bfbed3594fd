import { ARCHIVE_FOLDER, isLinesKey } from "@/lib/keep/archive/sets/set-key.pure";
import { readNamedObjects } from "@/lib/keep/backup/named-objects.read";
import type { ArchiveStore } from "@/lib/platform/archive/archive-store";
import { SEAL_BYTES } from "@/lib/platform/archive/sealed-store";
import type { Queryable } from "@/lib/platform/database/db";

export type ArchiveCheck = {
  place: string;
  /** Objects that the store names. */
  named: number;
  /** Of them not in the archive, or there with another length. */
  missing: number;
  /** The keys of the first of them. */
  keys: string[];
  /** Objects of the archive that the store does not name: harmless. */
  unnamed: number;
};

const KEYS_MAX = 20;
/** Objects of lines, in the order of the bytes of their keys. The other objects of a set hold nothing that its lines do not hold. */
async function* storedLines(archive: ArchiveStore): AsyncGenerator<{ key: string; bytes: number }, undefined> {
  for await (const object of archive.list(ARCHIVE_FOLDER)) if (isLinesKey(object.key)) yield object;
}

/** Compares the archive with the store by key and length; SHA-256 is checked at a restore. Rejects with DomainError `archive-unavailable`. */
export async function checkArchive(store: Queryable, archive: ArchiveStore): Promise<ArchiveCheck> {
  const check: ArchiveCheck = { place: archive.place, named: 0, missing: 0, keys: [], unnamed: 0 };
  const stored = storedLines(archive);
  let next = await stored.next();
  const isBefore = (key: string) => Buffer.compare(Buffer.from(next.value!.key), Buffer.from(key)) < 0;
  for await (const { key, bytes } of readNamedObjects(store)) {
    check.named++;
    for (; !next.done && isBefore(key); next = await stored.next()) check.unnamed++;
    const found = !next.done && next.value.key === key ? next.value : null;
    if (found !== null) next = await stored.next();
    // Sealing adds to the bytes that the store knows.
    if (found !== null && (found.bytes === bytes || found.bytes === bytes + SEAL_BYTES)) continue;
    check.missing++;
    if (check.keys.length < KEYS_MAX) check.keys.push(key);
  }
  for (; !next.done; next = await stored.next()) check.unnamed++;
  return check;
}
