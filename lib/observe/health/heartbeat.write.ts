import type { Db } from "@/lib/platform/database/db";
import { type HeartbeatInfo, IS_ALIVE } from "@/lib/sources/targets/target-list.read";

/** Returns the number of live workers, including this one, and the store's time. */
export async function writeHeartbeat(
  db: Db,
  beat: { id: string; startedAtMs: number; info: HeartbeatInfo },
): Promise<{ alive: number; storeMs: number }> {
  const [row] = await db.query<{ others: number; storeMs: number }>(
    `with beat as (
       insert into worker_heartbeats (id, started_at, seen_at, info)
       values ($1, to_timestamp($2::float8 / 1000), now(), $3::jsonb)
       on conflict (id) do update set seen_at = excluded.seen_at, info = excluded.info
     )
     select count(*) as others, (extract(epoch from now()) * 1000)::float8 as "storeMs" from worker_heartbeats
      where id <> $1 and ${IS_ALIVE}`,
    [beat.id, beat.startedAtMs, JSON.stringify(beat.info)],
    { name: "heartbeat" },
  );
  return { alive: row!.others + 1, storeMs: row!.storeMs };
}

/** A worker that stops regularly removes its heartbeat. */
export async function removeHeartbeat(db: Db, id: string): Promise<void> {
  await db.run("delete from worker_heartbeats where id = $1", [id]);
}
