/** Objects of one set, by what follows the part of the key that they share. */
const LINES = ".ndjson.zst";
const PARQUET = ".parquet";
const MANIFEST = ".manifest.json";

export const ARCHIVE_FOLDER = "events/";

export function isLinesKey(key: string): boolean {
  return key.endsWith(LINES);
}

type SetKeys = { lines: string; parquet: string; manifest: string };

export type SetName = {
  /** UTC day of its events, `2026-11-25`. */
  day: string;
  source: string;
  operationId: string;
  /** Of the set. A name of its own for each try: what a worker that died has written is never taken for this. */
  id: string;
};

/** What names the set in the store. `key`: of its lines. */
export type WrittenSet = {
  id: string;
  source: string;
  day: string;
  key: string;
  events: number;
  bytes: number;
  sha256: string;
  parquetSha256: string;
  manifestSha256: string;
};

/** Days and sources are folders in the manner of Hive, so that a query of one day opens no other day. */
export function setKeysOf({ day, source, operationId, id }: SetName): SetKeys {
  // A source is named by letters, digits, dots, underscores and hyphens: it is its own encoding.
  return keysFrom(`${ARCHIVE_FOLDER}day=${day}/source=${encodeURIComponent(source)}/${operationId}-${id}`);
}

/** In the order in which they are written. */
export function keyList({ lines, parquet, manifest }: SetKeys): string[] {
  return [lines, parquet, manifest];
}

/** The keys of the set that has these lines. */
export function setKeysBeside(lines: string): SetKeys {
  return keysFrom(lines.slice(0, -LINES.length));
}

function keysFrom(stem: string): SetKeys {
  return { lines: stem + LINES, parquet: stem + PARQUET, manifest: stem + MANIFEST };
}
