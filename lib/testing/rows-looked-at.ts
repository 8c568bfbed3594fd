import type { Queryable } from "@/lib/platform/database/db";
import { type Plan, scansOf } from "@/lib/testing/explained-statements";

/** A store that explains each statement instead, and counts the rows of a table, or of its partitions, that its scans looked at. */
export function countingRows(db: Queryable, table: string): { db: Queryable; rows(): number } {
  let looked = 0;
  const query = async (text: string, values: readonly unknown[] = []) => {
    const [row] = await db.query<{ "QUERY PLAN": [{ Plan: Plan }] }>(`explain (analyze, format json) ${text}`, values);
    for (const scan of scansOf(row!["QUERY PLAN"][0].Plan)) if (scan.table.startsWith(table)) looked += scan.rows;
    return [];
  };
  return { db: { ...db, query }, rows: () => looked };
}
