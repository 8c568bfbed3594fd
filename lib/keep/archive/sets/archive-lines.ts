import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { zstdCompress, zstdDecompress } from "node:zlib";
import { readOrReject } from "@/lib/intake/arrival.shapes";
import { readEventIn } from "@/lib/intake/event-in.shapes";
import type { StoredArrival } from "@/lib/keep/restore/restore-events";

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/** Of one object, unpacked: the lines of a chunk, or of one event with a payload of the largest size. */
const UNPACKED_BYTES_MAX = 1024 * 1024 * 1024;

/** Lines of an export (`event-records.read.ts`), each with its end, in a zstd frame (RFC 8878). */
export async function packLines(lines: readonly string[]): Promise<Uint8Array> {
  return compress(Buffer.from(lines.join("")));
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

/** Where `event-records.read.ts` begins what it writes of the store. */
const STORED_AT = '"stored":{"id":"';

/** The id of the event of a line, found without parsing it: an object may hold thousands of lines besides the wanted ones. */
export function idOfLine(line: Buffer): string {
  const at = line.lastIndexOf(STORED_AT) + STORED_AT.length;
  return line.toString("latin1", at, at + 36);
}

/** What Parkade wrote itself has no limit of size. */
const NO_LIMITS = {
  payloadBytesMax: Number.MAX_SAFE_INTEGER,
  headersMax: Number.MAX_SAFE_INTEGER,
  storedValuesMax: Number.MAX_SAFE_INTEGER,
  defaultSource: null,
};

/** null = the line does not hold an event whole. */
export function readLine(line: Buffer): StoredArrival | null {
  const arrival = readOrReject(() => readEventIn(line, { start: 0, end: line.length }, NO_LIMITS));
  return "rejection" in arrival || !arrival.stored ? null : (arrival as StoredArrival);
}
