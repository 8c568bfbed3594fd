import { keyOf } from "@/lib/intake/event-keys.write";
import type { StoredPart } from "@/lib/intake/stored-state.shapes";
import type { NamedAggregate } from "@/lib/keep/removal/reported-versions.write";
import type { Tx } from "@/lib/platform/database/db";
import { idSpan } from "@/lib/platform/database/id-span";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import { quietWindowOf } from "@/lib/redrive/confirm/confirm-quiet.write";
import { EVENT_STATUSES, type EventStatus, isParked, PARKED_AS } from "@/lib/states/event-state.pure";
import type { FlowKind } from "@/lib/states/flow.pure";
import { EVENT } from "@/lib/states/state.sql";

export type Restoring = { id: string; sourceId: string; letter: DeadLetter; stored: StoredPart };

/** The redrive that had it is not restored with it. */
function statusRestored(status: EventStatus): EventStatus {
  return status === "QUEUED" ? PARKED_AS : status;
}

/** Of these ids, those that events of the store have, each with the key of its event (`keyOf`). */
export async function storedKeys(tx: Tx, ids: readonly string[]): Promise<Map<string, string>> {
  const rows = await tx.query<{ id: string; sourceId: string; eventId: string; producer: string }>(
    `select id, source_id as "sourceId", event_id as "eventId", producer from dlq_events
      where id = any($1::uuid[]) and id between $2 and $3`,
    [ids, ...idSpan(ids)],
    { name: "stored-keys" },
  );
  return new Map(rows.map(({ id, sourceId, eventId, producer }) => [id, keyOf(sourceId, eventId, producer)]));
}

/** Of these ids, those of events that lie in the archive. `lock`: nobody else takes them out of it before the transaction ends. */
export async function archivedAmong(tx: Tx, ids: readonly string[], { lock = false } = {}): Promise<Set<string>> {
  const rows = await tx.query<{ id: string }>(
    `select id from archived_events where id = any($1::uuid[])${lock ? " order by id for update" : ""}`,
    [ids],
    { name: lock ? "lock-archived" : "archived-among" },
  );
  return new Set(rows.map(({ id }) => id));
}

/** These events are in the store again. Returns their aggregates. */
export async function forgetArchived(tx: Tx, ids: readonly string[]): Promise<NamedAggregate[]> {
  return tx.query<NamedAggregate>(
    `delete from archived_events where id = any($1::uuid[])
     returning source_id as "sourceId", aggregate_type as "aggregateType", aggregate_id as "aggregateId"`,
    [ids],
    { name: "forget-archived" },
  );
}

const time = (name: string) => `(g.doc->>'${name}')::timestamptz`;
const number = (name: string) => `(g.doc->>'${name}')::int`;
const json = (value: string) => `nullif(${value}, 'null')`;

const GIVEN = `unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::text[],
    $9::jsonb[], $10::jsonb[], $11::text[], $12::text[], $13::text[], $14::bytea[], $15::text[], $16::jsonb[], $17::jsonb[],
    $18::text[], $19::text[], $20::int[], $22::text[])
  as g(id, source_id, event_id, aggregate_type, aggregate_id, version, error_code, status, doc, origin, error_type,
       error_message, error_detail, payload, content_type, headers, tags, event_type, trace_id, payload_bytes, producer)`;

