import { type Asker, cannotDecide } from "@/lib/guard/approvals/approval.pure";
import type { ApprovalList, ApprovalOut } from "@/lib/guard/approvals/approvals.shapes";
import { maskNullable } from "@/lib/guard/masking/mask.pure";
import type { MaskSet } from "@/lib/guard/masking/mask-rule.pure";
import { readMasks } from "@/lib/guard/masking/mask-rules.read";
import { redactRecipe } from "@/lib/guard/redaction/redact-recipe.pure";
import { seesOperation, seesRedrive } from "@/lib/guard/viewer/scope.sql";
import { may, sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { cutPage, type IdPage } from "@/lib/platform/api/id-page.shapes";
import type { Queryable } from "@/lib/platform/database/db";
import { iso, isoOrNull } from "@/lib/platform/plain/iso-time.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import type { ApprovalState } from "@/lib/states/approval-state.pure";
import { APPROVAL } from "@/lib/states/state.sql";

type StoredApproval = Omit<ApprovalOut, "id" | "askedAt" | "expiresAt" | "decidedAt" | "cannotDecide"> & {
  id: string;
  subjectId: string;
  askedAtMs: number;
  expiresAtMs: number;
  decidedAtMs: number | null;
};

export const APPROVAL_COLUMNS = `a.id, a.subject_kind as "subjectKind", a.subject_id as "subjectId", a.state, a.causes, a.terms, a.digest,
  a.asked_by as "askedBy", a.asked_at as "askedAtMs", a.expires_at as "expiresAtMs", a.decided_by as "decidedBy",
  a.decided_at as "decidedAtMs", a.reason`;

async function approvalsOut(db: Queryable, viewer: Viewer, rows: readonly StoredApproval[]): Promise<ApprovalOut[]> {
  const asked = rows.filter(({ state }) => state === "asked").map(({ subjectId }) => subjectId);
  const askers = asked.length === 0 ? [] : await askersOf(db, asked);
  const set = (await readMasks(db)).of(null);
  return rows.map((row) => {
    const own = askers.filter(({ subjectId }) => subjectId === row.subjectId);
    return approvalOut(viewer, row, { obstacle: row.state === "asked" ? cannotDecide(own, viewer) : null, set });
  });
}

function approvalOut(
  viewer: Viewer,
  { id: _id, subjectId, askedAtMs, expiresAtMs, decidedAtMs, terms, ...row }: StoredApproval,
  { obstacle, set }: { obstacle: string | null; set: MaskSet },
): ApprovalOut {
  return {
    ...row,
    reason: may(viewer, "reveal") ? row.reason : maskNullable(row.reason, set),
    cannotDecide: obstacle,
    terms: may(viewer, "reveal") ? terms : { ...terms, recipe: redactRecipe(terms.recipe, set) },
    id: subjectId,
    askedAt: iso(askedAtMs),
    expiresAt: iso(expiresAtMs),
    decidedAt: isoOrNull(decidedAtMs),
  };
}

/** SQL: the viewer sees all sources of the subject of `a`. */
export function seesSubject(scope: string): string {
  return `(${scope}::text[] is null or exists (
      select 1 from redrives r where r.id = a.subject_id and ${seesRedrive("r", scope)})
    or exists (select 1 from bulk_operations o where o.id = a.subject_id and ${seesOperation(scope)}))`;
}

/** Requests for approval, newest first; `subjectId`: all of one redrive or bulk operation. */
export async function listApprovals(
  db: Queryable,
  viewer: Viewer,
  query: IdPage & { state: ApprovalState | null; subjectId?: string },
): Promise<ApprovalList> {
  const rows = await db.query<StoredApproval>(
    `select ${APPROVAL_COLUMNS} from approvals a
      where ($1::text is null or a.state = $1) and ($2::uuid is null or a.id < $2) and ($5::uuid is null or a.subject_id = $5)
        and ${seesSubject("$4")}
      order by a.id desc limit $3`,
    [query.state, query.cursor, query.limit + 1, sourceScope(viewer), query.subjectId ?? null],
    { name: "list-approvals" },
  );
  const page = cutPage(rows, query.limit, (row) => row.id);
  return { items: await approvalsOut(db, viewer, page.items), nextCursor: page.nextCursor };
}

/** The latest request for approval of each of these redrives or operations. The caller has checked who sees them. */
export async function latestApprovals(
  db: Queryable,
  viewer: Viewer,
  subjectIds: readonly string[],
): Promise<Map<string, ApprovalOut>> {
  if (subjectIds.length === 0) return new Map();
  const rows = await db.query<StoredApproval>(
    `select distinct on (a.subject_id) ${APPROVAL_COLUMNS} from approvals a
      where a.subject_id = any($1::uuid[]) order by a.subject_id, a.id desc`,
    [subjectIds],
    { name: "latest-approvals" },
  );
  return new Map((await approvalsOut(db, viewer, rows)).map((approval) => [approval.id, approval]));
}

/** Who had a part in asking for this redrive or bulk operation, now. */
export function readAskers(db: Queryable, subjectId: string): Promise<Asker[]> {
  return askersOf(db, [subjectId]);
}

function askersOf(db: Queryable, subjectIds: readonly string[]): Promise<(Asker & { subjectId: string })[]> {
  return db.query(askersSql("= any($1::uuid[])"), [subjectIds], { name: "askers" });
}

/**
 * SQL: of each subject whoever requested it, who asked for the approval that is open, and who had written and enabled
 * its rule. `ids`: the condition on a subject's id.
 */
function askersSql(ids: string): string {
  return `select id as "subjectId", created_by as name, 'asked' as part from redrives where id ${ids}
     union all select id, created_by, 'asked' from bulk_operations where id ${ids}
     union all select subject_id, unnest(also_asked || asked_by), 'asked' from approvals
                where subject_id ${ids} and state = ${APPROVAL.asked}
     union all select n.redrive_id, author, 'rule'
                 from redrive_rule_runs n, unnest(n.authors) as author
                where n.redrive_id ${ids}`;
}

/** The latest one of a redrive or bulk operation. Throws DomainError `unknown-approval`. */
export async function shownApproval(db: Queryable, viewer: Viewer, subjectId: string): Promise<ApprovalOut> {
  const { items } = await listApprovals(db, viewer, { state: null, cursor: null, limit: 1, subjectId });
  if (items[0]) return items[0];
  throw unknownApproval(subjectId);
}

export function unknownApproval(id: string): DomainError {
  return new DomainError("unknown-approval", `There is no approval of ${id}`, {
    fields: [{ field: "id", detail: "list approvals with GET /api/v1/approvals" }],
  });
}

/** How many requests wait for an answer, and how many of them the viewer may answer. */
export async function countApprovals(
  db: Queryable,
  viewer: Viewer,
): Promise<{ approvalsWaiting: number; approvalsForViewer: number }> {
  // Who may answer depends on the names of those who ask alone: there are few sets of names, however many requests.
  const groups = await db.query<{ names: string[]; n: number }>(
    `with asked as materialized (
       select a.subject_id as id from approvals a
        where a.state = ${APPROVAL.asked} and a.expires_at > now() and ${seesSubject("$1")}),
     by_subject as (
       select "subjectId", array_agg(distinct name order by name) as names
         from (${askersSql("in (select id from asked)")}) askers group by "subjectId")
     select names, count(*)::int as n from by_subject group by names`,
    [sourceScope(viewer)],
    { name: "count-approvals" },
  );
  const counted = { approvalsWaiting: 0, approvalsForViewer: 0 };
  for (const { names, n } of groups) {
    const askers = names.map((name): Asker => ({ name, part: "asked" }));
    counted.approvalsWaiting += n;
    if (cannotDecide(askers, viewer) === null) counted.approvalsForViewer += n;
  }
  return counted;
}
