import { endApproval } from "@/lib/guard/approvals/approvals.write";
import { ASKED_SELECTION } from "@/lib/guard/viewer/scope.sql";
import { addedReasons } from "@/lib/platform/database/added-reasons.sql";
import type { Queryable, Tx } from "@/lib/platform/database/db";
import type { Recipe } from "@/lib/selection/operations/recipe.shapes";
import type { FrozenSelection } from "@/lib/selection/scope.shapes";
import type { BulkKind, BulkState } from "@/lib/states/bulk-operation.pure";
import { BULK, BULK_MOVE } from "@/lib/states/state.sql";

export type BulkOptions = {
  /** Of a release: failures, redrives and cooldown stay unchanged. */
  keepLimits?: boolean | undefined;
  /** Of a confirm: its name. */
  consumer?: string | undefined;
  /** Of a mend. `masks`: whoever requested it may not reveal. */
  recipe?: Recipe;
  breaking?: boolean;
  masks?: boolean;
};

export type NewBulkOperation = {
  id: string;
  kind: BulkKind;
  selection: FrozenSelection;
  options: BulkOptions;
  cutoff: string;
  /** How many events are selected. */
  expected: number;
  expectedKind: "exact" | "estimated";
  refused: Record<string, number>;
  auditId: string;
  reason: string;
  createdBy: string;
  atMs: number;
};

export type BulkOperationRow = Omit<NewBulkOperation, "expected" | "expectedKind" | "refused" | "atMs"> & {
  state: BulkState;
  /** The last event of the last committed chunk; null = no chunk is committed. */
  cursor: string | null;
  changed: number;
  awaitsApproval: boolean;
};

export async function insertBulkOperation(tx: Tx, operation: NewBulkOperation): Promise<void> {
  const refused = Object.values(operation.refused).reduce((sum, count) => sum + count, 0);
  await tx.run(
    `insert into bulk_operations (id, kind, state, selection, options, cutoff, expected, expected_kind, refused,
                                  refused_by_reason, audit_id, reason, created_by, created_at)
     values ($1, $2, ${BULK.RUNNING}, $3::jsonb, $4::jsonb, $5, $6, $13, $7, $8::jsonb, $9, $10, $11,
             to_timestamp($12::float8 / 1000))`,
    [
      operation.id,
      operation.kind,
      JSON.stringify(operation.selection),
      JSON.stringify(operation.options),
      operation.cutoff,
      operation.expected,
      refused,
      JSON.stringify(operation.refused),
      operation.auditId,
      operation.reason,
      operation.createdBy,
      operation.atMs,
      operation.expectedKind,
    ],
  );
}

const COLUMNS = `id, kind, state, selection, options, cutoff, cursor, changed, audit_id as "auditId", reason,
  created_by as "createdBy", awaits_approval as "awaitsApproval"`;

/** null = there is no such operation. */
export async function readBulkOperationRow(db: Queryable, id: string): Promise<BulkOperationRow | null> {
  const [row] = await db.query<BulkOperationRow>(`select ${COLUMNS} from bulk_operations where id = $1`, [id]);
  return row ?? null;
}

/** The same, locked: no chunk, cancel or decision about it commits until the caller's transaction ends. */
export async function lockBulkOperation(tx: Tx, id: string): Promise<BulkOperationRow | null> {
  const [row] = await tx.query<BulkOperationRow>(`select ${COLUMNS} from bulk_operations where id = $1 for update`, [
    id,
  ]);
  return row ?? null;
}

/**
 * `lock`: until the caller's transaction ends, no other transaction commits a chunk, a cancel or the end of the
 * operation.
 */
export async function isBulkRunning(db: Queryable, id: string, { lock = false } = {}): Promise<boolean> {
  const text = `select 1 from bulk_operations where id = $1 and state = ${BULK.RUNNING} and not awaits_approval${lock ? " for update" : ""}`;
  return (await db.query(text, [id])).length > 0;
}

export async function runningBulkOperations(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    `select id from bulk_operations where state = ${BULK.RUNNING} and not awaits_approval order by id`,
  );
  return rows.map((row) => row.id);
}

/**
 * Compare-and-set on the cursor: of two workers one continues, and no chunk begins after a cancel. The row stays locked
 * until the chunk is committed. False = another worker has the operation, or it is no longer RUNNING.
 */
export async function advanceBulkOperation(tx: Tx, id: string, from: string | null, to: string): Promise<boolean> {
  const changed = await tx.run(
    `update bulk_operations set cursor = $3, worked_at = clock_timestamp(), fault = null
      where id = $1 and state = ${BULK.RUNNING} and not awaits_approval and cursor is not distinct from $2::uuid`,
    [id, from, to],
  );
  return changed === 1;
}

/** Says why no chunk can be worked; the next chunk that is committed takes it back. */
export async function noteFault(db: Queryable, id: string, fault: string): Promise<void> {
  await db.run("update bulk_operations set fault = $2 where id = $1 and fault is distinct from $2", [id, fault]);
}

/** Adds to the counters; a negative number subtracts events that were counted as refused. */
export async function countBulkOperation(
  tx: Tx,
  id: string,
  changed: number,
  refused: Record<string, number>,
): Promise<void> {
  await tx.run(
    `update bulk_operations
        set changed = changed + $2, refused = refused + $3, refused_by_reason = ${addedReasons("refused_by_reason", "$4")}
      where id = $1`,
    [id, changed, Object.values(refused).reduce((sum, count) => sum + count, 0), JSON.stringify(refused)],
  );
}

/**
 * Called when the first worker begins. `expected`: the counted events; null = counting took too long, the estimate
 * stays.
 */
export async function startBulkOperation(db: Queryable, id: string, expected: number | null): Promise<void> {
  await db.run(
    `update bulk_operations
        set started_at = clock_timestamp(), expected = coalesce($2 + refused, expected),
            expected_kind = case when $2::bigint is null then expected_kind else 'exact' end
      where id = $1 and state = ${BULK.RUNNING} and started_at is null`,
    [id, expected],
  );
}

/** Compare-and-set. `by`: the actor who cancels. False = the operation had ended. */
export async function endBulkOperation(
  tx: Tx,
  id: string,
  move: keyof typeof BULK_MOVE,
  by: string | null = null,
): Promise<boolean> {
  const { from, to } = BULK_MOVE[move];
  const ended = await tx.run(
    `update bulk_operations set state = ${to}, selection = ${ASKED_SELECTION}, cancelled_by = $2, finished_at = clock_timestamp()
      where id = $1 and state in ${from}`,
    [id, by],
  );
  if (ended === 1) await endApproval(tx, id, "withdraw");
  if (ended === 1) await tx.run("delete from mend_items where operation_id = $1", [id]);
  return ended === 1;
}
