import type { Room } from "@/lib/intake/room/room.pure";
import { IS_CURRENT } from "@/lib/intake/room/room.sql";
import type { Queryable } from "@/lib/platform/database/db";

export type MeasuredRoom = Room & {
  stopped: boolean;
  /** When `stopped` last changed. */
  sinceMs: number;
};

/** The room by each measure and limit that a live process measures; empty where none is set. */
export async function readRoom(db: Queryable): Promise<MeasuredRoom[]> {
  return db.query<MeasuredRoom>(
    `select measure, limit_bytes as "limitBytes", left_bytes as "leftBytes", stopped, since as "sinceMs"
       from intake_room where ${IS_CURRENT} order by measure, limit_bytes`,
    [],
    { name: "read-room" },
  );
}

/** Why nothing is taken in; empty while events are taken in. */
export async function readIntakeStops(db: Queryable): Promise<MeasuredRoom[]> {
  return (await readRoom(db)).filter(({ stopped }) => stopped);
}
