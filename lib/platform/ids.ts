import { randomFillSync } from "node:crypto";

/** UUIDv7 layout (RFC 9562, section 5.7): 48 bits of epoch milliseconds, version, 12 + 62 random bits. */
const TIMESTAMP_BITS = 80n;
const UUID_MS_MAX = 2 ** 48 - 1;

// One syscall feeds 256 ids: id generation is on the ingest hot path.
const pool = new Uint8Array(16 * 256);
let used = pool.length;

function randomBytes16(): Uint8Array {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += 16;
  return pool.subarray(used - 16, used);
}

function format(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** Ids made for one millisecond count up in the 12 bits behind the time (RFC 9562, section 6.2, method 1). */
const COUNTER_MAX = 0xfff;
/** A millisecond starts its count below this, so that a burst has room to count up. */
const COUNTER_START_MAX = 0xff;

/**
 * The last counts, by their milliseconds modulo their number: what one request writes has the time of its begin, and meanwhile others
 * make ids of later times.
 */
const counts = new Uint16Array(4_096);
const countedMs = new Float64Array(counts.length).fill(-1);

function nextCount(ms: number, random: number): number {
  const place = ms % counts.length;
  const last = countedMs[place] === ms ? counts[place]! : COUNTER_MAX;
  // A burst beyond the counter starts over: still unique by its 62 random bits, only no longer in order.
  const count = last < COUNTER_MAX ? last + 1 : random & COUNTER_START_MAX;
  countedMs[place] = ms;
  counts[place] = count;
  return count;
}

/**
 * A new UUIDv7 for the given wall clock, epoch milliseconds. Ids that this process makes for the same millisecond sort in the order in
 * which they are made, up to some 3,800 of them, also when some for other times within four seconds come between; those of
 * different processes do not.
 */
export function uuidv7(wallMs: number): string {
  const ms = Math.min(Math.max(Math.floor(wallMs), 0), UUID_MS_MAX);
  const bytes = randomBytes16();
  const count = nextCount(ms, bytes[7]!);
  bytes[0] = Math.floor(ms / 2 ** 40);
  bytes[1] = Math.floor(ms / 2 ** 32) & 0xff;
  bytes[2] = (ms >>> 24) & 0xff;
  bytes[3] = (ms >>> 16) & 0xff;
  bytes[4] = (ms >>> 8) & 0xff;
  bytes[5] = ms & 0xff;
  bytes[6] = 0x70 | (count >>> 8);
  bytes[7] = count & 0xff;
  bytes[8] = 0x80 | (bytes[8]! & 0x3f);
  return format(bytes);
}

export const UUID_MIN = "00000000-0000-0000-0000-000000000000";
export const UUID_MAX = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** Smallest UUID whose embedded time is >= `epochMs`: turns a time window into a range over the primary key. */
export function uuidv7LowerBound(epochMs: number): string {
  const ms = BigInt(Math.min(Math.max(Math.floor(epochMs), 0), UUID_MS_MAX));
  const hex = (ms << TIMESTAMP_BITS).toString(16).padStart(32, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** Epoch milliseconds embedded in a UUIDv7. */
export function uuidv7TimeMs(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}

/** The UTC day of a UUIDv7, `2026-11-25`. */
export function uuidv7Day(id: string): string {
  // A year of five digits has a sign and a zero before it.
  return new Date(uuidv7TimeMs(id)).toISOString().split("T")[0]!.replace(/^\+0/, "");
}
