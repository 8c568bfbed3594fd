import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { zstdCompress, zstdDecompress } from "node:zlib";

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/** Of one object, unpacked: the lines of a chunk, or of one event with a payload of the largest size. */
const UNPACKED_BYTES_MAX = 1024 * 1024 * 1024;

/** An object of the archive: lines of an export (`event-records.read.ts`) in a zstd frame (RFC 8878). */
export type PackedLines = { bytes: Uint8Array; sha256: string };

export async function packLines(lines: readonly string[]): Promise<PackedLines> {
  const bytes = await compress(Buffer.from(lines.join("")));
  return { bytes, sha256: sha256Of(bytes) };
}

/** The lines, without their ends. */
export async function unpackLines(bytes: Uint8Array): Promise<Buffer[]> {
  const text = await decompress(bytes, { maxOutputLength: UNPACKED_BYTES_MAX });
  const lines: Buffer[] = [];
  for (let start = 0; start < text.length; ) {
    const end = text.indexOf(0x0a, start);
    lines.push(text.subarray(start, end < 0 ? text.length : end));
    start = end < 0 ? text.length : end + 1;
  }
  return lines;
}

/** 64 hex digits. */
export function sha256Of(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
