import type { PolicyOut } from "@/lib/contract/targets";
import type { Queryable } from "@/lib/store/db";

type Row = Omit<PolicyOut, "usedBy" | "createdAt"> & { createdAtMs: number };

/** Stored versions, newest first; of one name, or of all. */
export async function readPolicyVersions(db: Queryable, name: string | null): Promise<Omit<PolicyOut, "usedBy">[]> {
  const rows = await db.query<Row>(
    `select name, version, body, reason, created_by as "createdBy", created_at as "createdAtMs" from policies
      where $1::text is null or name = $1 order by name, version desc`,
    [name],
  );
  return rows.map(({ createdAtMs, ...row }) => ({ ...row, createdAt: new Date(createdAtMs).toISOString() }));
}

/** Names of the targets of each policy. */
export async function readPolicyUse(db: Queryable): Promise<Map<string, string[]>> {
  const rows = await db.query<{ policy: string; targets: string[] }>(
    "select policy_name as policy, array_agg(name order by name) as targets from targets group by policy_name",
  );
  return new Map(rows.map((row) => [row.policy, row.targets]));
}
