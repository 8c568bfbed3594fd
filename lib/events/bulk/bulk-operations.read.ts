import type { BulkOperationList, BulkOperationOut } from "@/lib/events/bulk/bulk-operations.shapes";
import { latestApprovals } from "@/lib/guard/approvals/approvals.read";
import type { ApprovalOut } from "@/lib/guard/approvals/approvals.shapes";
import type { MaskSet } from "@/lib/guard/masking/mask-rule.pure";
import { readMasks } from "@/lib/guard/masking/mask-rules.read";
import { readTypedTexts, type TypedTexts } from "@/lib/guard/masking/typed-texts.read";
import { redactRecipe } from "@/lib/guard/redaction/redact-recipe.pure";
import { seesOperation } from "@/lib/guard/viewer/scope.sql";
import { may, sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { cutPage, type IdPage } from "@/lib/platform/api/id-page.shapes";
import type { Queryable } from "@/lib/platform/database/db";
import { isOver } from "@/lib/platform/database/moments.sql";
import { channelsOf } from "@/lib/selection/operations/operation-channels.read";
import { askedSelection, type ScopedSelection } from "@/lib/selection/scope.shapes";
import { IS_ALIVE } from "@/lib/sources/targets/target-list.read";
import type { BulkState } from "@/lib/states/bulk-operation.pure";
import { BULK } from "@/lib/states/state.sql";
import { unknownOperation } from "@/lib/states/unknown.pure";

/** An operation without a committed chunk for this long shows why it is not moving. */
const STALLED_S = 15;

type BulkOperationRow = Omit<BulkOperationOut, "expected" | "etaMs" | "stalled" | "approval"> & {
  expected: number;
  expectedKind: "exact" | "estimated";
  /** Nothing was committed for STALLED_S. */
  idle: boolean;
  /** Why the next chunk could not be worked. */
  fault: string | null;
  workersAlive: number;
};

const COLUMNS = `o.id, o.kind, o.state, o.selection - 'asOfMs' as selection, o.expected, o.expected_kind as "expectedKind",
  o.changed, o.refused, o.refused_by_reason as "refusedByReason", o.options -> 'recipe' as recipe, o.reason, o.created_by as "createdBy",
  o.cancelled_by as "cancelledBy", o.audit_id as "auditId", o.created_at as "createdAt", o.started_at as "startedAt",
  o.finished_at as "finishedAt",
  ((o.changed + o.refused) / nullif(extract(epoch from o.worked_at - o.started_at), 0))::float8 as "ratePerSecond",
  case when o.kind = 'mend' then (
    select jsonb_build_object('id', (array_agg(u.id order by u.id desc))[1], 'running', bool_or(u.state = ${BULK.RUNNING}),
                              'changed', least(sum(u.changed), o.changed))
      from bulk_operations u where u.kind = 'undo-mend' and u.id > o.id and u.selection ->> 'operation' = o.id::text
    having count(*) > 0) end as undo,
  ${channelsOf("o.id")} as tell,
  case when o.state = ${BULK.RUNNING} then o.fault end as fault,
  o.state = ${BULK.RUNNING} and ${isOver("coalesce(o.worked_at, o.created_at)", `interval '${STALLED_S} s'`)} as idle,
  (select count(*) from worker_heartbeats where ${IS_ALIVE}) as "workersAlive"`;

/** Newest first, keyset-paged. */
export async function listBulkOperations(
  db: Queryable,
  viewer: Viewer,
  query: IdPage & { states: BulkState[] | null },
): Promise<BulkOperationList> {
  const rows = await db.query<BulkOperationRow>(
    `select ${COLUMNS} from bulk_operations o
      where ($1::text[] is null or o.state = any($1)) and ($2::uuid is null or o.id < $2) and ${seesOperation("$4")}
      order by o.id desc limit $3`,
    [query.states, query.cursor, query.limit + 1, sourceScope(viewer)],
    { isoTimes: true },
  );
  const shown = await readShown(db, viewer, rows);
  return cutPage(
    rows.map((row) => operationOut(viewer, row, shown)),
    query.limit,
    (row) => row.id,
  );
}

/** Throws DomainError `unknown-operation`, which names `field`. */
export async function readBulkOperation(
  db: Queryable,
  viewer: Viewer,
  id: string,
  field = "id",
): Promise<BulkOperationOut> {
  const [row] = await db.query<BulkOperationRow>(
    `select ${COLUMNS} from bulk_operations o where o.id = $1 and ${seesOperation("$2")}`,
    [id, sourceScope(viewer)],
    { isoTimes: true },
  );
  if (!row) throw unknownOperation(id, field);
  return operationOut(viewer, row, await readShown(db, viewer, [row]));
}

/** Converts operations for the answer. `set`: the masks for their recipes. */
type Shown = { approvals: Map<string, ApprovalOut>; set: MaskSet; typed: TypedTexts };

async function readShown(db: Queryable, viewer: Viewer, rows: readonly BulkOperationRow[]): Promise<Shown> {
  const approvals = await approvalsOf(db, viewer, rows);
  return { approvals, set: (await readMasks(db)).of(null), typed: await readTypedTexts(db, viewer) };
}

/** Only mends need an approval. */
function approvalsOf(
  db: Queryable,
  viewer: Viewer,
  rows: readonly BulkOperationRow[],
): Promise<Map<string, ApprovalOut>> {
  return latestApprovals(
    db,
    viewer,
    rows.filter(({ kind }) => kind === "mend").map(({ id }) => id),
  );
}

function operationOut(
  viewer: Viewer,
  { expected, expectedKind, idle, fault, workersAlive, ...row }: BulkOperationRow,
  { approvals, set, typed }: Shown,
): BulkOperationOut {
  const approval = approvals.get(row.id) ?? null;
  const waits = approval?.state === "asked" ? "Waits for the approval of a second person." : null;
  const left = Math.max(0, expected - row.changed - row.refused);
  const { ratePerSecond } = row;
  return {
    ...row,
    selection: typed.selection(askedSelection(row.selection as ScopedSelection)),
    reason: typed.text(row.reason),
    recipe: may(viewer, "reveal") ? row.recipe : (redactRecipe(row.recipe, set) as typeof row.recipe),
    expected: { value: expected, kind: expectedKind },
    etaMs: row.state === "RUNNING" && ratePerSecond ? Math.round((left / ratePerSecond) * 1_000) : null,
    stalled: waits ?? fault ?? (idle ? stalledText(workersAlive) : null),
    approval,
  };
}

function stalledText(workersAlive: number): string {
  return workersAlive === 0
    ? "No worker is running: start one, and it goes on where it stopped."
    : `No chunk was committed in the last ${STALLED_S} s: the workers are busy with other large operations, or another change locks these events.`;
}
