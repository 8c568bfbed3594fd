import { appendAudit } from "@/lib/guard/audit/audit.write";
import { assertMay, sees, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { holdScopeOut } from "@/lib/keep/holds/holds.read";
import { endHold } from "@/lib/keep/holds/holds.write";
import type { Deps } from "@/lib/platform/low-rate-deps";
import { DomainError } from "@/lib/platform/plain/problem.pure";

/** Ends a legal hold at once, with a reason. Nothing is removed by it. Throws DomainError `unknown-hold` when it is not in force. */
export async function liftHold(
  { db, clock }: Pick<Deps, "db" | "clock">,
  input: { id: string; reason: string },
  viewer: Viewer,
): Promise<void> {
  assertMay(viewer, "hold");
  const atMs = clock.wallMs();
  await db.transaction(async (tx) => {
    const lifted = await endHold(tx, { ...input, actor: viewer.name, atMs });
    const source = lifted && (lifted.scope === "source" ? lifted.value : lifted.source);
    if (!lifted || (source !== null && !sees(viewer, source))) {
      throw new DomainError("unknown-hold", `No legal hold ${input.id} is in force`, {
        fields: [{ field: "id", detail: "list the legal holds in force with GET /api/v1/holds?state=live" }],
      });
    }
    if (source === null) assertMay(viewer, "hold", "all");
    await appendAudit(tx, {
      actor: viewer.name,
      action: "hold.lifted",
      subjectKind: "hold",
      subjectId: input.id,
      reason: input.reason,
      before: { scope: holdScopeOut(lifted) },
      after: null,
      count: 1,
      atMs,
    });
  });
}
