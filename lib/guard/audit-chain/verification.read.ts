import type { ChainHead, FindingCode, HashedSeal } from "@/lib/guard/audit-chain/chain.pure";
import type { Queryable } from "@/lib/platform/database/db";
import { isOver } from "@/lib/platform/database/moments.sql";

export type StoredSeal = HashedSeal & { chainHash: string };

/** An entry that waits longer for its seal is a finding. A worker seals each second. Those from before the first seal have no such time. */
const LATE = "interval '10 minutes'";

/**
 * May the role that asks only add to the audit? A superuser may do everything, and an owner can give itself any right: that of a small
 * installation.
 */
export async function isAppendOnly(db: Queryable): Promise<boolean> {
  const [row] = await db.query<{ only: boolean }>(
    `select not bool_or(has_table_privilege(c.oid, 'update, delete, truncate') or pg_has_role(c.relowner, 'member')) as only
       from pg_class c where c.oid = any('{audit_entries,audit_subjects,audit_seals,audit_anchors}'::regclass[])`,
  );
  return row!.only;
}

export async function readSealBatch(
  db: Queryable,
  { after, limit }: { after: number; limit: number },
): Promise<StoredSeal[]> {
  return db.query<StoredSeal>(
    `select seq, kind, entry_id as "entryId", ref, encode(content_hash, 'hex') as "contentHash",
        encode(text_hash, 'hex') as "textHash", encode(chain_hash, 'hex') as "chainHash", (extract(epoch from sealed_at) * 1000)::float8 as "sealedAtMs"
       from audit_seals where seq > $1 order by seq limit $2`,
    [after, limit],
    { name: "audit-seal-batch" },
  );
}

/** For each number, in the same order: the hash of the seal there, null = the chain is shorter. */
export async function readSealHashes(
  db: Queryable,
  numbers: readonly number[],
): Promise<{ chainHash: string | null; entryId: string | null }[]> {
  return db.query(
    `select encode(s.chain_hash, 'hex') as "chainHash", s.entry_id as "entryId"
       from unnest($1::bigint[]) with ordinality p (seq, n) left join audit_seals s on s.seq = p.seq order by p.n`,
    [numbers],
  );
}

export async function lastSealedAt(db: Queryable, { seq }: ChainHead): Promise<number> {
  const [row] = await db.query<{ ms: number }>("select sealed_at as ms from audit_seals where seq = $1", [seq]);
  return row?.ms ?? Number.NEGATIVE_INFINITY;
}

/** Of seals whose texts differ: the numbers of those after which a forget changed the entry. Its own seal is checked by itself. */
export async function explainedChanges(db: Queryable, seals: readonly StoredSeal[]): Promise<Set<number>> {
  if (seals.length === 0) return new Set();
  const rows = await db.query<{ seq: number }>(
    `select e.seq from unnest($1::uuid[], $2::bigint[]) e (id, seq)
      where exists (select from audit_pending p where p.entry_id = e.id and p.kind = 'redaction')
         or exists (select from audit_seals s where s.entry_id = e.id and s.kind = 'redaction' and s.seq > e.seq)`,
    [seals.map(({ entryId }) => entryId), seals.map(({ seq }) => seq)],
  );
  return new Set(rows.map(({ seq }) => seq));
}

/** The numbers of those that an earlier seal of the same entry, or part, makes superfluous. */
export async function sealedBefore(db: Queryable, seals: readonly StoredSeal[]): Promise<Set<number>> {
  const once = seals.filter(({ kind }) => kind !== "redaction");
  if (once.length === 0) return new Set();
  const rows = await db.query<{ seq: number }>(
    `select e.seq from unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::text[]) e (id, ref, seq, kind)
      where exists (select from audit_seals s where s.entry_id = e.id and s.kind = e.kind and s.ref = e.ref and s.seq < e.seq)`,
    [
      ...[once.map(({ entryId }) => entryId), once.map(({ ref }) => ref)],
      ...[once.map(({ seq }) => seq), once.map(({ kind }) => kind)],
    ],
    { name: "audit-sealed-before" },
  );
  return new Set(rows.map(({ seq }) => seq));
}

export type ForgetRan = { fromMs: number; untilMs: number };

