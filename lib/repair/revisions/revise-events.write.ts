import { createHash } from "node:crypto";
import { followLines } from "@/lib/order/lines.write";
import { CopyRows } from "@/lib/platform/database/copy-binary";
import type { Tx } from "@/lib/platform/database/db";
import type { Header } from "@/lib/platform/plain/dead-letter.pure";
import { INT4_MAX, storableJsonText } from "@/lib/platform/plain/storable.pure";
import { REVISABLE_STATUSES, type RevisionRefusal } from "@/lib/repair/revisions/revision.pure";
import { EVENT_MOVES, type EventStatus } from "@/lib/states/event-state.pure";
import { type LockedEvent, lockEvents } from "@/lib/states/fence.write";

/** A further state of an event's bytes, made from the revision `base`. */
export type NewRevision = {
  /** The event's id. */
  id: string;
  base: number;
  payload: Uint8Array;
  contentType: string;
  headers: readonly Header[];
  /** What was asked for; null = nothing that is worth keeping. */
  patch: unknown;
};

export type Revising = {
  cause: "edit" | "mend";
  actor: string;
  reason: string | null;
  /** The bulk operation of a mend. */
  operationId: string | null;
  /** By the store's clock. */
  atMs: number;
  /** At most one for each event. */
  revisions: readonly NewRevision[];
};

/** What became of one event; `current` is its revision when it was refused, null = it is not stored. */
export type Revised = { id: string } & (
  | { revision: number; refusal: null }
  | { refusal: RevisionRefusal; current: number | null }
);

/**
 * Adds revisions, each of which becomes the current one of its event, by compare-and-set on the current revision (`base`).
 * A cooldown and the mark of an event that was parked early are of bytes that failed: they end. Writes no audit entry, and
 * does not compare bytes: the caller leaves out what changes nothing. Returns the outcomes in the order of `revisions`.
 */
export async function reviseEvents(tx: Tx, { revisions, ...by }: Revising): Promise<Revised[]> {
  if (revisions.length === 0) return [];
  const events = await lockEvents(
    tx,
    revisions.map(({ id }) => id),
  );
  const next = await nextRevisions(tx, [...events.keys()]);
  const outcomes = revisions.map(({ id, base }): Revised => {
    const refusal = refusalOf(events.get(id), base);
    if (refusal !== null) return { id, refusal, current: events.get(id)?.revision ?? null };
    return { id, refusal, revision: next.get(id) ?? 2 };
  });
  const rows = new CopyRows(REVISION_COLUMNS.length);
  const moves: Move[] = [];
  for (const [index, { id, base, payload, contentType, headers, patch }] of revisions.entries()) {
    const outcome = outcomes[index]!;
    if (outcome.refusal !== null) continue;
    moves.push({ id, to: outcome.revision, payloadBytes: payload.byteLength });
    rows
      .row()
      .uuid(id)
      .int4(outcome.revision)
      .text(by.cause)
      .int4(base)
      .text(by.actor)
      .text(by.reason)
      .timestamp(by.atMs)
      .jsonb(patch === null || patch === undefined ? null : storableJsonText(patch))
      .uuid(by.operationId)
      .bytea(payload)
      .bytea(bytesHash(payload))
      .text(contentType)
      .jsonb(JSON.stringify(headers));
  }
  if (moves.length === 0) return outcomes;
  await tx.copyRows([{ text: COPY_REVISIONS, rows }]);
  await tx.run(
    `update dlq_events set cooldown_until = null, admission = nullif(admission, 'early')
      where id = any($1::uuid[]) and (cooldown_until is not null or admission = 'early')`,
    [moves.map(({ id }) => id)],
  );
  await moveCurrent(tx, moves, by.actor);
  return outcomes;
}

const REVISION_COLUMNS = [
  ...["id", "revision", "cause", "base", "actor", "reason", "at", "patch", "operation_id"],
  ...["payload", "hash", "content_type", "headers"],
];
const COPY_REVISIONS = `copy event_revisions (${REVISION_COLUMNS}) from stdin (format binary)`;

/** Stored with a revision, to compare its bytes without reading them. */
export function bytesHash(payload: Uint8Array): Buffer {
  return createHash("sha256").update(payload).digest();
}

/** SQL: the revision `r` holds the bytes of `w` (`bytes` long, with this `hash`). Revisions from earlier releases are hashed here. */
export const REVISION_HOLDS_BYTES =
  "(octet_length(r.payload) = w.bytes and r.content_type = w.content_type and coalesce(r.hash, sha256(r.payload)) = w.hash)";

