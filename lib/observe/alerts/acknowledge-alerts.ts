import { appendAudit } from "@/lib/guard/audit/audit.write";
import { assertMay, sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Deps } from "@/lib/lane/deps";
import { assertAlertsSeen } from "@/lib/observe/alerts/alerts.read";
import type { AlertAcknowledge } from "@/lib/observe/alerts/alerts.shapes";
import { setAcknowledged } from "@/lib/observe/alerts/alerts.write";

/** Acknowledged alerts send no more messages; ended ones stay as they are. Throws DomainError `forbidden`, `unknown-alert`. */
export async function acknowledgeAlerts(
  { db, clock }: Pick<Deps, "db" | "clock">,
  { ids, note, acknowledged }: AlertAcknowledge,
  viewer: Viewer,
): Promise<{ changed: number; unchanged: number }> {
  assertMay(viewer, "acknowledge");
  const wanted = [...new Set(ids)];
  const atMs = clock.wallMs();
  const facts = { acknowledged, actor: viewer.name, note: note ?? null, atMs, scope: sourceScope(viewer) };
  return db.transaction(async (tx) => {
    await assertAlertsSeen(tx, viewer, wanted);
    const changed = await setAcknowledged(tx, wanted, facts);
    for (const { id, sentence, source } of changed) {
      await appendAudit(tx, {
        actor: viewer.name,
        action: acknowledged ? "alert.acknowledged" : "alert.unacknowledged",
        subjectKind: "alert",
        subjectId: id,
        reason: note ?? null,
        after: { sentence, source },
        atMs,
      });
    }
    return { changed: changed.length, unchanged: wanted.length - changed.length };
  });
}
