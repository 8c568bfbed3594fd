import type { Queryable } from "@/lib/platform/database/db";

type Plan = {
  "Node Type": string;
  "Relation Name"?: string;
  "Actual Rows": number;
  "Actual Loops": number;
  "Rows Removed by Filter"?: number;
  Plans?: Plan[];
};

function rowsOf(plan: Plan, table: string): number {
  const below = (plan.Plans ?? []).reduce((sum, child) => sum + rowsOf(child, table), 0);
  if (plan["Relation Name"] !== table) return below;
  return below + (plan["Actual Rows"] + (plan["Rows Removed by Filter"] ?? 0)) * plan["Actual Loops"];
}

/** A store that explains each statement instead, and counts the rows of a table that its scans looked at. */
export function countingRows(db: Queryable, table: string): { db: Queryable; rows(): number } {
  let looked = 0;
  const query = async (text: string, values: readonly unknown[] = []) => {
    const [row] = await db.query<{ "QUERY PLAN": [{ Plan: Plan }] }>(`explain (analyze, format json) ${text}`, values);
    looked += rowsOf(row!["QUERY PLAN"][0].Plan, table);
    return [];
  };
  return { db: { ...db, query }, rows: () => looked };
}
