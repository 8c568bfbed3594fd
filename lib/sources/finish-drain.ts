import { appendAudit } from "@/lib/guard/audit/audit.write";
import { assertMay, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Clock } from "@/lib/platform/clock";
import type { Db } from "@/lib/platform/database/db";
import { pauseDrained } from "@/lib/sources/source-consumers.write";

/** Pauses a draining source that every worker has found empty. False while one has not. */
export async function finishDrain(
  { db, clock }: { db: Db; clock: Clock },
  source: { id: string; name: string; modeAt: string },
  viewer: Viewer,
): Promise<boolean> {
  assertMay(viewer, "change-source", [source.name]);
  return db.transaction(async (tx) => {
    const reason = await pauseDrained(tx, { id: source.id, modeAt: source.modeAt, by: viewer.name });
    if (reason === null) return false;
    await appendAudit(tx, {
      actor: viewer.name,
      action: "source.changed",
      subjectId: source.name,
      reason,
      before: { mode: "draining" },
      after: { mode: "paused" },
      atMs: clock.wallMs(),
    });
    return true;
  });
}
