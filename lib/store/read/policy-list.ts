import type { PolicyOut } from "@/lib/contract/targets";
import { assertMay, sourceScope, type Viewer } from "@/lib/core/viewer";
import type { Queryable } from "@/lib/store/db";

type Row = Omit<PolicyOut, "usedBy" | "createdAt"> & { createdAtMs: number };

/** Stored versions, newest first; of one name, or of all. */
export async function readPolicyVersions(
  db: Queryable,
  viewer: Viewer,
  name: string | null,
): Promise<Omit<PolicyOut, "usedBy">[]> {
  assertMay(viewer, "view");
  const rows = await db.query<Row>(
    `select name, version, body, reason, created_by as "createdBy", created_at as "createdAtMs" from policies
      where $1::text is null or name = $1 order by name, version desc`,
    [name],
  );
  return rows.map(({ createdAtMs, ...row }) => ({ ...row, createdAt: new Date(createdAtMs).toISOString() }));
}

/** Names of the targets of each policy. */
export async function readPolicyUse(db: Queryable, viewer: Viewer): Promise<Map<string, string[]>> {
  const rows = await db.query<{ policy: string; targets: string[] }>(
    `select t.policy_name as policy, array_agg(t.name order by t.name) as targets
       from targets t join sources s on s.id = t.source_id
      where ($1::text[] is null or s.name = any($1)) group by t.policy_name`,
    [sourceScope(viewer)],
  );
  return new Map(rows.map((row) => [row.policy, row.targets]));
}
