import { KINDS, kindOf } from "@/lib/kinds/kinds";
import type { Queryable } from "@/lib/store/db";

/** An enabled source that is read from a broker. `revision` changes with its configuration. */
export type ConsumedSource = { id: string; name: string; kind: string; config: unknown; revision: string };

const READ = KINDS.filter((kind) => kindOf(kind).capabilities.reads);

/** All enabled broker sources: each worker consumes every source, and brokers share their messages among consumers. */
export async function readConsumedSources(db: Queryable): Promise<ConsumedSource[]> {
  return db.query<ConsumedSource>(
    `select id, name, kind, config, updated_at::text as revision from sources
      where enabled and kind = any($1::text[]) order by name`,
    [READ],
    { name: "consumed-sources" },
  );
}
