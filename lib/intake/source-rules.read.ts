import type { Mapping } from "@/lib/brokers/kinds/fields.shapes";
import type { Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Queryable } from "@/lib/platform/database/db";

/** What a source says of the events that are sent to it. */
export type SourceRules = {
  mapping: Mapping | undefined;
  /** The configuration of a source that takes signed requests only, as it is stored. */
  signedConfig: Readonly<Record<string, unknown>> | undefined;
};

/** Of the sources that have a rule, by name. A source that the viewer may not send to is refused elsewhere. */
export async function readSourceRules(db: Queryable, viewer: Viewer): Promise<Map<string, SourceRules>> {
  const rows = await db.query<{ name: string; mapping: Mapping | null; signed: Record<string, unknown> | null }>(
    `select name, config -> 'mapping' as mapping,
            case when kind = 'http' and config -> 'signedIntake' is not null then config end as signed
       from sources
      where (config -> 'mapping' is not null or config -> 'signedIntake' is not null)
        and ($1::text[] is null or name = any($1))`,
    [viewer.sources === "all" ? null : viewer.sources],
    { name: "source-rules" },
  );
  return new Map(
    rows.map(({ name, mapping, signed }) => [
      name,
      { mapping: mapping ?? undefined, signedConfig: signed ?? undefined },
    ]),
  );
}
