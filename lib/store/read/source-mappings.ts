import type { Viewer } from "@/lib/core/viewer";
import type { Mapping } from "@/lib/kinds/fields";
import type { Queryable } from "@/lib/store/db";

/** Mappings of the sources that have one, and that the viewer may send to, by source name. */
export async function readMappings(db: Queryable, viewer: Viewer): Promise<Map<string, Mapping>> {
  const rows = await db.query<{ name: string; mapping: Mapping }>(
    "select name, config -> 'mapping' as mapping from sources where config -> 'mapping' is not null and ($1::text[] is null or name = any($1))",
    [viewer.sources === "all" ? null : viewer.sources],
    { name: "source-mappings" },
  );
  return new Map(rows.map(({ name, mapping }) => [name, mapping]));
}