/** Stores events with all their rows. Rejects with SQLSTATE 23514 when a day has no partition. `archived`: their redrive still counts them. */
export async function insertRestored(
  tx: Tx,
  events: readonly Restoring[],
  { archived }: { archived: boolean },
): Promise<void> {
  const letters = events.map(({ letter }) => letter);
  await tx.run(
    `with given as materialized (select * from ${GIVEN}),
     events as (
       insert into dlq_events
         (id, source_id, event_id, aggregate_type, aggregate_id, version, error_code, fingerprint, first_seen, status,
          attempts, bounces, redrives, failures, last_attempt_at, redrive_at, confirmed_at, cooldown_until,
          last_operator, bounced_redrives, confirmed_redrive, admission, revision, producer)
       select g.id, g.source_id, g.event_id, g.aggregate_type, g.aggregate_id, g.version, g.error_code,
              g.doc->>'fingerprint', ${time("firstSeen")}, g.status, ${number("attempts")}, ${number("bounces")},
              ${number("redrives")}, ${number("failures")}, ${time("lastAttemptAt")}, ${time("redriveAt")},
              ${time("confirmedAt")}, ${time("cooldownUntil")}, g.doc->>'lastOperator',
              case when ${json("g.doc->'bouncedRedrives'")} is not null
                   then array(select jsonb_array_elements_text(g.doc->'bouncedRedrives'))::uuid[] end,
              case when $21 then (g.doc->>'confirmedRedrive')::uuid end, g.doc->>'admission', ${number("revision")}, g.producer
         from given g
       returning id, status, redrive_at, confirmed_at)${quietWindowOf("events", `status = ${EVENT.REDRIVEN} and confirmed_at is null`, "redrive_at")},
     facts as (
       insert into dlq_event_facts
         (id, aggregate_id, event_type, trace_id, failed_at, first_failed_at, last_error_code, last_error, payload_bytes, tags)
       select g.id, g.aggregate_id, g.event_type, g.trace_id, ${time("failedAt")}, ${time("firstFailedAt")},
              g.doc->>'lastErrorCode', g.doc->>'lastError', g.payload_bytes, g.tags
         from given g),
     revisions as (
       insert into event_revisions
         (id, revision, cause, base, bounce, actor, reason, at, patch, operation_id, payload, hash, content_type, headers, origin)
       select g.id, (r->>'revision')::int, r->>'cause', (r->>'base')::int, (r->>'bounce')::int, r->>'actor',
              r->>'reason', (r->>'at')::timestamptz, ${json("r->'patch'")}, (r->>'operationId')::uuid,
              decode(r->>'payloadBase64', 'base64'), sha256(decode(r->>'payloadBase64', 'base64')), r->>'contentType', r->'headers', ${json("r->'origin'")}
         from given g cross join lateral jsonb_array_elements(g.doc->'revisions') r),
     bounces as (
       insert into event_bounces
         (id, bounce, at, redrive_id, sent, error_code, error_type, error_message, error_detail, headers, origin, admission)
       select g.id, (n->>'bounce')::int, (n->>'at')::timestamptz, (n->>'redriveId')::uuid, (n->>'sent')::int, coalesce(n->>'errorCode', g.error_code),
              n->'error'->>'type', n->'error'->>'message', n->'error'->>'stack', n->'headers', n->'origin', ${json("n->'admitted'")}
         from given g cross join lateral jsonb_array_elements(g.doc->'bounced') n)
     insert into dlq_event_bodies
       (id, payload, content_type, headers, error_type, error_message, error_detail, origin, admission)
     select g.id, g.payload, g.content_type, g.headers, g.error_type, g.error_message, g.error_detail, g.origin,
            ${json("g.doc->'admitted'")}
       from given g`,
    [
      events.map(({ id }) => id),
      events.map(({ sourceId }) => sourceId),
      letters.map(({ eventId }) => eventId),
      letters.map(({ aggregateType }) => aggregateType),
      letters.map(({ aggregateId }) => aggregateId),
      letters.map(({ version }) => version?.toString() ?? null),
      letters.map(({ errorCode }) => errorCode),
      events.map(({ stored }) => statusRestored(stored.state.status)),
      events.map(({ stored }) => stored.text),
      events.map(({ stored }) => stored.originText),
      letters.map(({ error }) => error.type),
      letters.map(({ error }) => error.message),
      letters.map(({ error }) => error.stack),
      letters.map(({ payload }) => bytesOf(payload)),
      letters.map(({ contentType }) => contentType),
      letters.map(({ headers }) => JSON.stringify(headers)),
      letters.map(({ tags }) => JSON.stringify(tags)),
      letters.map(({ eventType }) => eventType),
      letters.map(({ traceId }) => traceId),
      events.map(payloadBytesOf),
      archived,
      letters.map(({ producer }) => producer ?? ""),
    ],
    { name: "insert-restored" },
  );
}

