import { CHAIN_SCOPES, type ChainHead } from "@/lib/guard/audit-chain/chain.pure";
import type { Queryable } from "@/lib/platform/database/db";

export type StoredHead = ChainHead & { sealedAtMs: number };

/** The ends of the chains; a scope without seals is left out. */
export async function readHeads(db: Queryable): Promise<StoredHead[]> {
  return db.query<StoredHead>(
    `select h.scope, h.seq, encode(h.chain_hash, 'hex') as "chainHash", h.sealed_at as "sealedAtMs"
       from unnest($1::text[]) s (scope), lateral (
         select * from audit_seals a where a.scope = s.scope order by a.seq desc limit 1) h`,
    [CHAIN_SCOPES],
    { name: "audit-heads" },
  );
}
