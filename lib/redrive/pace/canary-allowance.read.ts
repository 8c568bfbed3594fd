import type { Queryable } from "@/lib/platform/database/db";
import { ITEM } from "@/lib/redrive/states/state.sql";

/**
 * How many more items a canary allows now: its step, less the events that were delivered and did not come back, less
 * the items that workers have claimed. null = no canary limits the redrive.
 */
export async function canaryAllowance(db: Queryable, redriveId: string): Promise<number | null> {
  const [row] = await db.query<{ released: number | null; sent: number; held: number }>(
    `select r.released, r.delivered - r.bounced as sent,
            case when r.released is null then 0 else (
              select count(*) from redrive_items i
               where i.redrive_id = r.id and i.state = ${ITEM.open} and i.claimed_until >= now()) end as held
       from redrives r where r.id = $1`,
    [redriveId],
    { name: "canary-allowance" },
  );
  if (!row || row.released === null) return null;
  return Math.max(row.released - row.sent - row.held, 0);
}