/**
 * When each of these forgets could change entries: from its start to the seal of its end, both as the audit says it. One
 * without a start in the audit is left out, and so is one that the store does not know, or that has ended without saying so. What a
 * forget changed last is sealed before its end, or with it.
 */
export async function readForgetsRan(db: Queryable, ids: readonly string[]): Promise<Map<string, ForgetRan>> {
  if (ids.length === 0) return new Map();
  const rows = await db.query<{ id: string; fromMs: number; untilMs: number | null }>(
    `select f.id, min(a.at) filter (where a.id = f.audit_id) as "fromMs",
            min(s.sealed_at) filter (where a.action = 'data.forget-ended') as "untilMs"
       from forgets f
       join audit_entries a on a.subject_kind = 'forget' and a.subject_id = f.id::text
       left join audit_seals s on s.entry_id = a.id and s.kind = 'entry'
      where f.id = any($1::uuid[])
      group by f.id
     having bool_or(a.action = 'data.forgotten' and a.id = f.audit_id)
        and (f.finished_at is null or bool_or(a.action = 'data.forget-ended'))`,
    [ids],
  );
  return new Map(rows.map(({ id, fromMs, untilMs }) => [id, { fromMs, untilMs: untilMs ?? Number.POSITIVE_INFINITY }]));
}

/** Seal numbers beyond the count of entries that the end of a forget states, unless a later forget has replaced that number. */
export async function readSurplusRedactions(db: Queryable, ids: readonly string[]): Promise<Set<number>> {
  if (ids.length === 0) return new Set();
  const rows = await db.query<{ seq: number }>(
    `select r.seq
       from (select seq, ref, row_number() over (partition by ref order by seq) as n
               from audit_seals where kind = 'redaction' and ref = any($1::uuid[])) r
       join audit_entries a on a.subject_kind = 'forget' and a.subject_id = r.ref::text and a.action = 'data.forget-ended'
      cross join lateral (select a.after #>> '{counts,auditEntries}' as text) said
      where r.n > case when said.text ~ '^[0-9]+$' then said.text::bigint when said.text is null then 0 end`,
    [ids],
  );
  return new Set(rows.map(({ seq }) => seq));
}

type Unsealed = { code: Extract<FindingCode, "unsealed" | "unsealed-subjects" | "late">; entryId: string };

/**
 * The next entries after an id, in the order of their ids: which of them, and which events of entries in between, have no
 * seal. `last`: where the next call continues; null = this was the end.
 */
export async function findUnsealed(
  db: Queryable,
  { after, limit }: { after: string | null; limit: number },
): Promise<{ found: Unsealed[]; last: string | null }> {
  const [page] = await db.query<{ n: number; last: string | null }>(
    `select count(*) as n, max(id::text)::uuid as last from (
       select id from audit_entries where $1::uuid is null or id > $1 order by id limit $2) page`,
    [after, limit],
    { name: "audit-unsealed-page" },
  );
  const last = page!.n < limit ? null : page!.last;
  const within = (id: string) => `($1::uuid is null or ${id} > $1) and ($2::uuid is null or ${id} <= $2)`;
  // One statement, so one snapshot: sealing moves a row from one table to the other.
  const found = await db.query<Unsealed>(
    `select case when p.entry_id is null then 'unsealed' else 'late' end as code, a.id as "entryId"
       from audit_entries a left join audit_pending p on p.entry_id = a.id and p.ref = a.id
      where ${within("a.id")} and (p.entry_id is null or ${isOver("p.since", LATE)})
        and not exists (select from audit_seals s where s.entry_id = a.id and s.kind = 'entry')
     union all
     select case when p.entry_id is null then 'unsealed-subjects' else 'late' end, u.entry_id
       from (select distinct s.entry_id, coalesce(s.part, s.entry_id) as ref from audit_subjects s where ${within("s.entry_id")}) u
       left join audit_pending p on p.entry_id = u.entry_id and p.ref = u.ref
      where (p.entry_id is null or (${isOver("p.since", LATE)} and p.ref <> p.entry_id))
        and not exists (select from audit_seals s where s.entry_id = u.entry_id and s.ref = u.ref)`,
    [after, last],
    { name: "audit-unsealed" },
  );
  return { found: found.sort((a, b) => (a.entryId < b.entryId ? -1 : 1)), last };
}
