import { appendAudit } from "@/lib/guard/audit/audit.write";
import { unknownSource } from "@/lib/guard/viewer/source-names.read";
import { assertMay, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Clock } from "@/lib/platform/clock";
import type { Db } from "@/lib/platform/database/db";
import { askForRetry } from "@/lib/sources/sources.write";

/** Ends the pause before the next attempt: workers reconnect when they next read their sources. Throws DomainError `unknown-source`. */
export async function retrySource(deps: { db: Db; clock: Clock }, name: string, viewer: Viewer): Promise<void> {
  assertMay(viewer, "change-source", [name]);
  await deps.db.transaction(async (tx) => {
    if (!(await askForRetry(tx, name))) throw unknownSource(name);
    await appendAudit(tx, {
      actor: viewer.name,
      action: "source.retried",
      subjectId: name,
      atMs: deps.clock.wallMs(),
    });
  });
}
