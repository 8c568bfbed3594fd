import { appendAudit } from "@/lib/guard/audit/audit.write";
import { assertMay, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { MAINTENANCE_MS_MAX } from "@/lib/observe/maintenance/maintenance.pure";
import { unknownMaintenance } from "@/lib/observe/maintenance/maintenances.read";
import type { MaintenanceRequest } from "@/lib/observe/maintenance/maintenances.shapes";
import { uuidv7 } from "@/lib/platform/ids";
import type { Deps } from "@/lib/platform/low-rate-deps";
import { formatDuration } from "@/lib/platform/plain/format.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { unknownSourceFaults } from "@/lib/sources/sources.read";

type ChangeDeps = Pick<Deps, "db" | "clock">;

/** Begins a maintenance window, now or later. Returns its id. Throws DomainError `forbidden`, `invalid-window`, `unknown-source`. */
export async function beginMaintenance(
  { db, clock }: ChangeDeps,
  { sources, from, until, reason }: MaintenanceRequest,
  viewer: Viewer,
): Promise<string> {
  assertMay(viewer, "change-alert", sources ?? "all");
  const atMs = clock.wallMs();
  const [fromMs, untilMs] = [from === undefined ? atMs : Date.parse(from), Date.parse(until)];
  const fault = windowFault(fromMs, untilMs, atMs);
  if (fault !== null) {
    throw new DomainError("invalid-window", `until: ${fault}`, { fields: [{ field: "until", detail: fault }] });
  }
  // Over a misspelt name it would keep nobody quiet.
  const unknown = sources === null ? [] : await unknownSourceFaults(db, viewer, { names: sources, field: "sources" });
  if (unknown.length > 0) throw new DomainError("unknown-source", unknown[0]!.detail, { fields: unknown });
  const id = uuidv7(atMs);
  await db.transaction(async (tx) => {
    await tx.run(
      `insert into alert_maintenances (id, sources, from_at, until_at, reason, created_by, created_at)
       values ($1, $2, to_timestamp($3::float8 / 1000), to_timestamp($4::float8 / 1000), $5, $6, to_timestamp($7::float8 / 1000))`,
      [id, sources, fromMs, untilMs, reason, viewer.name, atMs],
    );
    await appendAudit(tx, {
      ...{ actor: viewer.name, action: "maintenance.begun", subjectKind: "maintenance", subjectId: id, reason },
      ...{ before: null, after: { sources, from: from ?? null, until }, count: 1, atMs },
    });
  });
  return id;
}

function windowFault(fromMs: number, untilMs: number, nowMs: number): string | null {
  if (untilMs <= nowMs) return "is over already: give a time to come";
  if (untilMs <= fromMs) return "must be after from";
  if (untilMs - fromMs <= MAINTENANCE_MS_MAX) return null;
  return `is more than ${formatDuration(MAINTENANCE_MS_MAX)} after from: a window must end, begin another one then`;
}

/** Ends a window before its time. Throws DomainError `unknown-maintenance` for one that is over, `forbidden`. */
export async function endMaintenance({ db, clock }: ChangeDeps, id: string, viewer: Viewer): Promise<void> {
  const atMs = clock.wallMs();
  await db.transaction(async (tx) => {
    const [ended] = await tx.query<{ sources: string[] | null }>(
      `update alert_maintenances set ended_at = now(), ended_by = $2
        where id = $1 and ended_at is null and until_at > now() returning sources`,
      [id, viewer.name],
    );
    if (!ended || !seesAny(viewer, ended.sources)) throw unknownMaintenance(id);
    assertMay(viewer, "change-alert", ended.sources ?? "all");
    await appendAudit(tx, {
      ...{ actor: viewer.name, action: "maintenance.ended", subjectKind: "maintenance", subjectId: id, reason: null },
      ...{ before: { sources: ended.sources }, after: null, count: 1, atMs },
    });
  });
}

function seesAny({ sources: seen }: Viewer, sources: readonly string[] | null): boolean {
  return seen === "all" || sources === null || sources.some((source) => seen.includes(source));
}
