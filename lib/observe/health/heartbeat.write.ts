import type { Db } from "@/lib/platform/database/db";
import { isWithin, ms } from "@/lib/platform/database/moments.sql";
import { PACES } from "@/lib/platform/plain/paces.pure";
import { type HeartbeatInfo, IS_ALIVE } from "@/lib/sources/targets/target-list.read";

/**
 * Returns the number of live workers, including this one, whether it is the oldest of those that nobody may give up yet
 * (their last heartbeat is within `lostMs`), and the store's time.
 */
export async function writeHeartbeat(
  db: Db,
  beat: { id: string; startedAtMs: number; info: HeartbeatInfo },
  lostMs = PACES.lostMs,
): Promise<{ alive: number; oldest: boolean; storeMs: number }> {
  const [row] = await db.query<{ others: number; oldest: boolean; storeMs: number }>(
    `with beat as (
       insert into worker_heartbeats (id, started_at, seen_at, info)
       values ($1, to_timestamp($2::float8 / 1000), now(), $3::jsonb)
       on conflict (id) do update set seen_at = excluded.seen_at, info = excluded.info
     )
     select count(*) filter (where ${IS_ALIVE}) as others,
            count(*) filter (where id < $1 and ${isWithin("seen_at", ms("$4"))}) = 0 as oldest,
            (extract(epoch from now()) * 1000)::float8 as "storeMs"
       from worker_heartbeats where id <> $1`,
    [beat.id, beat.startedAtMs, JSON.stringify(beat.info), lostMs],
    { name: "heartbeat" },
  );
  return { alive: row!.others + 1, oldest: row!.oldest, storeMs: row!.storeMs };
}

/** A worker that stops regularly removes its heartbeat. */
export async function removeHeartbeat(db: Db, id: string): Promise<void> {
  await db.run("delete from worker_heartbeats where id = $1", [id]);
}
