import { sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { ArchivedEvent, ArchivedQuery } from "@/lib/keep/archive/archive.shapes";
import { cutPage } from "@/lib/platform/api/id-page.shapes";
import type { Queryable } from "@/lib/platform/database/db";
import { uuidv7LowerBound, uuidv7TimeMs } from "@/lib/platform/ids";
import { iso } from "@/lib/platform/plain/iso-time.pure";

type ArchivedRow = Omit<ArchivedEvent, "firstSeen">;

/** Archived events that match, newest first. What a name selects is compared whole. */
export async function listArchivedEvents(
  db: Queryable,
  viewer: Viewer,
  query: ArchivedQuery,
): Promise<{ items: ArchivedEvent[]; nextCursor: string | null }> {
  const conditions = [
    ...condition("a.id = $", query.id),
    ...condition("a.event_id = $", query.eventId),
    ...condition("a.aggregate_id = $", query.aggregateId),
    ...condition("a.source = $", query.source),
    ...condition("a.error_code = $", query.errorCode),
    ...condition("o.operation_id = $", query.operation),
    ...condition("a.id >= $", query.fromMs === null ? null : uuidv7LowerBound(Math.ceil(query.fromMs))),
    ...condition("a.id < $", query.toMs === null ? null : uuidv7LowerBound(Math.ceil(query.toMs))),
    ...condition("a.id < $", query.cursor),
  ];
  const where = conditions.map(({ sql }, index) => `and ${sql.replace("$", `$${index + 3}`)}`).join(" ");
  const rows = await db.query<ArchivedRow>(
    `select a.id, a.source, a.event_id as "eventId", a.aggregate_id as "aggregateId",
            nullif(a.aggregate_type, '') as "aggregateType", a.version, a.event_type as "eventType",
            a.error_code as "errorCode", a.status, a.payload_bytes as "payloadBytes", o.removed_at as "removedAt",
            o.removed_by as "removedBy", o.operation_id as "operationId", o.key as object
       from archived_events a join archive_objects o on o.id = a.object_id
      where ($1::text[] is null or a.source = any($1)) ${where}
      order by a.id desc limit $2`,
    [sourceScope(viewer), query.limit + 1, ...conditions.map(({ value }) => value)],
    { isoTimes: true },
  );
  const listed = rows.map((row) => ({ ...row, firstSeen: iso(uuidv7TimeMs(row.id)) }));
  return cutPage(listed, query.limit, (row) => row.id);
}

function condition(sql: string, value: string | null): { sql: string; value: string }[] {
  return value === null ? [] : [{ sql, value }];
}

/** Which objects: all, or those of an operation, or of a day and a source. */
export type ArchiveScope = { operation: string | null; day: string | null; source: string | null };
type ObjectPage = { scope: ArchiveScope; after: string | null; limit: number };

export type HoldingObject = { objectId: string; source: string; key: string; sha256: string; ids: string[] };

const HOLDING = `o.id as "objectId", o.source, o.key, o.sha256, array_agg(a.id::text order by a.id) as ids`;

/** The objects that hold these events, those of sources that the viewer does not see left out. */
export async function objectsOf(db: Queryable, viewer: Viewer, ids: readonly string[]): Promise<HoldingObject[]> {
  return db.query<HoldingObject>(
    `select ${HOLDING} from archived_events a join archive_objects o on o.id = a.object_id
      where a.id = any($1::uuid[]) and ($2::text[] is null or o.source = any($2))
      group by o.id order by o.id`,
    [ids, sourceScope(viewer)],
  );
}

/** `$1` to `$5` of `scopeValues`. */
const IN_SCOPE = `($1::text[] is null or o.source = any($1)) and ($2::uuid is null or o.operation_id = $2)
  and ($3::text is null or o.source = $3) and ($4::uuid is null or o.id > $4)
  and ($5::date is null or o.day = $5)`;

function scopeValues(viewer: Viewer, { scope: { operation, day, source }, after, limit }: ObjectPage): unknown[] {
  return [sourceScope(viewer), operation, source, after, day, limit];
}

/** Objects with archived events, the oldest first. Of each the archived events that are in the scope. */
export async function holdingObjects(db: Queryable, viewer: Viewer, page: ObjectPage): Promise<HoldingObject[]> {
  return db.query<HoldingObject>(
    `select ${HOLDING} from archive_objects o join archived_events a on a.object_id = o.id
      where ${IN_SCOPE}
      group by o.id order by o.id limit $6`,
    scopeValues(viewer, page),
  );
}

export type NamedSet = {
  objectId: string;
  key: string;
  events: number;
  sha256: string;
  parquetSha256: string;
  manifestSha256: string;
};

/** Objects, the oldest first, also those whose events were all restored. */
export async function namedSets(db: Queryable, viewer: Viewer, page: ObjectPage): Promise<NamedSet[]> {
  return db.query<NamedSet>(
    `select o.id as "objectId", o.key, o.events, o.sha256, o.parquet_sha256 as "parquetSha256",
            o.manifest_sha256 as "manifestSha256"
       from archive_objects o
      where ${IN_SCOPE}
      order by o.id limit $6`,
    scopeValues(viewer, page),
  );
}