/** SQL: the same of the first revision, the body `b`. */
export const BODY_HOLDS_BYTES =
  "(octet_length(b.payload) = w.bytes and b.content_type = w.content_type and sha256(b.payload) = w.hash)";

/** Makes another stored revision the current one: `from` must be current. No bytes are written, and no audit entry. */
export async function setRevisions(
  tx: Tx,
  changes: readonly { id: string; from: number; to: number }[],
  actor: string,
): Promise<Revised[]> {
  if (changes.length === 0) return [];
  const events = await lockEvents(
    tx,
    changes.map(({ id }) => id),
  );
  const sizes = await payloadSizes(tx, changes);
  const outcomes = changes.map(({ id, from, to }): Revised => {
    const refusal = refusalOf(events.get(id), from) ?? (sizes.has(`${id}#${to}`) ? null : "unknown-revision");
    if (refusal !== null) return { id, refusal, current: events.get(id)?.revision ?? null };
    return { id, refusal, revision: to };
  });
  const moves = outcomes.flatMap((outcome) => {
    if (outcome.refusal !== null) return [];
    const { id, revision } = outcome;
    return [{ id, to: revision, payloadBytes: sizes.get(`${id}#${revision}`)! }];
  });
  await moveCurrent(tx, moves, actor);
  return outcomes;
}

function refusalOf(event: LockedEvent | undefined, base: number): RevisionRefusal | null {
  if (!event) return "not-found";
  if (event.status === EVENT_MOVES.freeze.to) return "event-queued";
  if (!(REVISABLE_STATUSES as readonly EventStatus[]).includes(event.status)) return "already-redriven";
  return event.revision === base ? null : "stale-revision";
}

/**
 * SQL: the number after the highest of the revisions `r`, all of one event; null = it has none. When the numbers end, the
 * highest one that nothing has used: a bounce brings its bytes whatever the numbers are.
 */
const NEXT_REVISION = `case when max(r.revision) < ${INT4_MAX} then max(r.revision) + 1 else (
    select max(u.revision) - 1 from event_revisions u
     where u.id = r.id and u.revision > 2
       and not exists (select 1 from event_revisions b where b.id = u.id and b.revision = u.revision - 1)) end`;

/** The number of the next revision. An event that was never revised is absent. */
export async function nextRevisions(tx: Tx, ids: readonly string[]): Promise<Map<string, number>> {
  const rows = await tx.query<{ id: string; next: number }>(
    `select r.id, ${NEXT_REVISION} as next from event_revisions r where r.id = any($1::uuid[]) group by r.id`,
    [ids],
  );
  return new Map(rows.map(({ id, next }) => [id, next]));
}

async function payloadSizes(
  tx: Tx,
  wanted: readonly { id: string; to: number }[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await tx.query<{ key: string; bytes: number }>(
    `select b.id || '#1' as key, octet_length(b.payload) as bytes from dlq_event_bodies b where b.id = any($1::uuid[])
     union all
     select r.id || '#' || r.revision, octet_length(r.payload) from event_revisions r where r.id = any($1::uuid[])`,
    [wanted.map(({ id }) => id)],
  );
  return new Map(rows.map(({ key, bytes }) => [key, bytes]));
}

type Move = { id: string; to: number; payloadBytes: number };

/** The events must be locked by this transaction. `actor` null = nobody acted on them. */
export async function moveCurrent(tx: Tx, moves: readonly Move[], actor: string | null): Promise<void> {
  if (moves.length === 0) return;
  const ids = moves.map(({ id }) => id);
  await tx.run(
    `update dlq_events e set revision = w.revision, last_operator = coalesce($3, e.last_operator)
       from unnest($1::uuid[], $2::int[]) as w(id, revision)
      where e.id = any($1::uuid[]) and e.id = w.id`,
    [ids, moves.map(({ to }) => to), actor],
  );
  await followLines(tx, ids);
  await tx.run(
    `update dlq_event_facts f set payload_bytes = w.bytes from unnest($1::uuid[], $2::int[]) as w(id, bytes)
      where f.id = any($1::uuid[]) and f.id = w.id and f.payload_bytes <> w.bytes`,
    [ids, moves.map(({ payloadBytes }) => payloadBytes)],
  );
}
