import { withShownReasons } from "@/lib/guard/masking/typed-texts.read";
import { sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Maintenance } from "@/lib/observe/maintenance/maintenance.pure";
import type { MaintenanceList, MaintenanceOut } from "@/lib/observe/maintenance/maintenances.shapes";
import { cutPage, type IdPage } from "@/lib/platform/api/id-page.shapes";
import type { Queryable } from "@/lib/platform/database/db";
import { DomainError } from "@/lib/platform/plain/problem.pure";

/** Those in force and those to come. */
export async function readMaintenances(db: Queryable): Promise<Maintenance[]> {
  return db.query<Maintenance>(
    `select sources, from_at as "fromMs", until_at as "untilMs" from alert_maintenances where until_at > now() and ended_at is null`,
    [],
    { name: "maintenances" },
  );
}

/** One over every source is seen by everybody: it says why nobody is told. */
const SEEN = "($1::text[] is null or m.sources is null or m.sources && $1::text[])";

const COLUMNS = `m.id, case when $1::text[] is null then m.sources else
    (select array_agg(s) from unnest(m.sources) s where s = any($1::text[])) end as sources, m.from_at as "from", m.until_at as until,
  m.reason, m.created_by as "createdBy", m.created_at as "createdAt", m.ended_at as "endedAt", m.ended_by as "endedBy"`;

export async function listMaintenances(
  db: Queryable,
  viewer: Viewer,
  query: IdPage & { state: "live" | "ended" | null },
): Promise<MaintenanceList> {
  const rows = await db.query<MaintenanceOut>(
    `select ${COLUMNS} from alert_maintenances m
      where ${SEEN} and ($2::uuid is null or m.id < $2)
        and ($3::boolean is null or (m.ended_at is null and m.until_at > now()) = $3) order by m.id desc limit $4`,
    [sourceScope(viewer), query.cursor, query.state === null ? null : query.state === "live", query.limit + 1],
    { isoTimes: true },
  );
  return cutPage(await withShownReasons(db, viewer, rows), query.limit, ({ id }) => id);
}

/** Throws DomainError `unknown-maintenance`. */
export async function readMaintenance(db: Queryable, viewer: Viewer, id: string): Promise<MaintenanceOut> {
  const [row] = await db.query<MaintenanceOut>(
    `select ${COLUMNS} from alert_maintenances m where ${SEEN} and m.id = $2`,
    [sourceScope(viewer), id],
    { isoTimes: true },
  );
  if (!row) throw unknownMaintenance(id);
  return (await withShownReasons(db, viewer, [row]))[0]!;
}

export function unknownMaintenance(id: string): DomainError {
  return new DomainError("unknown-maintenance", `There is no maintenance window ${id} that lasts`, {
    fields: [{ field: "id", detail: "list them with GET /api/v1/maintenances" }],
  });
}
