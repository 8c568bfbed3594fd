import type { Mapping } from "@/lib/contract/source-config";
import type { Queryable } from "@/lib/store/db";

/** Mappings of the sources that have one, by source name. */
export async function readMappings(db: Queryable): Promise<Map<string, Mapping>> {
  const rows = await db.query<{ name: string; mapping: Mapping }>(
    "select name, config -> 'mapping' as mapping from sources where config -> 'mapping' is not null",
    [],
    { name: "source_mappings" },
  );
  return new Map(rows.map(({ name, mapping }) => [name, mapping]));
}
