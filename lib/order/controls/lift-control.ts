import { appendAudit } from "@/lib/guard/audit/audit.write";
import { assertMay, sees, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { scopeOut } from "@/lib/order/controls/control.pure";
import { forgetFailures, liftControl as lift } from "@/lib/order/controls/controls.write";
import { inTransaction } from "@/lib/platform/database/retrying";
import type { Deps } from "@/lib/platform/low-rate-deps";
import { DomainError } from "@/lib/platform/plain/problem.pure";

/** Ends a control at once, with a reason. Throws DomainError `unknown-control` when it is not in force. */
export async function liftControl(deps: Deps, input: { id: string; reason: string }, viewer: Viewer): Promise<void> {
  assertMay(viewer, "control");
  const atMs = deps.clock.wallMs();
  await inTransaction(deps.db, async (tx) => {
    const lifted = await lift(tx, { ...input, actor: viewer.name, atMs });
    const source = lifted && (lifted.scope === "source" ? lifted.value : lifted.source);
    if (!lifted || (source !== null && !sees(viewer, source))) {
      throw new DomainError("unknown-control", `No control ${input.id} is in force`, {
        fields: [{ field: "id", detail: "list the controls in force with GET /api/v1/controls" }],
      });
    }
    if (source === null) assertMay(viewer, "control", "all");
    await forgetFailures(tx, lifted);
    await appendAudit(tx, {
      actor: viewer.name,
      action: "control.lifted",
      subjectKind: "control",
      subjectId: input.id,
      reason: input.reason,
      before: { kind: lifted.kind, scope: scopeOut(lifted) },
      after: null,
      count: 1,
      atMs,
    });
  });
}
