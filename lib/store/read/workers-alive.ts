import type { Queryable } from "@/lib/store/db";
import { HEARTBEAT_LOST_S } from "@/lib/store/read/target-list";

/** Workers whose last sign of life is recent, by the store's clock. */
export async function readWorkersAlive(db: Queryable): Promise<number> {
  const [row] = await db.query<{ alive: number }>(
    `select count(*) as alive from worker_heartbeats where seen_at > now() - interval '${HEARTBEAT_LOST_S} s'`,
  );
  return row!.alive;
}
