import { formatBytes } from "@/lib/platform/plain/format.pure";

/** `disk`: free space where PostgreSQL keeps its data. `store`: the size of its database. */
type RoomMeasure = "disk" | "store";

/** The room for events by one measure and one limit. */
export type Room = {
  measure: RoomMeasure;
  limitBytes: number;
  /** Until intake stops; below 0 the limit is passed. */
  leftBytes: number;
};

/** What a process can measure; null = not by this measure. */
export type RoomLimits = {
  disk: { folder: string; freeBytesMin: number } | null;
  storeBytesMax: number | null;
};

/**
 * How many bytes must be left before a stopped intake goes on: a tenth of the limit. Without a distance between the two,
 * intake would stop and go on with each batch.
 */
export function resumeBytes(limitBytes: number): number {
  return Math.ceil(limitBytes / 10);
}

/** Why nothing is taken in, and when it goes on, in one sentence. */
export function roomSentence({ measure, limitBytes, leftBytes }: Room): string {
  const resume = resumeBytes(limitBytes);
  if (measure === "disk") {
    const free = formatBytes(Math.max(0, limitBytes + leftBytes));
    return `The disk of the store has ${free} free of the ${formatBytes(limitBytes)} that PARKADE_DISK_FREE_MIN keeps: no event is accepted until ${formatBytes(limitBytes + resume)} are free`;
  }
  const size = formatBytes(Math.max(0, limitBytes - leftBytes));
  return `The store has ${size} of the ${formatBytes(limitBytes)} that PARKADE_STORE_SIZE_MAX allows: no event is accepted until it is below ${formatBytes(limitBytes - resume)}`;
}
