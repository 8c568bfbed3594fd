import type { Queryable } from "@/lib/store/db";

/** Slices of a redrive that have open items. At most one number for each 64 items. */
export async function openSlices(db: Queryable, redriveId: string): Promise<number[]> {
  const rows = await db.query<{ slice: number }>(
    "select distinct slice from redrive_items where redrive_id = $1 and state = 'open' order by slice",
    [redriveId],
  );
  return rows.map((row) => row.slice);
}

/** Live redrives with the slices that nobody works on right now: what the queue must hold. */
export async function idleSlices(
  db: Queryable,
): Promise<{ redriveId: string; lane: "main" | "slow"; canary: boolean; slice: number }[]> {
  return db.query(
    `select r.id as "redriveId", r.lane, r.released is not null as canary, i.slice
       from redrives r
       join lateral (
         select distinct slice from redrive_items
          where redrive_id = r.id and state = 'open' and (claimed_until is null or claimed_until < now())
            and (not_before is null or not_before <= now())
       ) i on true
      where r.state = 'RUNNING'`,
  );
}
