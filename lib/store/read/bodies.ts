import type { Header, Origin } from "@/lib/core/dead-letter";
import type { Queryable } from "@/lib/store/db";

export type EventBody = {
  payload: Uint8Array;
  contentType: string;
  headers: Header[];
  origin: Origin;
  eventType: string | null;
};

/** Bodies by event id. The map has no entry for an id without a body. */
export async function readBodies(db: Queryable, ids: readonly string[]): Promise<Map<string, EventBody>> {
  const rows = await db.query<{
    id: string;
    payload: Buffer;
    content_type: string;
    headers: Header[];
    origin: Origin;
    event_type: string | null;
  }>(
    `select b.id, b.payload, b.content_type, b.headers, b.origin, f.event_type
       from dlq_event_bodies b left join dlq_event_facts f on f.id = b.id and f.id = any($1::uuid[])
      where b.id = any($1::uuid[])`,
    [ids],
    { name: "read-bodies" },
  );
  return new Map(
    rows.map((row) => [
      row.id,
      {
        payload: row.payload,
        contentType: row.content_type,
        headers: row.headers,
        origin: row.origin,
        eventType: row.event_type,
      },
    ]),
  );
}
