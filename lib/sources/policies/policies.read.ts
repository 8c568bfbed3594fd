import { assertMay, sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Queryable } from "@/lib/platform/database/db";
import type { LowRateStore } from "@/lib/platform/database/prisma";
import type { PolicyOut } from "@/lib/sources/targets/targets.shapes";

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

/** Stored versions, newest first, of one policy or of all. */
export async function readPolicyVersions(
  lowRate: LowRateStore,
  viewer: Viewer,
  name: string | null,
): Promise<Omit<PolicyOut, "usedBy" | "bounds">[]> {
  assertMay(viewer, "view");
  const rows = await lowRate.read((prisma) =>
    prisma.policy.findMany({
      where: name === null ? {} : { name },
      orderBy: [{ name: "asc" }, { version: "desc" }],
      omit: { id: true },
    }),
  );
  return rows.map(({ createdAt, ...row }) => ({ ...row, createdAt: createdAt.toISOString() }));
}

export async function readPolicyUse(lowRate: LowRateStore, viewer: Viewer): Promise<Map<string, string[]>> {
  const scope = sourceScope(viewer);
  const targets = await lowRate.read((prisma) =>
    prisma.target.findMany({
      where: scope === null ? {} : { source: { name: { in: scope } } },
      orderBy: { name: "asc" },
      select: { name: true, policyName: true },
    }),
  );
  const byPolicy = Map.groupBy(targets, (target) => target.policyName);
  return new Map([...byPolicy].map(([policy, used]) => [policy, used.map((target) => target.name)]));
}
