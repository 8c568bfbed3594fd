import type { Room } from "@/lib/intake/room/room.pure";
import type { Queryable } from "@/lib/platform/database/db";
import { isWithin } from "@/lib/platform/database/moments.sql";

/** A measurement that is older counts no more: the process that made it is gone, and nobody knows how much room there is. */
const MEASURED_WITHIN_S = 30;

/** Conditions of rows of intake_room, by the clock of the store. */
const IS_CURRENT = isWithin("measured_at", `interval '${MEASURED_WITHIN_S} s'`);
export const STOPS_INTAKE = `stopped and ${IS_CURRENT}`;

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
