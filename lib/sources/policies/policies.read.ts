import type { Queryable } from "@/lib/platform/database/db";

/** One version of a retry policy. `body` is a policy of lib/retry, validated when it was stored. */
export type PolicyVersion = { name: string; version: number; body: unknown };

/** The newest version of each stored policy, by name. */
export async function readPolicies(db: Queryable): Promise<Record<string, PolicyVersion>> {
  const rows = await db.query<PolicyVersion>(
    "select distinct on (name) name, version, body from policies order by name, version desc",
    [],
    { name: "policies" },
  );
  return Object.fromEntries(rows.map((row) => [row.name, row]));
}
