import { createHash } from "node:crypto";
import { appendAudit } from "@/lib/guard/audit/audit.write";
import type { Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Deps } from "@/lib/lane/deps";
import { uuidv7LowerBound } from "@/lib/platform/ids";

/** People repeat a trial while they work on it. */
const TRIAL_AGAIN_MS = 3_600_000;

/**
 * A trial can reveal what stored events contain, one answer at a time. If something in them is masked, it is audited before it is
 * answered: one entry for each source, trial and hour. `text`: what was tried, of which the hash is stored.
 */
export async function auditTrial(
  { db, clock }: Pick<Deps, "db" | "clock">,
  viewer: Viewer,
  { kind, text, sources }: { kind: "mend" | "schema" | "admission-rule"; text: string; sources: readonly string[] },
): Promise<void> {
  const [atMs, sha256] = [clock.wallMs(), createHash("sha256").update(text).digest("hex")];
  for (const source of new Set(sources)) {
    const after = { trial: kind, sha256 };
    await db.transaction(async (tx) => {
      const known = await tx.query(
        `select from audit_entries a where a.action = 'source.tried-masked' and a.id > $1 and a.actor = $2 and a.subject_id = $3
            and a.after = $4::jsonb limit 1`,
        [uuidv7LowerBound(atMs - TRIAL_AGAIN_MS), viewer.name, source, JSON.stringify(after)],
        { name: "known-trial" },
      );
      if (known.length > 0) return;
      const entry = { action: "source.tried-masked", subjectKind: "source", subjectId: source } as const;
      await appendAudit(tx, { ...entry, actor: viewer.name, before: null, after, count: 0, atMs });
    });
  }
}
