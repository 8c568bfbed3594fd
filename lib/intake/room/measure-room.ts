import { statfs } from "node:fs/promises";
import type { RoomLimits } from "@/lib/intake/room/room.pure";
import { roomSentence } from "@/lib/intake/room/room.pure";
import { readIntakeStops } from "@/lib/intake/room/room.read";
import { storeDiskRoom, storeStoreRoom } from "@/lib/intake/room/room.write";
import type { Queryable } from "@/lib/platform/database/db";
import { DomainError } from "@/lib/platform/plain/problem.pure";

/** A disk that takes 100 MB a second loses half of the default limit in this time. */
export const ROOM_EVERY_MS = 5_000;

/** Bytes that a process without privileges may still write to the file system of a folder. */
export async function freeBytesOf(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

/** Stores how much room is left by what this process can measure: all processes that take events in go by it. */
export async function measureRoom(
  db: Queryable,
  { disk, storeBytesMax }: RoomLimits,
  probe: (folder: string) => Promise<number> = freeBytesOf,
): Promise<void> {
  if (disk !== null) {
    await storeDiskRoom(db, { freeBytes: await probe(disk.folder), freeBytesMin: disk.freeBytesMin });
  }
  if (storeBytesMax !== null) await storeStoreRoom(db, storeBytesMax);
}

/** Throws DomainError `store-full` while nothing is taken in. */
export async function assertRoom(db: Queryable): Promise<void> {
  const [stop] = await readIntakeStops(db);
  if (stop === undefined) return;
  throw new DomainError(
    "store-full",
    `${roomSentence(stop)}. Keep the event and send it again later; docs/runbooks/disk-full.md says how to make room`,
  );
}
