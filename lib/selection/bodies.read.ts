import type { Queryable } from "@/lib/platform/database/db";
import { idSpan } from "@/lib/platform/database/id-span";
import type { Header, Origin } from "@/lib/platform/plain/dead-letter.pure";

export type EventBody = {
  payload: Uint8Array;
  contentType: string;
  headers: Header[];
  origin: Origin;
  eventType: string | null;
  /**
   * The event has further revisions, whichever this one is. Read only where a redrive changes the message at its place
   * (`origin.payloadMark`).
   */
  revised: boolean;
};

/**
 * SQL: joins to the event `e` the bytes that are current (`coalesce(v.payload, b.payload)`), and what its newest bounce
 * brought (`n`, see NEWEST). `b` is what arrived first.
 */
export const CURRENT_BODY = `join dlq_event_bodies b on b.id = e.id
  left join event_revisions v on v.id = b.id and v.revision = e.revision
  left join event_bounces n on n.id = b.id and n.bounce = e.bounces`;

export const CURRENT_BYTES = `coalesce(v.payload, b.payload) as payload, coalesce(v.content_type, b.content_type) as "contentType",
  coalesce(v.headers, b.headers) as headers`;

/** The newest error, and what admission did with it. */
export const NEWEST_ERROR = `case when n.id is null then b.error_type else n.error_type end as "errorType",
  case when n.id is null then b.error_message else n.error_message end as "errorMessage",
  case when n.id is null then b.error_detail else n.error_detail end as "errorStack",
  case when n.id is null then b.admission else n.admission end as record`;

type Bytes = { id: string; payload: Buffer; contentType: string; headers: Header[] };

/** The bodies of these revisions by event id. The map has no entry for a revision that is not stored. */
export async function readBodies(
  db: Queryable,
  wanted: readonly { id: string; revision: number }[],
): Promise<Map<string, EventBody>> {
  if (wanted.length === 0) return new Map();
  const ids = wanted.map(({ id }) => id);
  const rows = await db.query<Bytes & Pick<EventBody, "origin" | "eventType">>(
    `select b.id, b.payload, b.content_type as "contentType", b.headers, b.origin, f.event_type as "eventType"
       from dlq_event_bodies b left join dlq_event_facts f on f.id = b.id and f.id = any($1::uuid[]) and f.id between $2 and $3
      where b.id = any($1::uuid[]) and b.id between $2 and $3`,
    [ids, ...idSpan(ids)],
    { name: "read-bodies" },
  );
  const inPlace = rows.flatMap(({ id, origin }) => (origin.payloadMark === undefined ? [] : [id]));
  const revised = await revisedAmong(db, inPlace);
  const bodies = new Map(rows.map((body) => [body.id, bodyOf({ ...body, revised: revised.has(body.id) })]));
  const later = wanted.filter(({ revision }) => revision > 1);
  if (later.length > 0) {
    const bytes = new Map((await readRevised(db, later)).map((own) => [own.id, own]));
    for (const { id } of later) {
      const [first, own] = [bodies.get(id), bytes.get(id)];
      if (first && own) bodies.set(id, bodyOf({ ...first, ...own }));
      else bodies.delete(id);
    }
  }
  return bodies;
}

function bodyOf({ payload, contentType, headers, origin, eventType, revised }: EventBody): EventBody {
  return { payload, contentType, headers, origin, eventType, revised };
}

/** The events with further revisions. */
async function revisedAmong(db: Queryable, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await db.query<{ id: string }>(
    "select distinct id from event_revisions where id = any($1::uuid[])",
    [ids],
    { name: "revised-events" },
  );
  return new Set(rows.map(({ id }) => id));
}

/** Few events have a second revision: the bodies of all others need one statement. */
function readRevised(db: Queryable, wanted: readonly { id: string; revision: number }[]): Promise<Bytes[]> {
  return db.query<Bytes>(
    `select r.id, r.payload, r.content_type as "contentType", r.headers
       from unnest($1::uuid[], $2::int[]) as w(id, revision)
       join event_revisions r on r.id = w.id and r.revision = w.revision and r.id = any($1::uuid[])`,
    [wanted.map(({ id }) => id), wanted.map(({ revision }) => revision)],
    { name: "read-revised" },
  );
}
