import { CONTROL_COVERS } from "@/lib/order/controls/control.sql";
import type { Queryable } from "@/lib/platform/database/db";

/** The stopped scope: a redrive, named events (by our ids), the events that a control covers, a target, or everything. */
export type StopScope =
  | { redriveId: string }
  | { ids: readonly string[] }
  | { controlId: string }
  | { targetId: string | null };

/** The events of a scope that are being sent now: their intent is recorded, and their end is not. */
export async function openSends(db: Queryable, scope: StopScope): Promise<string[]> {
  const [where, value] = conditionOf(scope);
  const rows = await db.query<{ id: string }>(`select distinct a.id from live_sends a where ${where}`, [value]);
  return rows.map((row) => row.id);
}

function conditionOf(scope: StopScope): [where: string, value: unknown] {
  if ("redriveId" in scope) return ["a.redrive_id = $1", scope.redriveId];
  if ("ids" in scope) return ["a.id = any($1::uuid[])", scope.ids];
  if ("targetId" in scope) return ["($1::uuid is null or a.target_id = $1)", scope.targetId];
  return [
    `exists (select 1 from controls c,
               lateral (select e.event_id, e.aggregate_type, e.aggregate_id, e.error_code, s.name as source
                          from dlq_events e join sources s on s.id = e.source_id where e.id = a.id) w
              where c.id = $1 and ${CONTROL_COVERS})`,
    scope.controlId,
  ];
}
