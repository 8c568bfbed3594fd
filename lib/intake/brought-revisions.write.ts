import { readBodies } from "@/lib/events/bodies.read";
import type { Header } from "@/lib/intake/dead-letter.pure";
import { CopyRows } from "@/lib/platform/database/copy-binary";
import type { Tx } from "@/lib/platform/database/db";
import { bodyColumns } from "@/lib/platform/sealing/sealed-rows";

/** What a bounce brought; `sent`: the revision that came back with it. `headers`: its own. */
type Brought = {
  id: string;
  revision: number;
  sent: number;
  bounce: number;
  payload: Uint8Array;
  contentType: string;
  headers: Header[];
};

/** `comparable`: false = the bytes that were sent cannot be decrypted, so nobody knows whether these are others. */
type StoredBrought = { id: string; revision: number; sent: number; bytes: number; comparable: boolean };

/** Stores what is not the same as was sent, as revisions. */
export async function storeBrought(
  tx: Tx,
  brought: readonly Brought[],
  by: { actor: string; nowMs: number },
): Promise<StoredBrought[]> {
  if (tx.sealing.configured) return storeUnlessSameBytes(tx, brought, by);
  const found = await storeUnlessSame(tx, brought, by);
  const encrypted = new Set(found.flatMap(({ id, encrypted }) => (encrypted ? [id] : [])));
  const stored = found.filter((row) => !row.encrypted).map((row) => ({ ...row, comparable: true }));
  if (encrypted.size === 0) return stored;
  const others = brought.filter(({ id }) => encrypted.has(id));
  return [...stored, ...(await storeUnlessSameBytes(tx, others, by))];
}

/** Where bodies are encrypted, or may be: they are compared here. */
async function storeUnlessSameBytes(
  tx: Tx,
  brought: readonly Brought[],
  { actor, nowMs }: { actor: string; nowMs: number },
): Promise<StoredBrought[]> {
  if (brought.length === 0) return [];
  const bodies = await readBodies(
    tx,
    brought.map(({ id, sent: revision }) => ({ id, revision })),
  );
  const rows = new CopyRows(BROUGHT_COLUMNS.length);
  const stored: StoredBrought[] = [];
  for (const { id, revision, sent, bounce, payload, contentType, headers } of brought) {
    const body = bodies.get(id);
    if (body === undefined) continue;
    const comparable = !("fault" in body);
    if (comparable && body.contentType === contentType && Buffer.compare(body.payload, payload) === 0) continue;
    const columns = bodyColumns(
      tx.sealing,
      { id, revision },
      { payload, headers: comparable ? body.headers : headers, errorDetail: null },
    );
    rows
      .row()
      .uuid(id)
      .int4(revision)
      .text("bounce")
      .int4(sent)
      .int4(bounce)
      .text(actor)
      .timestamp(nowMs)
      .bytea(columns.payload)
      .text(contentType)
      .jsonb(columns.headers)
      .uuid(columns.dataKey)
      .bytea(columns.sealed);
    stored.push({ id, revision, sent, bytes: payload.byteLength, comparable });
  }
  if (stored.length > 0) await tx.copyIn(COPY_BROUGHT, rows.end());
  rows.release();
  return stored;
}

const BROUGHT_COLUMNS = [
  ...["id", "revision", "cause", "base", "bounce", "actor", "at", "payload", "content_type", "headers", "data_key"],
  "sealed",
];
const COPY_BROUGHT = `copy event_revisions (${BROUGHT_COLUMNS}) from stdin (format binary)`;

type Found = Omit<StoredBrought, "comparable"> & { encrypted: boolean };

/** PostgreSQL compares. Where what was sent is encrypted, it stores nothing. */
async function storeUnlessSame(
  tx: Tx,
  brought: readonly Brought[],
  { actor, nowMs }: { actor: string; nowMs: number },
): Promise<Found[]> {
  const column = <T>(of: (row: Brought) => T) => brought.map(of);
  return tx.query<Found>(
    // The headers of a bounce carry the marks of its failure: the revision is sent with those that were sent before.
    `with compared as materialized (
       select w.*, coalesce(r.headers, b.headers) as headers,
              case when r.id is null then b.data_key else r.data_key end is not null as encrypted,
              coalesce(r.payload, b.payload) <> w.payload or coalesce(r.content_type, b.content_type) <> w.content_type as differs
         from unnest($1::uuid[], $2::int[], $3::int[], $4::bytea[], $5::text[], $8::int[])
                as w (id, sent, bounce, payload, content_type, revision)
         join dlq_event_bodies b on b.id = w.id
         left join event_revisions r on r.id = b.id and r.revision = w.sent),
     stored as (
       insert into event_revisions (id, revision, cause, base, bounce, actor, at, payload, content_type, headers)
       select id, revision, 'bounce', sent, bounce, $6, to_timestamp($7::float8 / 1000), payload, content_type, headers
         from compared where differs and not encrypted
       returning id, revision, base as sent, octet_length(payload) as bytes)
     select *, false as encrypted from stored
     union all
     select id, revision, sent, octet_length(payload), true from compared where encrypted`,
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
