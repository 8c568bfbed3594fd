import { entryHash, type HashedEntry, subjectsHash, textHash } from "@/lib/guard/audit-chain/hashes";
import type { Queryable } from "@/lib/platform/database/db";

const digest = (ids: string) =>
  `(select encode(sha256(string_agg(uuid_send(id), ''::bytea order by n)), 'hex') from ${ids})`;

const ENTRIES = `select a.id, (extract(epoch from a.at) * 1000000)::bigint::text as at, a.actor, a.action,
    a.subject_kind as "subjectKind", a.subject_id as "subjectId", a.redrive_id as "redriveId", a.reason,
    a.before::text as before, a.after::text as after, a.count,
    ${digest("unnest(a.event_ids) with ordinality x (id, n)")} as listed,
    ${digest("(select s.event_id as id, s.event_id as n from audit_subjects s where s.entry_id = a.id and s.part is null) x")} as subjects
  from audit_entries a where a.id = any($1::uuid[])`;

export type StoredEntry = {
  hash: string;
  textHash: string;
  subjectKind: string;
  action: string;
  atMs: number;
  /** Its texts show that a forget replaced something. */
  forgotten: boolean;
};

/** Entries as they are stored now, with their hashes. One that is not there is left out. */
export async function readHashedEntries(db: Queryable, ids: readonly string[]): Promise<Map<string, StoredEntry>> {
  if (ids.length === 0) return new Map();
  const rows = await db.query<HashedEntry>(ENTRIES, [ids], { name: "audit-hashed" });
  return new Map(
    rows.map((row) => [
      row.id,
      {
        hash: entryHash(row),
        textHash: textHash(row),
        subjectKind: row.subjectKind,
        action: row.action,
        atMs: Number(row.at) / 1000,
        forgotten: [row.reason, row.subjectId, row.before, row.after].some((text) => text?.includes("[forgotten]")),
      },
    ]),
  );
}

export type Part = { entryId: string; part: string };

export const partKey = ({ entryId, part }: Part) => `${entryId} ${part}`;

/** The hashes of events that were added to entries later, by `partKey`; of a part without events too. */
export async function readHashedParts(db: Queryable, parts: readonly Part[]): Promise<Map<string, string>> {
  if (parts.length === 0) return new Map();
  const rows = await db.query<Part & { subjects: string | null }>(
    `select p.entry_id as "entryId", p.part,
        ${digest("(select s.event_id as id, s.event_id as n from audit_subjects s where s.entry_id = p.entry_id and s.part = p.part) x")} as subjects
      from unnest($1::uuid[], $2::uuid[]) p (entry_id, part)`,
    [parts.map(({ entryId }) => entryId), parts.map(({ part }) => part)],
    { name: "audit-hashed-parts" },
  );
  return new Map(rows.map((row) => [partKey(row), subjectsHash(row.entryId, row.part, row.subjects)]));
}
