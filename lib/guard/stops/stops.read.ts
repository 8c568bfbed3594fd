import { withShownReasons } from "@/lib/guard/masking/typed-texts.read";
import type { StopOut } from "@/lib/guard/stops/stops.shapes";
import { ofSources } from "@/lib/guard/viewer/scope.sql";
import { sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Queryable } from "@/lib/platform/database/db";

/** The stops in force that concern the viewer's sources: that of everything first. */
export async function listStops(db: Queryable, viewer: Viewer): Promise<StopOut[]> {
  const rows = await db.query<StopOut>(
    `select t.name as target, s.reason, s.created_by as "createdBy", s.created_at as "createdAt"
       from stops s left join targets t on t.id = s.target_id
      where s.lifted_at is null and (s.target_id is null or (t.id is not null and ${ofSources("t.source_id", "$1")}))
      order by t.name nulls first`,
    [sourceScope(viewer)],
    { name: "stops", isoTimes: true },
  );
  return withShownReasons(db, viewer, rows);
}
