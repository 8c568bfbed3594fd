import { CLEAR, WITHOUT_KEY } from "@/lib/keep/encryption/encryption.read";
import type { Tx } from "@/lib/platform/database/db";

const TABLES = ["dlq_event_bodies", "event_revisions"] as const;
/** Of one transaction: some tens of milliseconds. */
const EVENTS_MAX = 10_000;
const [FIRST_ID, LAST_ID] = ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"];

/** A count under way: which table, behind which event, and what it has found until there. */
type Counting = { table: number; after: string; counts: Record<string, number> };

const BEGIN: Counting = { table: 0, after: FIRST_ID, counts: {} };

/** Bodies are counted from the first one on by the next call of `countPage`; a count under way begins anew. */
export async function beginCount(tx: Tx): Promise<void> {
  await tx.run("update encryption_progress set counting = $1::jsonb", [JSON.stringify(BEGIN)]);
}

/**
 * Counts the bodies of the next events, those of all revisions, where a count is under way or the last one ended an hour ago.
 * False = nothing is left to count. The caller has `lockEncryption`.
 */
export async function countPage(tx: Tx, eventsMax = EVENTS_MAX): Promise<boolean> {
  const [progress] = await tx.query<{ counting: Counting | null; due: boolean }>(
    `select counting, counted_at is null or counted_at < now() - interval '1 hour' as due from encryption_progress
        for update`,
  );
  const counting = progress?.counting ?? (progress?.due ? BEGIN : null);
  if (counting === null) return false;
  const { after } = counting;
  // A copy: the next count begins with `BEGIN`, too.
  const counts = { ...counting.counts };
  const table = TABLES[counting.table]!;
  const [last] = await tx.query<{ id: string }>(
    `select id from ${table} where id > $1 order by id offset ${eventsMax - 1} limit 1`,
    [after],
  );
  const rows = await tx.query<{ key: string; n: number }>(
    `select coalesce(k.master_key, case when b.data_key is null then '${CLEAR}' else '${WITHOUT_KEY}' end) as key, count(*) as n
       from ${table} b left join data_keys k on k.id = b.data_key where b.id > $1 and b.id <= $2 group by 1`,
    [after, last?.id ?? LAST_ID],
  );
  for (const { key, n } of rows) counts[key] = (counts[key] ?? 0) + n;
  const next = last ? { ...counting, after: last.id, counts } : { table: counting.table + 1, after: FIRST_ID, counts };
  if (next.table < TABLES.length) {
    await tx.run("update encryption_progress set counting = $1::jsonb", [JSON.stringify(next)]);
    return true;
  }
  await tx.run("update encryption_progress set counted_at = now(), counts = $1::jsonb, counting = null", [
    JSON.stringify(counts),
  ]);
  return false;
}
