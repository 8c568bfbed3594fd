import type { Tx } from "@/lib/platform/database/db";

/** What a bounce brought; `sent`: the revision that came back with it. */
type Brought = { id: string; revision: number; sent: number; bounce: number; payload: Uint8Array; contentType: string };

type StoredBrought = { id: string; revision: number; sent: number; bytes: number };

/** Stores as revisions the bytes that differ from those that were sent. PostgreSQL compares them. */
export async function storeBrought(
  tx: Tx,
  brought: readonly Brought[],
  { actor, nowMs }: { actor: string; nowMs: number },
): Promise<StoredBrought[]> {
  const column = <T>(of: (row: Brought) => T) => brought.map(of);
  return tx.query<StoredBrought>(
    // The headers of a bounce carry the marks of its failure: the revision is sent with those that were sent before.
    `with compared as materialized (
       select w.*, coalesce(r.headers, b.headers) as headers,
              coalesce(r.payload, b.payload) <> w.payload or coalesce(r.content_type, b.content_type) <> w.content_type as differs
         from unnest($1::uuid[], $2::int[], $3::int[], $4::bytea[], $5::text[], $8::int[])
                as w (id, sent, bounce, payload, content_type, revision)
         join dlq_event_bodies b on b.id = w.id
         left join event_revisions r on r.id = b.id and r.revision = w.sent)
     insert into event_revisions (id, revision, cause, base, bounce, actor, at, payload, content_type, headers)
     select id, revision, 'bounce', sent, bounce, $6, to_timestamp($7::float8 / 1000), payload, content_type, headers
       from compared where differs
     returning id, revision, base as sent, octet_length(payload) as bytes`,
    [
      column(({ id }) => id),
      column(({ sent }) => sent),
      column(({ bounce }) => bounce),
      column(({ payload }) => Buffer.from(payload)),
      column(({ contentType }) => contentType),
      actor,
      nowMs,
      column(({ revision }) => revision),
    ],
    { name: "store-brought-revisions" },
  );
}
