import { removeEndedWaysIn } from "@/lib/guard/sessions/ended-ways-in.write";
import { removeExpiredAdmission } from "@/lib/intake/admission/admission.write";
import { removeOldRoom } from "@/lib/intake/room/room.write";
import type { Db } from "@/lib/platform/database/db";
import { removeExpiredTrials } from "@/lib/rules/redrive-rules.write";
import { REMOVE_NARROW } from "@/lib/states/flow-tables.sql";

/** A bucket without a request for this long belongs to a finished redrive; a new request starts an empty one. */
const BUCKET_IDLE = "1 day";
const HEARTBEAT_KEPT = "1 hour";
/** A worker that was killed is shown as silent for this long. */
const SILENT_CONSUMER_KEPT = "5 minutes";

/** Removes expired rows: answers under an Idempotency-Key, idle buckets, the flow of minutes after a week, ended ways to sign in, heartbeats and consumers of lost workers. */
export async function removeExpired(db: Db): Promise<void> {
  await db.run("delete from idempotency_keys where expires_at < now()");
  await db.run(`delete from rate_buckets where updated_at < now() - interval '${BUCKET_IDLE}'`);
  for (const statement of REMOVE_NARROW) await db.run(statement);
  await removeExpiredAdmission(db);
  await removeExpiredTrials(db);
  await removeOldRoom(db);
  await removeEndedWaysIn(db);
  await db.run(`delete from worker_heartbeats where seen_at < now() - interval '${HEARTBEAT_KEPT}'`);
  await db.run(`delete from source_consumers where at < now() - interval '${SILENT_CONSUMER_KEPT}'`);
}
