import { packLines, sha256Of } from "@/lib/keep/archive/sets/archive-lines";
import { type SetName, setKeysOf, type WrittenSet } from "@/lib/keep/archive/sets/set-key.pure";
import { manifestText } from "@/lib/keep/archive/sets/set-manifest.shapes";
import { packParquet } from "@/lib/keep/archive/sets/set-parquet";
import { type EventColumns, microsOf, microsOrNull } from "@/lib/keep/records/event-columns.pure";
import type { StoredArrival } from "@/lib/keep/restore/restore-events";
import { payloadBytesOf } from "@/lib/keep/restore/restored-events.write";
import type { ArchiveStore } from "@/lib/platform/archive/archive-store";
import { iso } from "@/lib/platform/plain/iso-time.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";

/** `line`: of an export, with its end. */
type SetEvent = { line: string; columns: () => EventColumns };

/** Events of one day (`uuidv7Day`) and one source, at least one. */
export type NewSet = SetName & { events: readonly SetEvent[]; atMs: number };

/**
 * Writes events as a set of objects: the lines, a Parquet file of their columns, and last the manifest. Each is read back and
 * compared. Throws DomainError `archive-unavailable`, also when an object does not come back as it was written; objects may be
 * left over then, which nothing names.
 */
export async function writeSet(archive: ArchiveStore, { events, atMs, ...name }: NewSet): Promise<WrittenSet> {
  const keys = setKeysOf(name);
  const columns = events.map((event) => event.columns());
  const [lines, parquet] = await Promise.all([packLines(events.map(({ line }) => line)), packParquet(columns)]);
  const [linesSha256, parquetSha256] = await Promise.all([
    putChecked(archive, keys.lines, lines),
    putChecked(archive, keys.parquet, parquet),
  ]);
  const times = columns.map(({ firstSeen }) => firstSeen).toSorted((left, right) => (left < right ? -1 : 1));
  const manifest = manifestText({
    ...name,
    writtenAt: iso(atMs),
    events: events.length,
    firstSeen: { min: isoOfMicros(times[0]!), max: isoOfMicros(times.at(-1)!) },
    lines: { key: keys.lines, bytes: lines.byteLength, sha256: linesSha256 },
    parquet: { key: keys.parquet, bytes: parquet.byteLength, sha256: parquetSha256 },
  });
  const manifestSha256 = await putChecked(archive, keys.manifest, Buffer.from(manifest));
  const { id, source, day } = name;
  const written = { id, source, day, key: keys.lines, events: events.length, bytes: lines.byteLength };
  return { ...written, sha256: linesSha256, parquetSha256, manifestSha256 };
}

/** Answers the SHA-256 of what the archive gives back, which is that of the bytes. */
async function putChecked(archive: ArchiveStore, key: string, bytes: Uint8Array): Promise<string> {
  const sha256 = sha256Of(bytes);
  await archive.put(key, bytes);
  const kept = await archive.get(key);
  if (kept !== null && sha256Of(kept) === sha256) return sha256;
  throw new DomainError(
    "archive-unavailable",
    `${archive.place} did not return what was written as ${key}: nothing was removed`,
  );
}

function isoOfMicros(micros: bigint): string {
  const below = ((micros % 1_000n) + 1_000n) % 1_000n;
  return iso(Number((micros - below) / 1_000n)).replace("Z", `${String(below).padStart(3, "0")}Z`);
}

/** An event of another set, to be written again: its line stays byte for byte, and its columns are those of what was read of it. */
export function setEventOf(line: Buffer, { source, letter, stored }: StoredArrival): SetEvent {
  const { state } = stored;
  const columns = (): EventColumns => ({
    id: state.id,
    source,
    eventId: letter.eventId,
    aggregateId: letter.aggregateId,
    aggregateType: letter.aggregateType,
    version: letter.version,
    eventType: letter.eventType,
    errorCode: letter.errorCode,
    fingerprint: state.fingerprint,
    status: state.status,
    attempts: state.attempts,
    bounces: state.bounces,
    firstSeen: microsOf(state.firstSeen),
    lastAttemptAt: microsOrNull(state.lastAttemptAt),
    confirmedAt: microsOrNull(state.confirmedAt),
    payloadBytes: payloadBytesOf({ letter, stored }),
    traceId: letter.traceId,
    errorType: letter.error.type,
    errorMessage: letter.error.message,
    tags: JSON.stringify(letter.tags),
  });
  return { line: `${line.toString()}\n`, columns };
}
