import { resumeBytes } from "@/lib/intake/room/room.pure";
import type { Queryable } from "@/lib/platform/database/db";
import { isWithin } from "@/lib/platform/database/moments.sql";

/** Adding up the files of a database takes milliseconds for thousands of partitions: once in this time, whoever asks. */
const STORE_EVERY_S = 10;

/** Stores what is left by the rows of `measured (left_bytes)`: at $1 of the limit, stopped until $2 are left again. */
function storing(measure: "disk" | "store"): string {
  return `insert into intake_room as held (measure, limit_bytes, left_bytes, stopped, since, measured_at)
    select '${measure}', $1::bigint, left_bytes, left_bytes < 0, now(), now() from measured
    on conflict (measure, limit_bytes) do update set
      left_bytes = excluded.left_bytes, measured_at = now(),
      stopped = excluded.left_bytes < case when held.stopped then $2::bigint else 0 end,
      since = case when held.stopped = (excluded.left_bytes < case when held.stopped then $2::bigint else 0 end)
                   then held.since else now() end`;
}

export async function storeDiskRoom(db: Queryable, disk: { freeBytes: number; freeBytesMin: number }): Promise<void> {
  await db.run(
    `with measured as (select $3::bigint - $1::bigint as left_bytes) ${storing("disk")}`,
    [disk.freeBytesMin, resumeBytes(disk.freeBytesMin), disk.freeBytes],
    { name: "store-disk-room" },
  );
}

/** Measures the store, unless another process did a moment ago. */
export async function storeStoreRoom(db: Queryable, storeBytesMax: number): Promise<void> {
  await db.run(
    `with measured as materialized (
       select $1::bigint - pg_database_size(current_database()) as left_bytes
        where not exists (select from intake_room where measure = 'store' and limit_bytes = $1::bigint
                             and ${isWithin("measured_at", `interval '${STORE_EVERY_S} s'`)}))
     ${storing("store")}`,
    [storeBytesMax, resumeBytes(storeBytesMax)],
    { name: "store-store-room" },
  );
}

/** Rows of limits that no process has any more. */
export async function removeOldRoom(db: Queryable): Promise<void> {
  await db.run("delete from intake_room where measured_at < now() - interval '1 day'");
}
