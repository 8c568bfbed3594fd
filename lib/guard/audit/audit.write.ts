import { randomUUID } from "node:crypto";
import type { Tx } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";
import type { AuditEntry } from "@/lib/platform/plain/audit-entry.pure";

/**
 * Appends one entry with the events that it covers. Takes a transaction so that it commits with the change or not at all.
 * Returns the entry's id.
 */
export async function appendAudit(tx: Tx, entry: AuditEntry): Promise<string> {
  const [id] = await appendAudits(tx, [entry]);
  return id!;
}

type Change = Omit<AuditEntry, "subjectKind" | "subjectId" | "count" | "eventIds">;

export function auditEvents(tx: Tx, ids: readonly string[], change: Change): Promise<string> {
  const subjectId = ids.length === 1 ? ids[0]! : null;
  return appendAudit(tx, { ...change, subjectKind: "event", subjectId, count: ids.length, eventIds: ids });
}

export function auditRedrive(tx: Tx, redriveId: string, change: Change): Promise<string> {
  return appendAudit(tx, { ...change, subjectKind: "redrive", subjectId: redriveId, redriveId });
}

/** Appends entries in one statement, however many there are. Returns their ids. */
export async function appendAudits(tx: Tx, entries: readonly AuditEntry[]): Promise<string[]> {
  if (entries.length === 0) return [];
  const named = entries.map((entry) => ({ ...entry, id: entry.listed?.entryId ?? uuidv7(entry.atMs) }));
  const column = <T>(of: (entry: AuditEntry & { id: string }) => T) => named.map(of);
  await tx.run(
    `with entries as materialized (
       select *, covered::uuid[] as event_ids
         from unnest($1::uuid[], $2::float8[], $3::text[], $4::text[], $5::text[], $6::text[], $7::uuid[], $8::text[], $9::text[],
                     $10::text[], $11::int[], $12::text[], $13::boolean[])
           as w (id, at, actor, action, subject_kind, subject_id, redrive_id, reason, before, after, count, covered, listed)
     ), entry as (
       insert into audit_entries
         (id, at, actor, action, subject_kind, subject_id, redrive_id, reason, before, after, count, event_ids)
       select id, to_timestamp(at / 1000), actor, action, subject_kind, subject_id, redrive_id, reason, before::jsonb, after::jsonb,
              count, case when listed then event_ids end
         from entries
     ), pending as (insert into audit_pending (entry_id, ref) select id, id from entries)
     insert into audit_subjects (event_id, entry_id) select unnest(event_ids), id from entries where not listed`,
    [
      column(({ id }) => id),
      column(({ atMs }) => atMs),
      column(({ actor }) => actor),
      column(({ action }) => action),
      column(({ action, subjectKind = action.split(".")[0] }) => subjectKind),
      column(({ subjectId = null }) => subjectId),
      column(({ redriveId }) => redriveId ?? null),
      column(({ reason }) => reason ?? null),
      column(({ before }) => toJson(before)),
      column(({ after }) => toJson(after)),
      column(({ count = 1 }) => count),
      column(({ eventIds = [] }) => (typeof eventIds === "string" ? eventIds : `{${eventIds.join(",")}}`)),
      column(({ listed }) => listed !== undefined),
    ],
    { name: "append-audit" },
  );
  return named.map(({ id }) => id);
}

/** Adds events to an entry, as a part that is sealed by itself: the entry of a bulk operation is written before its first chunk. */
export async function appendSubjects(tx: Tx, entryId: string, eventIds: readonly string[]): Promise<void> {
  if (eventIds.length === 0) return;
  await tx.run(
    `with pending as (insert into audit_pending (entry_id, ref, kind) values ($2, $3, 'subjects'))
     insert into audit_subjects (event_id, entry_id, part) select unnest($1::uuid[]), $2, $3`,
    [eventIds, entryId, randomUUID()],
    { name: "append-subjects" },
  );
}

/** undefined and null both mean no value: SQL null rather than JSON null. */
function toJson(value: unknown): string | null {
  return value === undefined || value === null ? null : JSON.stringify(value);
}
