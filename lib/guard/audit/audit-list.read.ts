import type { AuditEventList, AuditEventOut, AuditList, AuditOut } from "@/lib/guard/audit/audit.shapes";
import type { AuditQuery } from "@/lib/guard/audit/audit-query.shapes";
import { entriesOfEvents, eventsOfEntry } from "@/lib/guard/audit/subjects.sql";
import { maskData, maskNullable } from "@/lib/guard/masking/mask.pure";
import { type MaskSet, NOTHING_MASKED } from "@/lib/guard/masking/mask-rule.pure";
import { readMasks } from "@/lib/guard/masking/mask-rules.read";
import { redactRecipe } from "@/lib/guard/redaction/redact-recipe.pure";
import { MACHINE_NAMES, MACHINE_PREFIX } from "@/lib/guard/viewer/actor.pure";
import { seesEntry } from "@/lib/guard/viewer/scope.sql";
import { may, sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { cutPage, type IdPage } from "@/lib/platform/api/id-page.shapes";
import type { Queryable } from "@/lib/platform/database/db";
import { paramsFrom } from "@/lib/platform/database/params.sql";
import { uuidv7LowerBound } from "@/lib/platform/ids";
import { iso } from "@/lib/platform/plain/iso-time.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { UUID } from "@/lib/platform/plain/uuid.pure";

type AuditRow = Omit<AuditOut, "at"> & { atMs: number };

/** The audit log, newest first, keyset-paged by its UUIDv7. */
export async function listAudit(db: Queryable, viewer: Viewer, query: AuditQuery): Promise<AuditList> {
  const params = paramsFrom(1);
  const scope = sourceScope(viewer);
  const seen = scope === null ? "true" : seesEntry(params.add(scope));
  const where = `${conditions(query, params)} and ${seen} and ${ofAccounts(viewer, params)}`;
  const text = `${ENTRIES} where ${where} order by a.id desc limit ${params.add(query.limit + 1)}::int`;
  const rows = await db.query<AuditRow>(text, params.values, { name: "audit" });
  const page = cutPage(rows, query.limit, (row) => row.id);
  const set = may(viewer, "reveal") ? NOTHING_MASKED : (await readMasks(db)).of(null);
  return { items: page.items.map((row) => entryOut(row, set)), nextCursor: page.nextCursor };
}

/** As in the index audit_entries_people. */
const BY_PEOPLE = `a.actor <> all('{${[...MACHINE_NAMES].join(",")}}'::text[]) and a.actor !~ '${MACHINE_PREFIX.source}'`;

const ENTRIES = `select a.id, a.at as "atMs", a.actor, a.action, a.subject_kind as "subjectKind",
       a.subject_id as "subjectId", a.redrive_id as "redriveId", a.reason, a.before, a.after,
       o.id as "operationId", coalesce(o.changed, a.count) as count
  from audit_entries a left join bulk_operations o on o.audit_id = a.id`;

function entryOut({ atMs, before, after, reason, ...row }: AuditRow, set: MaskSet): AuditOut {
  return {
    ...row,
    reason: maskNullable(reason, set),
    before: withoutMasked(before, set),
    after: withoutMasked(after, set),
    at: iso(atMs),
  };
}

/** Who signed in, and from where, is for administrators; everybody sees what it did itself. */
function ofAccounts(viewer: Viewer, params: ReturnType<typeof paramsFrom>): string {
  if (may(viewer, "change-accounts") && viewer.sources === "all") return "true";
  return `(a.subject_kind <> all('{account,session,token}') or a.actor = ${params.add(viewer.name)}::text)`;
}

/** An entry contains filters, names and notes that people typed; one about a mend or a saved recipe contains the recipe. */
function withoutMasked<Value>(value: Value, set: MaskSet): Value {
  if (set === NOTHING_MASKED || typeof value !== "object" || value === null) return value;
  const rest = maskData(value, set);
  return "recipe" in value ? { ...rest, recipe: redactRecipe(value.recipe, set) } : rest;
}

function conditions(query: AuditQuery, params: ReturnType<typeof paramsFrom>): string {
  const all: string[] = ["true"];
  const equal = (column: string, value: string | null, type = "text") => {
    if (value !== null) all.push(`a.${column} = ${params.add(value)}::${type}`);
  };
  equal("actor", query.actor);
  if (query.by === "people") all.push(BY_PEOPLE);
  equal("subject_kind", query.subjectKind);
  if (query.subjectKind === "control" && query.subjectId !== null && UUID.test(query.subjectId)) {
    // An entry of many controls names them as the others name their events.
    const id = params.add(query.subjectId);
    all.push(`(a.subject_id = ${id}::text or a.id in (
      select s.entry_id from audit_subjects s where s.event_id = ${params.add(query.subjectId)}::uuid))`);
  } else equal("subject_id", query.subjectId);
  equal("redrive_id", query.redriveId, "uuid");
  if (query.operationId !== null) {
    const id = params.add(query.operationId);
    all.push(`(a.id = (select audit_id from bulk_operations where id = ${id}::uuid)
      or (a.subject_kind = 'operation' and a.subject_id = ${id}::text))`);
  }
  if (query.action !== null) {
    if (query.action.includes(".")) equal("action", query.action);
    else all.push(`split_part(a.action, '.', 1) = ${params.add(query.action)}::text`);
  }
  if (query.eventId !== null) all.push(`a.id in (${entriesOfEvent(query.eventId, params)})`);
  if (query.fromMs !== null) all.push(`a.id >= ${params.add(uuidv7LowerBound(Math.ceil(query.fromMs)))}::uuid`);
  if (query.toMs !== null) all.push(`a.id < ${params.add(uuidv7LowerBound(Math.ceil(query.toMs)))}::uuid`);
  if (query.cursor !== null) all.push(`a.id < ${params.add(query.cursor)}::uuid`);
  return all.join(" and ");
}

/** By our id or by the producer's id, which may look like ours. */
function entriesOfEvent(eventId: string, params: ReturnType<typeof paramsFrom>): string {
  const given = params.add(eventId);
  const keys = `select k.id from event_keys k where k.event_id = ${given}::text`;
  const ids = UUID.test(eventId) ? `${keys} union all select ${params.add(eventId)}::uuid` : keys;
  return entriesOfEvents(ids);
}

/** The events of one entry, newest first. Throws DomainError `unknown-audit-entry`. */
export async function listAuditEvents(
  db: Queryable,
  viewer: Viewer,
  entryId: string,
  query: IdPage,
): Promise<AuditEventList> {
  const scope = sourceScope(viewer);
  const rows = await db.query<AuditEventOut>(
    `select a.event_id as id, e.event_id as "eventId", s.name as source, e.error_code as "errorCode", e.status
       from (${eventsOfEntry("$1")}) a
       left join dlq_events e on e.id = a.event_id
       left join sources s on s.id = e.source_id
      where ($2::uuid is null or a.event_id < $2)
        and ($4::text[] is null or s.name = any($4))
      order by a.event_id desc limit $3`,
    [entryId, query.cursor, query.limit + 1, scope],
    { name: "audit-events" },
  );
  if (rows.length === 0 && !(await isSeen(db, entryId, scope))) {
    throw new DomainError("unknown-audit-entry", `There is no audit entry ${entryId}`, {
      fields: [{ field: "id", detail: "list entries with GET /api/v1/audit" }],
    });
  }
  return cutPage(rows, query.limit, (row) => row.id);
}

async function isSeen(db: Queryable, entryId: string, scope: string[] | null): Promise<boolean> {
  const seen = scope === null ? "true" : seesEntry("$2");
  const values = scope === null ? [entryId] : [entryId, scope];
  return (await db.query(`select 1 from audit_entries a where a.id = $1 and ${seen}`, values)).length > 0;
}
