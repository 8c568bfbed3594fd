import { randomUUID } from "node:crypto";
import type { AuditEntry } from "@/lib/guard/audit/audit-entry.pure";
import type { Tx } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";

/**
 * Appends one entry with the events that it covers, in one statement. Takes a transaction so that it
 * commits with the change or not at all. Returns the entry's id.
 */
export async function appendAudit(tx: Tx, entry: AuditEntry): Promise<string> {
  const id = entry.ofItems?.entryId ?? uuidv7(entry.atMs);
  const [subjects, listed] = entry.ofItems ? [[], entry.eventIds] : [entry.eventIds ?? [], null];
  await tx.run(
    `with entry as (
       insert into audit_entries
         (id, at, actor, action, subject_kind, subject_id, redrive_id, reason, before, after, count, event_ids)
       values ($1, to_timestamp($2::float8 / 1000), $3, $4, $5, $6, $7, $8, $9::jsonb, $10::jsonb, $11, $13::uuid[])
     ), pending as (insert into audit_pending (entry_id, ref) values ($1, $1))
     insert into audit_subjects (event_id, entry_id) select unnest($12::uuid[]), $1`,
    [
      id,
      entry.atMs,
      entry.actor,
      entry.action,
      entry.subjectKind,
      entry.subjectId,
      entry.redriveId ?? null,
      entry.reason ?? null,
      toJson(entry.before),
      toJson(entry.after),
      entry.count,
      subjects,
      listed,
    ],
    { name: "append-audit" },
  );
  return id;
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
