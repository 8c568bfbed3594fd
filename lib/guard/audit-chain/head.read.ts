import type { ChainHead } from "@/lib/guard/audit-chain/chain.pure";
import type { Queryable } from "@/lib/platform/database/db";

/** The end of the chain; null = nothing is sealed yet. */
export async function readHead(db: Queryable): Promise<(ChainHead & { sealedAtMs: number }) | null> {
  const [head] = await db.query<ChainHead & { sealedAtMs: number }>(
    `select seq, encode(chain_hash, 'hex') as "chainHash", sealed_at as "sealedAtMs" from audit_seals order by seq desc limit 1`,
    [],
    { name: "audit-head" },
  );
  return head ?? null;
}
