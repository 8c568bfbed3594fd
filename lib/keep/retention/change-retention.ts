import { writeSettings } from "@/lib/guard/settings/settings.write";
import { assertMay, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Retention } from "@/lib/keep/retention/retention.pure";
import { INITIAL, RETENTION_KEY, readRetention } from "@/lib/keep/retention/retention.read";
import type { RetentionChange } from "@/lib/keep/retention/retention.shapes";
import { lockPeriods, lookAgain } from "@/lib/keep/retention/retention.write";
import type { Db } from "@/lib/platform/database/db";
import type { LowRateDeps } from "@/lib/platform/low-rate-deps";
import { DomainError, type FieldError, invalidFields } from "@/lib/platform/plain/problem.pure";

/**
 * Changes all periods at once; a running expiry honours them from its next chunk on. Throws DomainError `invalid-config` for a
 * rule that names nothing, what another one names, or a source that does not exist, `stale-settings`, and `forbidden`.
 */
export async function changeRetention(
  deps: LowRateDeps & { db: Db },
  { reason, changedAt, ...after }: RetentionChange,
  viewer: Viewer,
): Promise<void> {
  assertMay(viewer, "change-settings", "all");
  await assertRules(deps.db, after, await readRetention(deps.db));
  const atMs = deps.clock.wallMs();
  await deps.lowRate.write(async ({ prisma, audit }) => {
    await lockPeriods(prisma);
    const stored = await prisma.setting.findUnique({ where: { key: RETENTION_KEY } });
    if (changedAt !== undefined && stored?.updatedAt.getTime() !== (changedAt ? Date.parse(changedAt) : undefined))
      throw new DomainError("stale-settings", "The periods were changed since they were read: read them again");
    const before = (stored?.value ?? INITIAL) as Retention;
    await writeSettings(prisma, { [RETENTION_KEY]: after }, { actor: viewer.name, atMs });
    await lookAgain(prisma);
    await audit({
      actor: viewer.name,
      action: "retention.changed",
      reason,
      before,
      after,
      atMs,
    });
  });
}

/** A rule that was stored before may name a source that was removed since. */
async function assertRules(db: Db, { rules }: Retention, before: Retention): Promise<void> {
  const known = new Set(before.rules.map(({ source }) => source));
  for (const { name } of await db.query<{ name: string }>("select name from sources", [])) known.add(name);
  const named = rules.map(({ source, errorCode }) => JSON.stringify([source, errorCode]));
  const fields = rules.flatMap(({ source, errorCode }, index): FieldError[] => {
    const at = `rules[${index}]`;
    if (source === null && errorCode === null)
      return [{ field: at, detail: "must name a source, an error code or both" }];
    if (named.indexOf(named[index]!) < index)
      return [{ field: at, detail: "names the same source and error code as one above" }];
    if (source === null || known.has(source)) return [];
    return [{ field: `${at}.source`, detail: `there is no source ${JSON.stringify(source)}` }];
  });
  if (fields.length > 0) throw invalidFields(fields, "invalid-config");
}
