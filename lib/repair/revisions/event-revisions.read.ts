import { bodyOf, unknownRevision } from "@/lib/events/detail/event-detail.read";
import { maskData, maskHeaders, maskNullable } from "@/lib/guard/masking/mask.pure";
import { type MaskSet, NOTHING_MASKED, setFor } from "@/lib/guard/masking/mask-rule.pure";
import { readMasks } from "@/lib/guard/masking/mask-rules.read";
import { redactRecipe } from "@/lib/guard/redaction/redact-recipe.pure";
import { assertMay, may, sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Queryable, Tx } from "@/lib/platform/database/db";
import type { Header, Origin } from "@/lib/platform/plain/dead-letter.pure";
import type { Comparison, RevisionDetail, RevisionList, RevisionOut } from "@/lib/repair/revisions/revisions.shapes";
import { BULK_EFFECT } from "@/lib/states/bulk-operation.pure";
import type { EventStatus } from "@/lib/states/event-state.pure";
import { unknownEvent } from "@/lib/states/unknown.pure";

/** Revisions of one event that a list holds; few events have more than ten. */
const REVISIONS_MAX = 200;
/** Sends of one revision that are listed. */
const SENDS_MAX = 20;

/** One event, as far as its revisions need it. Throws DomainError `unknown-event`. */
export async function readRevisable(db: Queryable, viewer: Viewer, id: string): Promise<RevisableRow> {
  const [row] = await db.query<RevisableRow>(
    `select s.name as source, e.source_id as "sourceId", e.status, e.revision, e.event_type as "eventType"
       from dlq_event_rows e join sources s on s.id = e.source_id
      where e.id = $1 and ($2::text[] is null or s.name = any($2))`,
    [id, sourceScope(viewer)],
    { name: "revisable-event" },
  );
  if (!row) throw unknownEvent(id);
  return row;
}

type RevisableRow = {
  source: string;
  sourceId: string;
  status: EventStatus;
  revision: number;
  eventType: string | null;
};

type RevisionRow = Omit<RevisionOut, "sends" | "sentBy">;

/** SQL: the revisions of the event `$1`. The bytes are read only where they are asked for. */
const REVISIONS = `
  select e.id, 1 as revision, e.revision = 1 as current, 'arrived' as cause, null::int as base, null::int as bounce,
         null::text as actor, null::text as reason, e.first_seen as at, null::jsonb as patch, null::uuid as "operationId",
         b.content_type as "contentType", octet_length(b.payload) as bytes, b.payload, b.headers
    from dlq_events e join dlq_event_bodies b on b.id = e.id where e.id = $1
  union all
  select e.id, r.revision, e.revision = r.revision, r.cause, r.base, r.bounce, r.actor, r.reason, r.at, r.patch,
         r.operation_id, r.content_type, octet_length(r.payload), r.payload, r.headers
    from dlq_events e join event_revisions r on r.id = e.id where e.id = $1 and r.id = $1`;

const COLUMNS = `revision, current, cause, base, bounce, actor, reason, at, patch, "operationId", "contentType", bytes`;

/** All revisions of an event, newest first. Throws DomainError `unknown-event`. */
export async function readRevisions(db: Queryable, viewer: Viewer, id: string): Promise<RevisionList> {
  const { source } = await readRevisable(db, viewer, id);
  const set = setFor((await readMasks(db)).of(source), may(viewer, "reveal"));
  const rows = await db.query<RevisionRow & { total: number }>(
    `select ${COLUMNS}, count(*) over ()::int as total from (${REVISIONS}) r order by revision desc limit ${REVISIONS_MAX}`,
    [id],
    { name: "revisions", isoTimes: true },
  );
  const items = await withSends(
    db,
    id,
    rows.map(({ total: _, ...row }) => rowOut(viewer, row, set)),
  );
  return { items, total: rows[0]?.total ?? 0 };
}

/** `origin`: of the first arrival, which holds the properties of its broker; no revision has its own. */
export type StoredRevision = { payload: Buffer; contentType: string; headers: Header[]; origin: Origin };

const ORIGIN = "(select origin from dlq_event_bodies where id = $1) as origin";

/** The bytes of one revision, unmasked. null = it is not stored. */
export async function readRevisionBytes(db: Queryable, id: string, revision: number): Promise<StoredRevision | null> {
  const [row] = await db.query<StoredRevision>(
    `select payload, "contentType", headers, ${ORIGIN} from (${REVISIONS}) r where revision = $2`,
    [id, revision],
    { name: "revision-bytes" },
  );
  return row ?? null;
}

/** Throws DomainError `unknown-event`, `unknown-revision`. */
export async function readRevision(
  db: Queryable,
  viewer: Viewer,
  id: string,
  revision: number,
): Promise<RevisionDetail> {
  const { source } = await readRevisable(db, viewer, id);
  const set = setFor((await readMasks(db)).of(source), may(viewer, "reveal"));
  const [detail] = await readDetails(db, viewer, { id, revisions: [revision], set });
  return detail!.shown;
}