/** The driver writes a Buffer as bytes, and other arrays of bytes as JSON. */
function bytesOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Of the current revision. */
export function payloadBytesOf({ letter, stored }: Pick<Restoring, "letter" | "stored">): number {
  const current = stored.state.revisions.find(({ revision }) => revision === stored.state.revision);
  return current === undefined ? letter.payload.byteLength : Buffer.from(current.payloadBase64, "base64").byteLength;
}

/** The groups of these events, where they are not stored. */
export async function insertRestoredGroups(tx: Tx, events: readonly Restoring[]): Promise<void> {
  const byFingerprint = new Map(events.map((event) => [event.stored.state.fingerprint, event]));
  const groups = [...byFingerprint].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, event]) => event);
  await tx.run(
    `insert into dlq_groups
       (fingerprint, error_code, exception_type, message_pattern, first_frame, sample_event, first_seen, last_seen)
     select fingerprint, error_code, exception_type, pattern, frame, sample, at, at
       from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::uuid[], $7::timestamptz[])
              as g (fingerprint, error_code, exception_type, pattern, frame, sample, at)
     on conflict (fingerprint) do update set first_seen = least(dlq_groups.first_seen, excluded.first_seen)`,
    [
      groups.map(({ stored }) => stored.state.fingerprint),
      groups.map(({ letter }) => letter.errorCode),
      groups.map(({ stored, letter }) => stored.state.group?.exceptionType ?? letter.error.type),
      groups.map(({ stored, letter }) => stored.state.group?.pattern ?? letter.error.message ?? ""),
      groups.map(({ stored }) => stored.state.group?.firstFrame ?? null),
      groups.map(({ id }) => id),
      groups.map(({ stored }) => stored.state.firstSeen),
    ],
    { name: "insert-restored-groups" },
  );
}

/**
 * The counters of the events: each counts in its status and hour. One that is parked came in now, or, where it expired before and
 * comes back from the archive, is released; of one that is not, the store has counted neither coming nor going.
 */
export async function countRestored(
  tx: Tx,
  events: readonly Restoring[],
  { nowMs, archived }: { nowMs: number; archived: boolean },
): Promise<void> {
  await tx.run(
    `with restored as (
       select * from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::boolean[])
         as r (source_id, error_code, fingerprint, status, first_seen, parked)),
     levels as (
       insert into dlq_levels (source_id, error_code, status, hour, n)
       select source_id, error_code, status, date_trunc('hour', first_seen, 'UTC'), count(*)
         from restored group by 1, 2, 3, 4),
     group_levels as (
       insert into dlq_group_levels (fingerprint, source_id, status, n)
       select fingerprint, source_id, status, count(*) from restored group by 1, 2, 3)
     insert into dlq_flow (minute, source_id, error_code, fingerprint, kind, n)
     select date_trunc('minute', to_timestamp($7::float8 / 1000), 'UTC'), source_id, error_code, fingerprint, $8,
            count(*)
       from restored where parked group by source_id, error_code, fingerprint`,
    [
      events.map(({ sourceId }) => sourceId),
      events.map(({ letter }) => letter.errorCode),
      events.map(({ stored }) => stored.state.fingerprint),
      events.map(({ stored }) => statusRestored(stored.state.status)),
      events.map(({ stored }) => stored.state.firstSeen),
      events.map(({ stored }) => isParked(statusRestored(stored.state.status))),
      nowMs,
      (archived ? "released" : "parked") satisfies FlowKind,
    ],
    { name: "count-restored" },
  );
}

export function statusesOf(events: readonly Restoring[]): Partial<Record<EventStatus, number>> {
  const counts = Map.groupBy(events, ({ stored }) => statusRestored(stored.state.status));
  return Object.fromEntries(
    EVENT_STATUSES.flatMap((status) => {
      const n = counts.get(status)?.length ?? 0;
      return n === 0 ? [] : [[status, n]];
    }),
  );
}
