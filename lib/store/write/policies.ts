import type { Tx } from "@/lib/store/db";

/** The newest version, with the name locked until the transaction ends: two editors get two versions. */
export async function lockNewestPolicy(tx: Tx, name: string): Promise<{ version: number; body: unknown } | null> {
  await tx.run("select pg_advisory_xact_lock(hashtextextended('policy:' || $1, 0))", [name]);
  const [row] = await tx.query<{ version: number; body: unknown }>(
    "select version, body from policies where name = $1 order by version desc limit 1",
    [name],
  );
  return row ?? null;
}

export async function insertPolicy(
  tx: Tx,
  policy: { id: string; name: string; version: number; body: unknown; reason: string; createdBy: string },
): Promise<void> {
  await tx.run(
    "insert into policies (id, name, version, body, reason, created_by) values ($1, $2, $3, $4::jsonb, $5, $6)",
    [policy.id, policy.name, policy.version, JSON.stringify(policy.body), policy.reason, policy.createdBy],
  );
}
