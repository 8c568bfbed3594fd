import { appendAudit } from "@/lib/guard/audit/audit.write";
import { withShownReasons } from "@/lib/guard/masking/typed-texts.read";
import { Noun, type NounDeps } from "@/lib/guard/noun";
import { unknownSourceFaults } from "@/lib/guard/viewer/source-names.read";
import { sees, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { MAINTENANCE_MS_MAX } from "@/lib/observe/maintenance/maintenance.pure";
import {
  type MaintenanceList,
  type MaintenanceOut,
  type MaintenanceRequest,
  maintenanceSchema,
} from "@/lib/observe/maintenance/maintenances.shapes";
import type { IdPage } from "@/lib/platform/api/id-page.shapes";
import type { Queryable } from "@/lib/platform/database/db";
import { formatDuration } from "@/lib/platform/plain/format.pure";
import { iso } from "@/lib/platform/plain/iso-time.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";

const MAINTENANCES = new Noun<MaintenanceOut>({
  table: "alert_maintenances",
  schema: maintenanceSchema,
  columns: { from: "from_at", until: "until_at" },
  // One over every source is seen by everybody: it says why nobody is notified.
  seen: "($1::text[] is null or t.sources is null or t.sources && $1::text[])",
  key: "id",
  subject: "maintenance",
  verbs: { create: "begun", remove: "ended" },
  needs: "change-alert",
  sourcesOf: ({ sources }) => sources,
  audited: ({ sources }) => ({ sources }),
  unknown: (id) => [
    "unknown-maintenance",
    `There is no active or upcoming maintenance window ${id}`,
    "list them with GET /api/v1/maintenances",
  ],
  out: (rows, db, viewer) =>
    withShownReasons(
      db,
      viewer,
      rows.map((row) => ({ ...row, sources: row.sources?.filter((source) => sees(viewer, source)) ?? null })),
    ),
});

export function listMaintenances(
  db: Queryable,
  viewer: Viewer,
  { state, ...page }: IdPage & { state: "live" | "ended" | null },
): Promise<MaintenanceList> {
  const wanted = "($4::boolean is null or (t.ended_at is null and t.until_at > now()) = $4)";
  return MAINTENANCES.page(db, viewer, page, wanted, [state === null ? null : state === "live"]);
}

/** Begins a maintenance window, now or later. Throws DomainError `forbidden`, `invalid-window`, `unknown-source`. */
export function beginMaintenance(
  deps: NounDeps,
  { sources, from, until, reason }: MaintenanceRequest,
  viewer: Viewer,
): Promise<MaintenanceOut> {
  const set = { sources, until: iso(Date.parse(until)), reason };
  const beside = { from: from ?? null, until };
  return MAINTENANCES.create(deps, { set, reason, beside }, viewer, async (tx, { atMs }) => {
    const fromMs = from === undefined ? atMs : Date.parse(from);
    const fault = windowFault(fromMs, Date.parse(until), atMs);
    if (fault !== null) {
      throw new DomainError("invalid-window", `until: ${fault}`, { fields: [{ field: "until", detail: fault }] });
    }
    // Over a misspelt name it would keep nobody quiet.
    const unknown = sources === null ? [] : await unknownSourceFaults(tx, viewer, { names: sources, field: "sources" });
    if (unknown.length > 0) throw new DomainError("unknown-source", unknown[0]!.detail, { fields: unknown });
    return { from: iso(fromMs) };
  });
}

function windowFault(fromMs: number, untilMs: number, nowMs: number): string | null {
  if (untilMs <= nowMs) return "is in the past: choose a time in the future";
  if (untilMs <= fromMs) return "must be after from";
  if (untilMs - fromMs <= MAINTENANCE_MS_MAX) return null;
  return `is more than ${formatDuration(MAINTENANCE_MS_MAX)} after from: start another window then`;
}

/** Ends a window before its time. Throws DomainError `unknown-maintenance` for one that is over, `forbidden`. */
export async function endMaintenance({ db, clock }: NounDeps, id: string, viewer: Viewer): Promise<void> {
  const atMs = clock.wallMs();
  await db.transaction(async (tx) => {
    const { sources } = await MAINTENANCES.lock(tx, viewer, id);
    const ended = await tx.run(
      `update alert_maintenances set ended_at = now(), ended_by = $2
        where id = $1 and ended_at is null and until_at > now()`,
      [id, viewer.name],
    );
    if (ended === 0) throw MAINTENANCES.unknown(id);
    await appendAudit(tx, {
      ...{ actor: viewer.name, action: "maintenance.ended", subjectId: id },
      ...{ before: { sources }, atMs },
    });
  });
}
