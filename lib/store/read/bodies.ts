import type { Header, Origin } from "@/lib/core/dead-letter";
import type { Queryable } from "@/lib/store/db";

export type EventBody = { payload: Uint8Array; contentType: string; headers: Header[]; origin: Origin };

/** Bodies by event id. The map has no entry for an id without a body. */
export async function readBodies(db: Queryable, ids: readonly string[]): Promise<Map<string, EventBody>> {
  const rows = await db.query<{
    id: string;
    payload: Buffer;
    content_type: string;
    headers: Header[];
    origin: Origin;
  }>("select id, payload, content_type, headers, origin from dlq_event_bodies where id = any($1::uuid[])", [ids], {
    name: "read-bodies",
  });
  return new Map(
    rows.map((row) => [
      row.id,
      { payload: row.payload, contentType: row.content_type, headers: row.headers, origin: row.origin },
    ]),
  );
}
