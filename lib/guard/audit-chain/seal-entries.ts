import { CHAIN_SCOPES, type ChainScope, type SealKind, scopeOf } from "@/lib/guard/audit-chain/chain.pure";
import { partKey, readHashedEntries, readHashedParts } from "@/lib/guard/audit-chain/hashed-entries";
import { chainHash, chainStart } from "@/lib/guard/audit-chain/hashes";
import { readHeads } from "@/lib/guard/audit-chain/heads.read";
import type { Db, Tx } from "@/lib/platform/database/db";
import { isReadTimeout } from "@/lib/platform/database/retrying";

/** Of one transaction: some milliseconds of hashing, unless entries have thousands of events each. */
const BATCH = 1_000;
/** Of an entry that was deleted before it was sealed: no entry has this hash, so that a check names it. */
const DELETED = "0".repeat(64);

type Pending = { entryId: string; ref: string; kind: SealKind };

/**
 * Seals what waits, in batches, until nothing does. Of several workers one seals at a time; one that dies leaves no trace of
 * its batch. A batch that is too slow for the limit of a statement is halved. Returns the number of seals.
 */
export async function sealEntries(db: Db, signal?: AbortSignal): Promise<number> {
  let sealed = 0;
  let limit = BATCH;
  while (!signal?.aborted) {
    try {
      const done = await db.transaction((tx) => sealBatch(tx, limit));
      sealed += done;
      if (done < limit) break;
    } catch (error) {
      if (!isReadTimeout(error) || limit === 1) throw error;
      limit = Math.ceil(limit / 2);
    }
  }
  return sealed;
}

async function sealBatch(tx: Tx, limit: number): Promise<number> {
  const [lock] = await tx.query<{ free: boolean }>(
    "select pg_try_advisory_xact_lock(hashtextextended('parkade.audit-seals', 0)) as free",
  );
  if (!lock!.free) return 0;
  const pending = await tx.query<Pending>(
    `with oldest as (select entry_id, ref from audit_pending order by entry_id, ref limit $1)
     delete from audit_pending p using oldest o where p.entry_id = o.entry_id and p.ref = o.ref
     returning p.entry_id as "entryId", p.ref, p.kind`,
    [limit],
    { name: "take-audit-pending" },
  );
  if (pending.length === 0) return 0;
  await insertSeals(tx, pending.sort(inOrder));
  return pending.length;
}

const KINDS: readonly SealKind[] = ["entry", "subjects", "redaction"];

/** By entry, and of one entry what it is first. */
function inOrder(a: Pending, b: Pending): number {
  if (a.entryId !== b.entryId) return a.entryId < b.entryId ? -1 : 1;
  return KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) || (a.ref < b.ref ? -1 : 1);
}

async function insertSeals(tx: Tx, pending: readonly Pending[]): Promise<void> {
  const entries = await readHashedEntries(tx, [...new Set(pending.map(({ entryId }) => entryId))]);
  const parts = await readHashedParts(
    tx,
    pending.flatMap(({ kind, entryId, ref }) => (kind === "subjects" ? [{ entryId, part: ref }] : [])),
  );
  const [now] = await tx.query<{ ms: number }>("select (extract(epoch from clock_timestamp()) * 1000)::bigint as ms");
  const heads = new Map<ChainScope, { seq: number; hash: string }>(
    CHAIN_SCOPES.map((scope) => [scope, { seq: 0, hash: chainStart(scope) }]),
  );
  for (const { scope, seq, chainHash: hash } of await readHeads(tx)) heads.set(scope, { seq, hash });
  const rows = pending.map(({ entryId, ref, kind }) => {
    const entry = entries.get(entryId);
    const scope = scopeOf(entry?.subjectKind ?? "event");
    const head = heads.get(scope)!;
    const content = kind === "subjects" ? parts.get(partKey({ entryId, part: ref })) : entry?.hash;
    const seal = {
      ...{ scope, seq: head.seq + 1, kind, entryId, ref },
      ...{
        contentHash: entry ? content! : DELETED,
        textHash: kind === "subjects" ? null : (entry?.textHash ?? DELETED),
      },
      sealedAtMs: now!.ms,
    };
    const hash = chainHash(head.hash, seal);
    heads.set(scope, { seq: seal.seq, hash });
    return { ...seal, chainHash: hash };
  });
  await tx.run(
    `insert into audit_seals (scope, seq, kind, entry_id, ref, content_hash, text_hash, chain_hash, sealed_at)
     select scope, seq, kind, entry_id, ref, decode(content, 'hex'), decode(texts, 'hex'), decode(chain, 'hex'),
            to_timestamp($9::float8 / 1000)
       from unnest($1::text[], $2::bigint[], $3::text[], $4::uuid[], $5::uuid[], $6::text[], $7::text[], $8::text[])
         r (scope, seq, kind, entry_id, ref, content, texts, chain)`,
    [
      ...[rows.map((row) => row.scope), rows.map((row) => row.seq), rows.map((row) => row.kind)],
      ...[rows.map((row) => row.entryId), rows.map((row) => row.ref), rows.map((row) => row.contentHash)],
      ...[rows.map((row) => row.textHash), rows.map((row) => row.chainHash), now!.ms],
    ],
    { name: "insert-audit-seals" },
  );
}
