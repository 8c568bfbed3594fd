import { appendAudit } from "@/lib/guard/audit/audit.write";
import { BULK_ACTION } from "@/lib/guard/viewer/bulk-action.pure";
import { assertMay, seesAll, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Deps } from "@/lib/lane/deps";
import { inTransaction } from "@/lib/platform/database/retrying";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { lockBulkOperation } from "@/lib/selection/operations/bulk-operations.write";
import { readOperationChannels } from "@/lib/selection/operations/operation-channels.read";
import { sameNames, setOperationChannels } from "@/lib/selection/operations/operation-channels.write";
import { sourcesOf } from "@/lib/selection/scope.shapes";
import { unknownOperation } from "@/lib/states/unknown.pure";

/**
 * Names the channels that are notified when a bulk operation ends or stalls. Throws DomainError `unknown-operation`,
 * `illegal-transition` when it has ended, `channel-not-found`.
 */
export async function changeOperationChannels(
  deps: Pick<Deps, "db" | "clock">,
  { id, tell }: { id: string; tell: readonly string[] },
  viewer: Viewer,
): Promise<void> {
  await inTransaction(deps.db, async (tx) => {
    const operation = await lockBulkOperation(tx, id);
    if (!operation || !seesAll(viewer, sourcesOf(operation.selection))) throw unknownOperation(id);
    assertMay(viewer, BULK_ACTION[operation.kind]);
    if (operation.state !== "RUNNING") {
      throw new DomainError("illegal-transition", `An operation that is ${operation.state} has ended already`, {
        fields: [{ field: "tell", detail: "its page has the result" }],
      });
    }
    const before = await readOperationChannels(tx, id);
    if (sameNames(before, tell)) return;
    const atMs = deps.clock.wallMs();
    await setOperationChannels(tx, id, tell, { viewer, atMs });
    await appendAudit(tx, {
      actor: viewer.name,
      action: "operation.tell-changed",
      subjectId: id,
      before: { tell: before },
      after: { tell },
      atMs,
    });
  });
}
