import type { Maintenance } from "@/lib/observe/maintenance/maintenance.pure";
import type { Queryable } from "@/lib/platform/database/db";

/** Those in force and those to come. */
export async function readMaintenances(db: Queryable): Promise<Maintenance[]> {
  return db.query<Maintenance>(
    `select sources, from_at as "fromMs", until_at as "untilMs" from alert_maintenances where until_at > now() and ended_at is null`,
    [],
    { name: "maintenances" },
  );
}