/** Throws DomainError `unknown-event`, `unknown-revision`. */
export async function compareRevisions(
  db: Queryable,
  viewer: Viewer,
  id: string,
  { from, to }: { from: number; to: number },
): Promise<Comparison> {
  const { source } = await readRevisable(db, viewer, id);
  const set = setFor((await readMasks(db)).of(source), may(viewer, "reveal"));
  const [left, right] = await readDetails(db, viewer, { id, revisions: [from, to], set });
  return {
    from: left!.shown,
    to: right!.shown,
    equal: {
      payload: left!.stored.payload.equals(right!.stored.payload),
      contentType: left!.stored.contentType === right!.stored.contentType,
      headers: JSON.stringify(left!.stored.headers) === JSON.stringify(right!.stored.headers),
    },
  };
}

/**
 * Revisions without masks, and whose source they are of: the caller audits it in the same transaction. Throws DomainError
 * `unknown-event`, `unknown-revision`, `forbidden`.
 */
export async function readRevealedRevisions(
  tx: Tx,
  viewer: Viewer,
  { id, revisions }: { id: string; revisions: readonly number[] },
): Promise<RevisionDetail[]> {
  const { source } = await readRevisable(tx, viewer, id);
  assertMay(viewer, "reveal", [source]);
  const details = await readDetails(tx, viewer, { id, revisions, set: NOTHING_MASKED });
  return details.map(({ shown }) => shown);
}

/** A recipe is what a person wrote: who may reveal reads it as it is. */
function rowOut(viewer: Viewer, row: RevisionRow, set: MaskSet): RevisionRow {
  const patch = may(viewer, "reveal") ? row.patch : maskData(redactRecipe(row.patch, set), set);
  const reason = may(viewer, "reveal") ? row.reason : maskNullable(row.reason, set);
  return { ...row, patch, reason };
}

async function readDetails(
  db: Queryable,
  viewer: Viewer,
  { id, revisions, set }: { id: string; revisions: readonly number[]; set: MaskSet },
): Promise<{ shown: RevisionDetail; stored: StoredRevision }[]> {
  const rows = await db.query<RevisionRow & StoredRevision>(
    `select ${COLUMNS}, payload, headers, ${ORIGIN} from (${REVISIONS}) r where revision = any($2::int[])`,
    [id, revisions],
    { name: "revision-details", isoTimes: true },
  );
  const sends = await withSends(
    db,
    id,
    rows.map(({ payload: _, headers: __, origin: ___, ...row }) => rowOut(viewer, row, set)),
  );
  return Promise.all(
    revisions.map(async (revision) => {
      const at = rows.findIndex((row) => row.revision === revision);
      if (at < 0) throw unknownRevision(id, revision);
      const { payload, contentType, headers, origin } = rows[at]!;
      const stored = { payload, contentType, headers, origin };
      const shown = { ...sends[at]!, body: await bodyOf(stored, set), headers: maskHeaders(headers, set) };
      return { shown, stored };
    }),
  );
}

type SendRow = RevisionOut["sentBy"][number] & { revision: number; sends: number };

async function withSends(db: Queryable, id: string, rows: readonly RevisionRow[]): Promise<RevisionOut[]> {
  const sends = await db.query<SendRow>(
    `select revision, sends, "redriveId", attempt, state, target, at from (
       select a.revision, a.redrive_id as "redriveId", a.attempt, a.state, a.target, a.opened_at as at,
              count(*) over (partition by a.revision)::int as sends,
              row_number() over (partition by a.revision order by a.opened_at desc, a.attempt desc) as place
         from sends a where a.id = $1) sent
      where place <= ${SENDS_MAX} order by revision, place`,
    [id],
    { name: "revision-sends", isoTimes: true },
  );
  const byRevision = Map.groupBy(sends, ({ revision }) => revision);
  return rows.map((row) => {
    const own = byRevision.get(row.revision) ?? [];
    return { ...row, sends: own[0]?.sends ?? 0, sentBy: own.map(({ revision: _, sends: __, ...send }) => send) };
  });
}

/**
 * Who or what made the current revision of an event the current one, and when; null = nobody: it arrived so. What added a
 * revision is in its row; what chose an earlier one is in the audit alone.
 */
export async function lastRevising(db: Queryable, id: string): Promise<{ actor: string; at: string } | null> {
  const [row] = await db.query<{ actor: string; at: string }>(
    `select actor, at from (
       select coalesce(r.actor, 'a bounce') as actor, r.at
         from dlq_events e join event_revisions r on r.id = e.id and r.revision = e.revision where e.id = $1
       union all
       select a.actor, a.at from audit_entries a
        where a.id in (select entry_id from audit_subjects where event_id = $1)
          and (a.after ? 'revision' or a.action = $2)) made
      order by at desc limit 1`,
    [id, BULK_EFFECT["undo-mend"].action],
    { isoTimes: true },
  );
  return row ?? null;
}

/** The redrive that has the event in work; null = none. */
export async function openRedriveOf(
  db: Queryable,
  id: string,
): Promise<{ redriveId: string; revision: number } | null> {
  const [row] = await db.query<{ redriveId: string; revision: number }>(
    `select redrive_id as "redriveId", revision from open_items where id = $1`,
    [id],
  );
  return row ?? null;
}
