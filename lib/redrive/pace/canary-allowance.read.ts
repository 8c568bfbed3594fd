import type { Queryable } from "@/lib/platform/database/db";

/**
 * How many more items a canary allows now: its step, less the events that were delivered and did not come back. One job works the
 * redrive, and asks when nothing of it is under way. null = no canary limits the redrive.
 */
export async function canaryAllowance(db: Queryable, redriveId: string): Promise<number | null> {
  const [row] = await db.query<{ released: number | null; sent: number }>(
    "select released, delivered - bounced as sent from redrives where id = $1",
    [redriveId],
    { name: "canary-allowance" },
  );
  if (!row || row.released === null) return null;
  return Math.max(row.released - row.sent, 0);
}
