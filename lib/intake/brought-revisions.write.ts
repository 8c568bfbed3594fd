import type { Tx } from "@/lib/platform/database/db";
import { idSpan } from "@/lib/platform/database/id-span";
import type { DeadLetter, Header, Origin } from "@/lib/platform/plain/dead-letter.pure";
import {
  BODY_HOLDS_BYTES,
  bytesHash,
  moveCurrent,
  nextRevisions,
  REVISION_HOLDS_BYTES,
} from "@/lib/repair/revisions/revise-events.write";

/**
 * Arrivals of one id with other bytes each time, as of a producer that uses an id for everything, make no more revisions than this:
 * each one is compared with the hashes of all before it. Later ones count as duplicates.
 */
const ARRIVED_MAX = 1_000;

/** Bytes that a letter of a known event brought. */
type Brought = {
  /** The event's id. */
  id: string;
  /** The revision that they are compared with on the screen: that was sent, or the current one. */
  base: number;
  /** Whether they become what goes, once they are a revision. */
  becomes: boolean;
  /** Its row of `event_bounces`; null = it is no bounce. */
  bounce: number | null;
  letter: Pick<DeadLetter, "payload" | "contentType">;
  /** null = those of `base`. */
  headers: readonly Header[] | null;
  /** Where the letter lay, if no other row says it. */
  origin: Origin | null;
};

/** A revision that a letter brought, and whether it is the current one now. */
export type BroughtRevision = { revision: number; current: boolean };

/**
 * Stores bytes that no revision of their event has as revisions. PostgreSQL compares their hashes, under the locks of the events, which
 * the caller has: of two letters with the same bytes one makes a revision. Returns the new revisions by event.
 */
export async function keepBrought(
  tx: Tx,
  brought: readonly Brought[],
  { actor, nowMs }: { actor: string; nowMs: number },
): Promise<ReadonlyMap<string, BroughtRevision>> {
  const column = <T>(of: (row: Brought) => T) => brought.map(of);
  const ids = column(({ id }) => id);
  const next = await nextRevisions(tx, ids);
  const rows = await tx.query<{ id: string; revision: number; bytes: number }>(
    `with compared as materialized (
       select w.*, coalesce(w.given, f.headers, b.headers) as headers,
              (w.bounce is not null or w.revision <= ${ARRIVED_MAX}) and not ${BODY_HOLDS_BYTES} and not exists (
                select 1 from event_revisions r where r.id = b.id and ${REVISION_HOLDS_BYTES}) as is_new
         from unnest($1::uuid[], $2::int[], $3::int[], $4::int[], $5::bytea[], $6::text[], $7::jsonb[], $8::jsonb[], $11::int[], $12::bytea[])
                as w (id, revision, base, bounce, payload, content_type, given, origin, bytes, hash)
         join dlq_event_bodies b on b.id = w.id
         left join event_revisions f on f.id = b.id and f.revision = w.base)
     insert into event_revisions (id, revision, cause, base, bounce, actor, at, payload, hash, content_type, headers, origin)
     select id, revision, case when bounce is null then 'arrived' else 'bounce' end, base, bounce, $9,
            to_timestamp($10::float8 / 1000), payload, hash, content_type, headers, origin
       from compared where is_new
     returning id, revision, octet_length(payload) as bytes`,
    [
      ids,
      column(({ id }) => next.get(id) ?? 2),
      column(({ base }) => base),
      column(({ bounce }) => bounce),
      column(({ letter }) => Buffer.from(letter.payload)),
      column(({ letter }) => letter.contentType),
      column(({ headers }) => headers && JSON.stringify(headers)),
      column(({ origin }) => origin && JSON.stringify(origin)),
      actor,
      nowMs,
      column(({ letter }) => letter.payload.byteLength),
      column(({ letter }) => bytesHash(letter.payload)),
    ],
    { name: "keep-brought" },
  );
  const becoming = new Set(brought.flatMap(({ id, becomes }) => (becomes ? [id] : [])));
  await moveCurrent(
    tx,
    rows.flatMap(({ id, revision, bytes }) => (becoming.has(id) ? [{ id, to: revision, payloadBytes: bytes }] : [])),
    null,
  );
  return new Map(rows.map(({ id, revision }) => [id, { revision, current: becoming.has(id) }]));
}

/** `newest`: of those that arrived, with a bounce or without one. Somebody chose the current one when it is another. */
type CurrentRevision = { revision: number; newest: number };

export async function currentRevisions(tx: Tx, ids: readonly string[]): Promise<ReadonlyMap<string, CurrentRevision>> {
  const rows = await tx.query<CurrentRevision & { id: string }>(
    `select e.id, e.revision, coalesce((
              select max(r.revision) from event_revisions r where r.id = e.id and r.cause in ('arrived', 'bounce')), 1) as newest
       from dlq_events e where e.id = any($1::uuid[]) and e.id between $2 and $3`,
    [ids, ...idSpan(ids)],
    { name: "current-revisions" },
  );
  return new Map(rows.map(({ id, ...revisions }) => [id, revisions]));
}
