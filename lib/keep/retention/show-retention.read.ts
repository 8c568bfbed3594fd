import { assertMay, sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { countDue, countHolding } from "@/lib/keep/retention/due-events.read";
import { dueBeforeMs, type Retention } from "@/lib/keep/retention/retention.pure";
import { RETENTION_KEY, readRetention } from "@/lib/keep/retention/retention.read";
import type { RetentionOut, RetentionPreview } from "@/lib/keep/retention/retention.shapes";
import type { Db, Queryable } from "@/lib/platform/database/db";
import { isReadTimeout } from "@/lib/platform/database/retrying";
import { iso } from "@/lib/platform/plain/iso-time.pure";

/** The periods that concern the viewer: those of sources that they do not see are left out. `place`: where the archive lies; null = none is configured. */
export async function showRetention(db: Queryable, viewer: Viewer, place: string | null): Promise<RetentionOut> {
  const sources = sourceScope(viewer);
  const { days, rules } = await readRetention(db);
  const seen = rules.filter(({ source }) => sources === null || source === null || sources.includes(source));
  const [row] = await db.query<Pick<RetentionOut, "lookedAt" | "changedAt" | "changedBy">>(
    `select (select max(at) from retention_runs) as "lookedAt", s.updated_at as "changedAt", s.updated_by as "changedBy"
       from (values (1)) one left join settings s on s.key = $1`,
    [RETENTION_KEY],
    { isoTimes: true },
  );
  return { days, rules: seen, place, ...row! };
}

/** Time limit of the count: beyond it the preview says that it does not know. */
const COUNT_MS_MAX = 4_000;

/** What would expire now, of what the viewer sees. `periods`: for users who may set them; null = those in force. */
export async function previewRetention(
  db: Db,
  viewer: Viewer,
  { periods, nowMs }: { periods: Retention | null; nowMs: number },
): Promise<RetentionPreview> {
  if (periods === null) assertMay(viewer, "view");
  else assertMay(viewer, "change-settings", "all");
  try {
    const days = await db.transaction(
      async (tx) => {
        const retention = periods ?? (await readRetention(tx));
        const shortest = Math.min(retention.days, ...retention.rules.map((rule) => rule.days));
        const beforeMs = dueBeforeMs(nowMs, shortest);
        const due = await countDue(tx, viewer, { retention, nowMs, beforeMs, source: null, errorCode: null });
        return byDay(due, await countHolding(tx, viewer, { retention, nowMs, beforeMs }));
      },
      { statementTimeoutMs: COUNT_MS_MAX, readOnly: true },
    );
    return { asOf: iso(nowMs), days };
  } catch (error) {
    if (!isReadTimeout(error)) throw error;
    return { asOf: iso(nowMs), days: null };
  }
}

type Day = NonNullable<RetentionPreview["days"]>[number];

function byDay(due: Awaited<ReturnType<typeof countDue>>, holding: Awaited<ReturnType<typeof countHolding>>): Day[] {
  const days = new Map<string, Day>();
  for (const { day, reason, n, bytes } of due) {
    const of = days.get(day) ?? { day, expires: 0, bytes: 0, keptByReason: {} };
    days.set(day, of);
    if (reason === null) {
      of.expires += n;
      of.bytes += bytes;
    } else of.keptByReason[reason] = (of.keptByReason[reason] ?? 0) + n;
  }
  for (const of of days.values()) {
    const held = holding.get(of.day);
    if (held === undefined) continue;
    of.expires -= held.n;
    of.bytes -= held.bytes;
    of.keptByReason["holds-later"] = held.n;
  }
  return [...days.values()];
}
