import { expect } from "vitest";
import type { Db } from "@/lib/platform/database/db";

/** Until so many statements in the database wait for a lock. */
export async function waitForLocks(db: Db, count: number): Promise<void> {
  const waiting = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  await expect.poll(() => db.query(waiting), { interval: 20 }).toHaveLength(count);
}
