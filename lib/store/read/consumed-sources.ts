import type { Queryable } from "@/lib/store/db";

/** An enabled source that is read from a broker. `revision` changes with its configuration. */
export type ConsumedSource = { id: string; name: string; kind: string; config: unknown; revision: string };

/** All enabled broker sources: each worker consumes every source, and brokers share their messages among consumers. */
export async function readConsumedSources(db: Queryable): Promise<ConsumedSource[]> {
  return db.query<ConsumedSource>(
    `select id, name, kind, config, updated_at::text as revision from sources
      where enabled and kind <> 'http' order by name`,
    [],
    { name: "consumed-sources" },
  );
}
