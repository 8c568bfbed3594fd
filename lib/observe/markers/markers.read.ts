import { sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { MarkerList, MarkerOut } from "@/lib/observe/markers/markers.shapes";
import { cutPage, type IdPage } from "@/lib/platform/api/id-page.shapes";
import type { Queryable } from "@/lib/platform/database/db";
import { DomainError } from "@/lib/platform/plain/problem.pure";

/** One without a source is seen by everybody. */
const SEEN = "($1::text[] is null or m.source is null or m.source = any($1))";
const COLUMNS = `m.id, m.kind, m.label, m.source, m.url, m.at, m.created_by as "createdBy", m.created_at as "createdAt"`;

/** Markers, the newest stored first. */
export async function listMarkers(db: Queryable, viewer: Viewer, query: IdPage): Promise<MarkerList> {
  const rows = await db.query<MarkerOut>(
    `select ${COLUMNS} from markers m where ${SEEN} and ($2::uuid is null or m.id < $2) order by m.id desc limit $3`,
    [sourceScope(viewer), query.cursor, query.limit + 1],
    { isoTimes: true },
  );
  return cutPage(rows, query.limit, ({ id }) => id);
}

/** Throws DomainError `unknown-marker`. */
export async function readMarker(db: Queryable, viewer: Viewer, id: string): Promise<MarkerOut> {
  const [row] = await db.query<MarkerOut>(
    `select ${COLUMNS} from markers m where ${SEEN} and m.id = $2`,
    [sourceScope(viewer), id],
    { isoTimes: true },
  );
  if (row) return row;
  throw new DomainError("unknown-marker", `There is no marker ${id}`, {
    fields: [{ field: "id", detail: "list markers with GET /api/v1/markers" }],
  });
}
