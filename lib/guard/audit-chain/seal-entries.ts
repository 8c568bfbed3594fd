import type { SealKind } from "@/lib/guard/audit-chain/chain.pure";
import { partKey, readHashedEntries, readHashedParts } from "@/lib/guard/audit-chain/hashed-entries";
import { CHAIN_START, chainHash } from "@/lib/guard/audit-chain/hashes";
import { readHead } from "@/lib/guard/audit-chain/head.read";
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
  const last = await readHead(tx);
  let head = { seq: last?.seq ?? 0, hash: last?.chainHash ?? CHAIN_START };
  const rows = pending.map(({ entryId, ref, kind }) => {
    const entry = entries.get(entryId);
    const content = kind === "subjects" ? parts.get(partKey({ entryId, part: ref })) : entry?.hash;
    const seal = {
      ...{ seq: head.seq + 1, kind, entryId, ref },
      ...{
        contentHash: entry ? content! : DELETED,
        textHash: kind === "subjects" ? null : (entry?.textHash ?? DELETED),
      },
      sealedAtMs: now!.ms,
    };
    head = { seq: seal.seq, hash: chainHash(head.hash, seal) };
    return { ...seal, chainHash: head.hash };
  });
  await tx.run(
    `insert into audit_seals (seq, kind, entry_id, ref, content_hash, text_hash, chain_hash, sealed_at)
     select seq, kind, "entryId", ref, decode("contentHash", 'hex'), decode("textHash", 'hex'), decode("chainHash", 'hex'),
            to_timestamp($2::float8 / 1000)
       from jsonb_to_recordset($1::jsonb) r (seq bigint, kind text, "entryId" uuid, ref uuid, "contentHash" text, "textHash" text,
                                             "chainHash" text)`,
    [JSON.stringify(rows), now!.ms],
    { name: "insert-audit-seals" },
  );
}
