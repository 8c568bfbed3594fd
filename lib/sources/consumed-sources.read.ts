import { KINDS, kindOf } from "@/lib/brokers/kinds/kinds.shapes";
import type { SourceMode } from "@/lib/brokers/source-mode.pure";
import type { Queryable } from "@/lib/platform/database/db";

export type ConsumedSource = {
  id: string;
  name: string;
  kind: string;
  config: unknown;
  /** Changes with the configuration. */
  revision: string;
  mode: Exclude<SourceMode, "stopped">;
  /** Changes with the mode. */
  modeAt: string;
  /** Changes when somebody asks for an attempt at once; null = never. */
  retriedAt: string | null;
};

const READ = KINDS.filter((kind) => kindOf(kind).capabilities.reads);

/** All broker sources that are not stopped. Each worker consumes all of them; brokers share the messages among consumers. */
export async function readConsumedSources(db: Queryable): Promise<ConsumedSource[]> {
  return db.query<ConsumedSource>(
    `select id, name, kind, config, updated_at::text as revision, mode, mode_at::text as "modeAt",
            retried_at::text as "retriedAt"
       from sources where mode <> 'stopped' and kind = any($1::text[]) order by name`,
    [READ],
    { name: "consumed-sources" },
  );
}
