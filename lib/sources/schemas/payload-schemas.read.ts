import { withShownReasons } from "@/lib/guard/masking/typed-texts.read";
import { readSourceId } from "@/lib/guard/viewer/source-names.read";
import { sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Queryable } from "@/lib/platform/database/db";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import type { SchemaList, SchemaVersion, SchemaVersionDetail } from "@/lib/sources/schemas/payload-schemas.shapes";

/** A stored version of a schema. It never changes: its id names its text. */
export type SchemaInForce = {
  id: string;
  /** null = of the types that have no schema of their own. */
  eventType: string | null;
  version: number;
  text: string;
};

/** Texts of schemas that one process keeps. */
const CHARS_KEPT_MAX = 16 * 1024 * 1024;

export function schemaName({ eventType, version }: Pick<SchemaInForce, "eventType" | "version">): string {
  const of = eventType === null ? "all types" : eventType;
  return version === 0 ? `the new schema of ${of}` : `version ${version} of the schema of ${of}`;
}

export type SchemasInForce = {
  /** The schema in force of each event; null = none. A version that is made current holds from the next call on. */
  find(
    db: Queryable,
    events: readonly { sourceId: string; eventType: string | null }[],
  ): Promise<(SchemaInForce | null)[]>;
};

/**
 * Each call reads which versions are in force, a few ids, and the texts that this process does not hold yet: a version
 * never changes.
 */
export function createSchemasInForce(): SchemasInForce {
  const texts = new Map<string, string>();
  let chars = 0;

  async function load(db: Queryable, ids: readonly string[]): Promise<Map<string, string>> {
    const found = new Map(ids.flatMap((id) => (texts.has(id) ? [[id, texts.get(id)!]] : [])));
    const missing = ids.filter((id) => !found.has(id));
    if (missing.length === 0) return found;
    const rows = await db.query<{ id: string; text: string }>(
      "select id, body::text as text from payload_schemas where id = any($1::uuid[])",
      [missing],
      { name: "schema-texts" },
    );
    for (const { id, text } of rows) {
      found.set(id, text);
      texts.set(id, text);
      chars += text.length;
    }
    for (const [id, text] of texts) {
      if (chars <= CHARS_KEPT_MAX) break;
      texts.delete(id);
      chars -= text.length;
    }
    return found;
  }

  return {
    find: async (db, events) => {
      const rows = await db.query<Omit<SchemaInForce, "text"> & { sourceId: string }>(
        `select id, source_id as "sourceId", event_type as "eventType", version from payload_schemas
          where current and source_id = any($1::uuid[])`,
        [[...new Set(events.map(({ sourceId }) => sourceId))]],
        { name: "schemas-in-force" },
      );
      const keyOf = (sourceId: string, eventType: string | null) => JSON.stringify([sourceId, eventType]);
      const heads = new Map(rows.map((row) => [keyOf(row.sourceId, row.eventType), row]));
      const wanted = events.map(
        ({ sourceId, eventType }) => heads.get(keyOf(sourceId, eventType)) ?? heads.get(keyOf(sourceId, null)) ?? null,
      );
      const loaded = await load(db, [...new Set(wanted.flatMap((head) => head?.id ?? []))]);
      return wanted.map((head) => {
        const text = head && loaded.get(head.id);
        // A source that was deleted meanwhile has taken its schemas with it.
        return text ? { id: head.id, eventType: head.eventType, version: head.version, text } : null;
      });
    },
  };
}

/** The event types of a source that have a schema of their own in force. */
export async function readTypesWithSchema(db: Queryable, sourceId: string): Promise<Set<string>> {
  const rows = await db.query<{ eventType: string }>(
    `select event_type as "eventType" from payload_schemas where current and event_type is not null and source_id = $1`,
    [sourceId],
    { name: "types-with-schema" },
  );
  return new Set(rows.map(({ eventType }) => eventType));
}

/** The type of each event, and the bytes of its current payload. */
export async function readTypedSizes(
  db: Queryable,
  ids: readonly string[],
): Promise<Map<string, { eventType: string | null; bytes: number }>> {
  const rows = await db.query<{ id: string; eventType: string | null; bytes: number }>(
    `select id, event_type as "eventType", payload_bytes as bytes from dlq_event_facts where id = any($1::uuid[])`,
    [ids],
    { name: "typed-sizes" },
  );
  return new Map(rows.map(({ id, ...facts }) => [id, facts]));
}

const COLUMNS = `p.id, s.name as source, p.event_type as "eventType", p.version, p.current, p.origin,
  p.events_read as "eventsRead", p.reason, p.created_by as "createdBy", p.created_at as "createdAt",
  octet_length(p.body::text) as bytes`;

/** Of each event type that has or had a schema: the version in force, else the newest one. Throws DomainError `unknown-source`. */
export async function listSchemas(db: Queryable, viewer: Viewer, source: string): Promise<SchemaList> {
  const sourceId = await readSourceId(db, viewer, source);
  const items = await db.query<SchemaList["items"][number]>(
    `select ${COLUMNS}, p.versions from (
       select *, count(*) over types as versions,
              row_number() over (types order by current desc, version desc) as place
         from payload_schemas where source_id = $1
       window types as (partition by event_type)) p
       join sources s on s.id = p.source_id
      where p.place = 1 order by p.event_type nulls first`,
    [sourceId],
    { name: "list-schemas", isoTimes: true },
  );
  return { items: await withShownReasons(db, viewer, items) };
}

/** One version with its text, and the other versions of its event type, newest first. Throws DomainError `unknown-schema`. */
export async function readSchema(db: Queryable, viewer: Viewer, id: string): Promise<SchemaVersionDetail> {
  const [row] = await db.query<SchemaVersion & { sourceId: string; schema: Record<string, unknown> }>(
    `select ${COLUMNS}, p.source_id as "sourceId", p.body as schema
       from payload_schemas p join sources s on s.id = p.source_id
      where p.id = $1 and ($2::text[] is null or s.name = any($2))`,
    [id, sourceScope(viewer)],
    { name: "read-schema", isoTimes: true },
  );
  if (!row) throw unknownSchema(id);
  const [{ sourceId, ...version }] = (await withShownReasons(db, viewer, [row])) as [typeof row];
  const versions = await db.query<SchemaVersion>(
    `select ${COLUMNS} from payload_schemas p join sources s on s.id = p.source_id
      where p.source_id = $1 and p.event_type is not distinct from $2 order by p.version desc limit 200`,
    [sourceId, row.eventType],
    { name: "schema-versions", isoTimes: true },
  );
  return { ...version, versions: await withShownReasons(db, viewer, versions) };
}

export function unknownSchema(id: string): DomainError {
  return new DomainError("unknown-schema", `There is no schema ${id}`, {
    fields: [{ field: "id", detail: "list the schemas with GET /api/v1/sources/{name}/schemas" }],
  });
}
