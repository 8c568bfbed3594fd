import { appendAudit } from "@/lib/guard/audit/audit.write";
import { BULK_ACTION } from "@/lib/guard/viewer/bulk-action.pure";
import { assertMay, seesAll, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Deps } from "@/lib/lane/deps";
import { inTransaction } from "@/lib/platform/database/retrying";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { endBulkOperation, readBulkOperationRow } from "@/lib/selection/operations/bulk-operations.write";
import { sourcesOf } from "@/lib/selection/scope.shapes";
import { BULK_MOVES } from "@/lib/states/bulk-operation.pure";
import { unknownOperation } from "@/lib/states/unknown.pure";

/**
 * Cancels a bulk operation: no chunk begins afterwards, and events that were changed stay changed. A repeated cancel
 * changes nothing. Throws DomainError `unknown-operation`, `illegal-transition`.
 */
export async function cancelBulkOperation(
  deps: Pick<Deps, "db" | "clock">,
  { id, reason }: { id: string; reason?: string | undefined },
  viewer: Viewer,
): Promise<void> {
  await inTransaction(deps.db, async (tx) => {
    const cancelled = await endBulkOperation(tx, id, "cancel", viewer.name);
    const operation = await readBulkOperationRow(tx, id);
    if (!operation || !seesAll(viewer, sourcesOf(operation.selection))) throw unknownOperation(id);
    assertMay(viewer, BULK_ACTION[operation.kind]);
    if (!cancelled && operation.state === "CANCELLED") return;
    if (!cancelled) {
      throw new DomainError("illegal-transition", "An operation that is DONE cannot be cancelled", {
        fields: [{ field: "action", detail: "take it back with the inverse operation, select { operation }" }],
      });
    }
    await appendAudit(tx, {
      actor: viewer.name,
      action: "operation.cancelled",
      subjectId: id,
      reason: reason ?? null,
      before: { state: BULK_MOVES.cancel.from[0] },
      after: { state: operation.state, changed: operation.changed },
      atMs: deps.clock.wallMs(),
    });
  });
}
