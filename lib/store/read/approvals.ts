import type { ApprovalList, ApprovalOut } from "@/lib/contract/approvals";
import { cutPage, type IdPage } from "@/lib/contract/id-page";
import type { ApprovalState } from "@/lib/core/approval";
import { iso, isoOrNull } from "@/lib/core/iso-time";
import { DomainError } from "@/lib/core/problem";
import { redactRecipe } from "@/lib/core/redact-recipe";
import { may, sourceScope, type Viewer } from "@/lib/core/viewer";
import type { Queryable } from "@/lib/store/db";
import { seesOperation, seesRedrive } from "@/lib/store/read/scope-sql";

type StoredApproval = Omit<ApprovalOut, "id" | "askedAt" | "expiresAt" | "decidedAt"> & {
  id: string;
  subjectId: string;
  askedAtMs: number;
  expiresAtMs: number;
  decidedAtMs: number | null;
};

/** SQL: columns of the approval `a`. */
export const APPROVAL_COLUMNS = `a.id, a.subject_kind as "subjectKind", a.subject_id as "subjectId", a.state, a.causes, a.terms, a.digest,
  a.asked_by as "askedBy", a.asked_at as "askedAtMs", a.expires_at as "expiresAtMs", a.decided_by as "decidedBy",
  a.decided_at as "decidedAtMs", a.reason`;

function approvalOut(
  viewer: Viewer,
  { id: _id, subjectId, askedAtMs, expiresAtMs, decidedAtMs, terms, ...row }: StoredApproval,
): ApprovalOut {
  return {
    ...row,
    terms: may(viewer, "reveal") ? terms : { ...terms, recipe: redactRecipe(terms.recipe) },
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
  return { items: page.items.map((row) => approvalOut(viewer, row)), nextCursor: page.nextCursor };
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
  return new Map(rows.map((row) => [row.subjectId, approvalOut(viewer, row)]));
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
