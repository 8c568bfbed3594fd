import * as z from "zod/mini";

/** Of this form; a later one has another number. */
const MANIFEST_FORMAT = 1;

const text = z.string();
const file = z.object({ key: text, bytes: z.int(), sha256: text });

/**
 * Written when the other objects of a set lie in the archive: a set without it is unfinished. Keys are those of the archive,
 * without its prefix. Sizes and SHA-256 are of the objects as they are opened: an archive that seals them stores more bytes.
 */
const manifestSchema = z.object({
  format: z.literal(MANIFEST_FORMAT),
  id: text,
  operationId: text,
  source: text,
  /** UTC day of the ids of its events, `2026-11-25`. */
  day: text,
  writtenAt: text,
  events: z.int(),
  /** UTC, with microseconds. */
  firstSeen: z.object({ min: text, max: text }),
  lines: file,
  parquet: file,
});
export type SetManifest = z.infer<typeof manifestSchema>;

export function manifestText(manifest: Omit<SetManifest, "format">): string {
  return `${JSON.stringify({ format: MANIFEST_FORMAT, ...manifest }, null, 2)}\n`;
}

/** null = it is no manifest. */
export function readManifest(text: string): SetManifest | null {
  try {
    return manifestSchema.parse(JSON.parse(text));
  } catch {
    return null;
  }
}
