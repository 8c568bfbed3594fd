import type { KnownEvent } from "@/lib/core/bounce";
import type { DeadLetter } from "@/lib/core/dead-letter";
import { type EventStatus, PARKED_AS } from "@/lib/core/event-state";
import { type Fingerprint, fingerprintOf } from "@/lib/core/fingerprint";
import { flowBesideBounce } from "@/lib/core/flow";
import { errorSummary } from "@/lib/core/storable";
import type { Tx } from "@/lib/store/db";
import { EVENT, ITEM, PARKED } from "@/lib/store/state-sql";
import { CopyRows } from "@/lib/store/write/copy-binary";
import { INT4_MAX } from "@/lib/store/write/finish-items";
import { rollupOf } from "@/lib/store/write/rollup";

/** One letter to be parked, with its derived values. `id` is used when the event is new. */
export type Parking = {
  id: string;
  sourceId: string;
  letter: DeadLetter;
  group: Fingerprint;
};

export function parkingOf(id: string, sourceId: string, letter: DeadLetter): Parking {
  return { id, sourceId, letter, group: fingerprintOf(letter) };
}

/** Ids of the sources by name. The sources are locked against deletion until the transaction ends. */
export async function holdSources(tx: Tx, names: string[]): Promise<Map<string, string>> {
  const rows = await tx.query<{ id: string; name: string }>(
    "select id, name from sources where name = any($1::text[]) for key share",
    [names],
    { name: "hold-sources" },
  );
  return new Map(rows.map((row) => [row.name, row.id]));
}

/**
 * Claims the deduplication keys. Returns the ids whose key was free: exactly these events are new, even while other
 * transactions park them. Keys are claimed in one order, so that two batches wait for each other but never deadlock.
 */
export async function claimKeys(tx: Tx, parkings: Parking[]): Promise<Set<string>> {
  const sorted = [...parkings].sort(
    (a, b) => compare(a.letter.eventId, b.letter.eventId) || compare(a.sourceId, b.sourceId),
  );
  const rows = await tx.query<{ id: string }>(
    `insert into event_keys (source_id, event_id, id)
     select * from unnest($1::uuid[], $2::text[], $3::uuid[]) on conflict do nothing returning id`,
    [
      sorted.map((parking) => parking.sourceId),
      sorted.map((parking) => parking.letter.eventId),
      sorted.map((parking) => parking.id),
    ],
    { name: "claim-keys" },
  );
  return new Set(rows.map((row) => row.id));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

const EVENT_COLUMNS = [
  ...["id", "source_id", "event_id", "aggregate_type", "aggregate_id", "version", "error_code", "fingerprint"],
  ...["first_seen", "status", "attempts", "last_attempt_at"],
];
const FACT_COLUMNS = [
  ...["id", "aggregate_id", "event_type", "trace_id", "failed_at", "last_error_code", "last_error", "payload_bytes"],
  "tags",
];
const BODY_COLUMNS = [
  "id",
  "payload",
  "content_type",
  "headers",
  "error_type",
  "error_message",
  "error_detail",
  "origin",
];

/**
 * Stores new events with their bodies, groups and counters. `nowMs` is when they are parked: the time within their ids.
 * Rejects with SQLSTATE 23514 when the day has no partition.
 */
export async function insertEvents(tx: Tx, parkings: Parking[], nowMs: number): Promise<void> {
  if (parkings.length === 0) return;
  await copyRows(tx, COPY_EVENTS, encodeEvents(parkings, nowMs));
  await copyRows(tx, COPY_FACTS, encodeFacts(parkings));
  await copyRows(tx, COPY_BODIES, encodeBodies(parkings));
  await countParked(tx, parkings, nowMs);
  await touchGroups(tx, parkings, nowMs);
}

export const COPY_EVENTS = `copy dlq_events (${EVENT_COLUMNS}) from stdin (format binary)`;
export const COPY_FACTS = `copy dlq_event_facts (${FACT_COLUMNS}) from stdin (format binary)`;
export const COPY_BODIES = `copy dlq_event_bodies (${BODY_COLUMNS}) from stdin (format binary)`;

/** After a failure the chunks are not reused: the broken connection may still hold them. */
async function copyRows(tx: Tx, text: string, rows: CopyRows): Promise<void> {
  await tx.copyIn(text, rows.end());
  rows.release();
}

export function encodeEvents(parkings: readonly Parking[], nowMs: number): CopyRows {
  const rows = new CopyRows(EVENT_COLUMNS.length);
  for (const parking of parkings) addEvent(rows, parking, nowMs);
  return rows;
}

export function encodeFacts(parkings: readonly Parking[]): CopyRows {
  const rows = new CopyRows(FACT_COLUMNS.length);
  for (const parking of parkings) addFacts(rows, parking);
  return rows;
}

export function encodeBodies(parkings: readonly Parking[]): CopyRows {
  const rows = new CopyRows(BODY_COLUMNS.length);
  for (const parking of parkings) addBody(rows, parking);
  return rows;
}

function addEvent(rows: CopyRows, { id, sourceId, letter, group }: Parking, nowMs: number): void {
  rows
    .row()
    .uuid(id)
    .uuid(sourceId)
    .text(letter.eventId)
    .text(letter.aggregateType)
    .text(letter.aggregateId)
    .int8(letter.version)
    .text(letter.errorCode)
    .text(group.fingerprint)
    .timestamp(nowMs)
    .text(PARKED_AS)
    .int4(letter.attempts)
    .timestamp(letter.failedAtMs);
}

function addFacts(rows: CopyRows, { id, letter }: Parking): void {
  rows
    .row()
    .uuid(id)
    .text(letter.aggregateId)
    .text(letter.eventType)
    .text(letter.traceId)
    .timestamp(letter.failedAtMs)
    .text(letter.errorCode)
    .text(errorSummary(letter.error))
    .int4(letter.payload.byteLength)
    .jsonb(JSON.stringify(letter.tags));
}

function addBody(rows: CopyRows, { id, letter }: Parking): void {
  rows
    .row()
    .uuid(id)
    .bytea(letter.payload)
    .text(letter.contentType)
    .jsonb(JSON.stringify(letter.headers))
    .text(letter.error.type)
    .text(letter.error.message)
    .text(letter.error.stack)
    .jsonb(JSON.stringify(letter.origin));
}

/** The counters of new events, summed here and not by the server: a batch has few groups, and the rows are new. */
async function countParked(tx: Tx, parkings: Parking[], nowMs: number): Promise<void> {
  const counts = new Map<string, { sourceId: string; errorCode: string; fingerprint: string; n: number }>();
  for (const { sourceId, letter, group } of parkings) {
    const key = `${sourceId}${group.fingerprint}${letter.errorCode}`;
    const count = counts.get(key);
    if (count) count.n++;
    else counts.set(key, { sourceId, errorCode: letter.errorCode, fingerprint: group.fingerprint, n: 1 });
  }
  const rows = [...counts.values()];
  await tx.run(
    `with parked as (select * from unnest($1::uuid[], $2::text[], $3::text[], $4::bigint[])
                       as p (source_id, error_code, fingerprint, n)),
     levels as (
       insert into dlq_levels (source_id, error_code, status, hour, n)
       select source_id, error_code, ${EVENT[PARKED_AS]}, date_trunc('hour', to_timestamp($5::float8 / 1000), 'UTC'), sum(n)
         from parked group by source_id, error_code),
     group_levels as (
       insert into dlq_group_levels (fingerprint, source_id, status, n)
       select fingerprint, source_id, ${EVENT[PARKED_AS]}, sum(n) from parked group by fingerprint, source_id)
     insert into dlq_flow (minute, source_id, error_code, fingerprint, kind, n)
     select date_trunc('minute', to_timestamp($5::float8 / 1000), 'UTC'), source_id, error_code, fingerprint, 'parked', n
       from parked`,
    [
      rows.map((row) => row.sourceId),
      rows.map((row) => row.errorCode),
      rows.map((row) => row.fingerprint),
      rows.map((row) => row.n),
      nowMs,
    ],
    { name: "count-parked" },
  );
}

/**
 * Maximum age of a group's `last_seen`. Otherwise every batch of a storm would wait for the batch before it at the same
 * few rows.
 */
const GROUP_STALE_MS = 5_000;

/** Stores the groups of these events, and keeps their `last_seen` and sample recent. */
export async function touchGroups(tx: Tx, parkings: Parking[], nowMs: number): Promise<void> {
  const groups = new Map(parkings.map((parking) => [parking.group.fingerprint, parking]));
  const fresh = await tx.query<{ fingerprint: string }>(
    `select fingerprint from dlq_groups
      where fingerprint = any($1::text[]) and last_seen > to_timestamp($2::float8 / 1000)`,
    [[...groups.keys()], nowMs - GROUP_STALE_MS],
    { name: "fresh-groups" },
  );
  for (const { fingerprint } of fresh) groups.delete(fingerprint);
  if (groups.size === 0) return;
  const stale = [...groups.values()].sort((a, b) => compare(a.group.fingerprint, b.group.fingerprint));
  await tx.run(
    `insert into dlq_groups
       (fingerprint, error_code, exception_type, message_pattern, first_frame, sample_event, first_seen, last_seen)
     select fingerprint, error_code, exception_type, pattern, frame, sample, at, at
       from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::uuid[])
              as g (fingerprint, error_code, exception_type, pattern, frame, sample),
            to_timestamp($7::float8 / 1000) as at
     on conflict (fingerprint) do update
       set last_seen = greatest(dlq_groups.last_seen, excluded.last_seen), sample_event = excluded.sample_event`,
    [
      stale.map((parking) => parking.group.fingerprint),
      stale.map((parking) => parking.letter.errorCode),
      stale.map((parking) => parking.group.exceptionType),
      stale.map((parking) => parking.group.pattern),
      stale.map((parking) => parking.group.firstFrame),
      stale.map((parking) => parking.id),
      nowMs,
    ],
    { name: "touch-groups" },
  );
}

/** A stored event whose key is the key of an arrival. */
export type StoredEvent = KnownEvent & {
  id: string;
  sourceId: string;
  eventId: string;
  errorCode: string;
  fingerprint: string;
  aggregateType: string | null;
  aggregateId: string | null;
  attempts: number;
  bounces: number;
  failures: number;
  confirmed: boolean;
  /** The redrive that counts the event as confirmed. */
  confirmedRedrive: string | null;
  /** Redrives in which the event's item ended as failed. */
  failedRedrives: string[];
};

/**
 * The stored events of these keys. A key whose event has left the store (retention) has none: its letter is new again,
 * see `reviveKeys`.
 */
export async function findKnown(tx: Tx, parkings: Parking[]): Promise<StoredEvent[]> {
  return tx.query<StoredEvent>(
    `select e.id, e.source_id as "sourceId", e.event_id as "eventId", e.error_code as "errorCode", e.fingerprint,
            e.aggregate_type as "aggregateType", e.aggregate_id as "aggregateId", e.attempts, e.bounces, e.failures,
            e.confirmed_at is not null as confirmed, e.confirmed_redrive as "confirmedRedrive",
            e.status, e.redrives, coalesce(e.bounced_redrives, '{}') as "bouncedRedrives",
            array(select i.redrive_id from redrive_items i where i.id = e.id and i.state = ${ITEM.failed}) as "failedRedrives",
            (select i.redrive_id from redrive_items i
              where i.id = e.id and i.state = ${ITEM.open}
                and exists (select 1 from redrive_attempts t where t.id = i.id and t.redrive_id = i.redrive_id))
              as "sendingRedrive",
            (select i.redrive_id from redrive_items i where i.id = e.id and i.state = ${ITEM.delivered}
              order by i.finished_at desc limit 1) as "deliveredRedrive"
       from unnest($1::uuid[], $2::text[]) as w (source_id, event_id)
       join event_keys k on k.event_id = w.event_id and k.source_id = w.source_id
       join dlq_events e on e.id = k.id`,
    [parkings.map((parking) => parking.sourceId), parkings.map((parking) => parking.letter.eventId)],
    { name: "find-known" },
  );
}

/** Assigns keys whose event no longer exists to the given ids. Returns the ids that now hold their key. */
export async function reviveKeys(tx: Tx, parkings: Parking[]): Promise<Set<string>> {
  const rows = await tx.query<{ id: string }>(
    `update event_keys k set id = w.id from unnest($1::uuid[], $2::text[], $3::uuid[]) as w (source_id, event_id, id)
      where k.event_id = w.event_id and k.source_id = w.source_id
        and not exists (select 1 from dlq_events e where e.id = k.id)
     returning k.id`,
    [
      parkings.map((parking) => parking.sourceId),
      parkings.map((parking) => parking.letter.eventId),
      parkings.map((parking) => parking.id),
    ],
    { name: "revive-keys" },
  );
  return new Set(rows.map((row) => row.id));
}

/** The stored redrives among these: a mark of any other redrive is not ours. */
export async function knownRedrives(tx: Tx, ids: string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await tx.query<{ id: string }>("select id from redrives where id = any($1::uuid[])", [ids], {
    name: "known-redrives",
  });
  return new Set(rows.map((row) => row.id));
}

/**
 * Counts the kinds of flow beside `bounced` (see `flowBesideBounce`), each under the error code and group that it
 * belongs to:
 * - an event that had not left the parked events (its send had counted as failed, or is not committed yet) leaves them
 *   now: under its old error;
 * - an event that was ignored meanwhile leaves and is not parked again: both under the new error;
 * - an event that came back at the redrive limit is ignored at once;
 * - an event that was confirmed no longer is: under the error that it was confirmed with.
 */
const BOUNCE_FLOW = `, moved_beside as (
  insert into dlq_flow (minute, source_id, error_code, fingerprint, kind, n)
  select date_trunc('minute', to_timestamp($12::float8 / 1000), 'UTC'), source_id, code, print, kind, count(*)
    from (select source_id,
                 case when old_status in ${PARKED} or kind = 'unconfirmed' then old_error_code else error_code end as code,
                 case when old_status in ${PARKED} or kind = 'unconfirmed' then old_fingerprint else fingerprint end as print,
                 kind
            from moved cross join lateral unnest(string_to_array(beside, ',')) as kind) beside
   group by source_id, code, print, kind
)`;

/** `counts`: the bounce is a failure that is not counted yet. `cooldownMs` runs from now, by the store's clock. */
export type Bounce = {
  found: StoredEvent;
  parking: Parking;
  status: EventStatus;
  redriveId: string | null;
  counts: boolean;
  cooldownMs: number;
};

/**
 * Records bounces by compare-and-set on the values that were read, with counters. Returns the ids that it moved;
 * another transaction has changed the others, and they must be read again.
 */
export async function recordBounces(tx: Tx, bounces: Bounce[], nowMs: number): Promise<Set<string>> {
  const column = <T>(of: (bounce: Bounce) => T) => bounces.map(of);
  const rows = await tx.query<{ id: string }>(
    `with moved as (
       update dlq_events e set
         status = w.status, bounces = e.bounces + 1, attempts = least(e.attempts::bigint + w.attempts, ${INT4_MAX}),
         error_code = w.error_code, fingerprint = w.fingerprint,
         last_attempt_at = to_timestamp(coalesce(w.failed_at, $12::float8) / 1000), confirmed_at = null, confirmed_redrive = null,
         bounced_redrives = case when w.redrive is null then e.bounced_redrives
                                 else e.bounced_redrives || w.redrive end,
         failures = e.failures + w.failed,
         cooldown_until = greatest(e.cooldown_until, now() + make_interval(secs => w.cooldown_ms / 1000))
       from unnest($1::uuid[], $2::text[], $3::text[], $4::int[], $5::uuid[], $6::text[], $7::text[], $8::text[],
                   $9::text[], $10::int[], $11::float8[], $13::int[], $14::float8[], $15::text[], $16::boolean[])
         as w (id, old_status, status, old_bounces, redrive, old_error_code, error_code, old_fingerprint, fingerprint,
               attempts, failed_at, failed, cooldown_ms, beside, confirmed)
       where e.id = w.id and e.status = w.old_status and e.bounces = w.old_bounces
         and (e.confirmed_at is not null) = w.confirmed
       returning e.id, e.source_id, e.error_code, e.fingerprint, e.first_seen, w.old_status,
                 e.status as new_status, w.old_error_code, w.old_fingerprint, w.beside
     )${rollupOf("moved", { flow: { kinds: "'{bounced}'::text[]", at: "to_timestamp($12::float8 / 1000)" }, regrouped: true })}${BOUNCE_FLOW}
     select id from moved`,
    [
      column(({ found }) => found.id),
      column(({ found }) => found.status),
      column(({ status }) => status),
      column(({ found }) => found.bounces),
      column(({ redriveId }) => redriveId),
      column(({ found }) => found.errorCode),
      column(({ parking }) => parking.letter.errorCode),
      column(({ found }) => found.fingerprint),
      column(({ parking }) => parking.group.fingerprint),
      column(({ parking }) => parking.letter.attempts),
      column(({ parking }) => parking.letter.failedAtMs),
      nowMs,
      column(({ counts }) => (counts ? 1 : 0)),
      column(({ counts, cooldownMs }) => (counts ? cooldownMs : null)),
      column(({ found, status }) => flowBesideBounce(found.status, status, found.confirmed).join()),
      column(({ found }) => found.confirmed),
    ],
    { name: "record-bounces" },
  );
  const moved = new Set(rows.map((row) => row.id));
  await updateFacts(
    tx,
    bounces.filter(({ found }) => moved.has(found.id)),
  );
  return moved;
}

async function updateFacts(tx: Tx, bounces: Bounce[]): Promise<void> {
  if (bounces.length === 0) return;
  const column = <T>(of: (letter: DeadLetter) => T) => bounces.map(({ parking }) => of(parking.letter));
  await tx.run(
    `update dlq_event_facts f
        set last_error_code = w.error_code, last_error = w.error, payload_bytes = w.payload_bytes,
            failed_at = coalesce(to_timestamp(w.failed_at / 1000), f.failed_at)
       from unnest($1::uuid[], $2::text[], $3::text[], $4::int[], $5::float8[])
         as w (id, error_code, error, payload_bytes, failed_at)
      where f.id = w.id`,
    [
      bounces.map(({ found }) => found.id),
      column((letter) => letter.errorCode),
      column((letter) => errorSummary(letter.error)),
      column((letter) => letter.payload.byteLength),
      column((letter) => letter.failedAtMs),
    ],
    { name: "update-facts" },
  );
}

/**
 * Updates the bodies of bounced events: always the error, payload and content type only when they differ from the
 * stored ones. Headers and origin stay those of the first arrival, because a redrive sends there. Returns the ids whose
 * payload was replaced.
 */
export async function updateBodies(tx: Tx, bounces: Bounce[]): Promise<Set<string>> {
  const ids = bounces.map(({ found }) => found.id);
  const payloads = bounces.map(({ parking }) => Buffer.from(parking.letter.payload));
  await tx.run(
    `update dlq_event_bodies b set error_type = w.type, error_message = w.message, error_detail = w.stack
       from unnest($1::uuid[], $2::text[], $3::text[], $4::text[]) as w (id, type, message, stack) where b.id = w.id`,
    [
      ids,
      bounces.map(({ parking }) => parking.letter.error.type),
      bounces.map(({ parking }) => parking.letter.error.message),
      bounces.map(({ parking }) => parking.letter.error.stack),
    ],
    { name: "update-body-errors" },
  );
  const rows = await tx.query<{ id: string }>(
    `update dlq_event_bodies b set payload = w.payload, content_type = w.content_type
       from unnest($1::uuid[], $2::bytea[], $3::text[]) as w (id, payload, content_type)
      where b.id = w.id and b.payload <> w.payload returning b.id`,
    [ids, payloads, bounces.map(({ parking }) => parking.letter.contentType)],
    { name: "update-payloads" },
  );
  return new Set(rows.map((row) => row.id));
}

/** Bounces of one redrive; `sampled` of them were delivered since it last started or resumed. */
export type RedriveBounces = { redriveId: string; sampled: number };

/**
 * For each redrive, counts its deliveries that came back, and subtracts the confirmations that it had counted of them.
 * The redrives are locked in one order: see `claimKeys`.
 */
export async function countBounces(tx: Tx, bounces: Bounce[]): Promise<RedriveBounces[]> {
  const bounced = Map.groupBy(bounces, ({ redriveId }) => redriveId);
  const confirmed = Map.groupBy(bounces, ({ found }) => found.confirmedRedrive);
  const redriveIds = new Set([...bounced.keys(), ...confirmed.keys()].filter((id) => id !== null));
  const counted: RedriveBounces[] = [];
  for (const redriveId of [...redriveIds].sort(compare)) {
    const ids = (bounced.get(redriveId) ?? []).map(({ found }) => found.id);
    const [row] = await tx.query<{ sampled: number }>(
      `update redrives r set bounced = bounced + cardinality($2::uuid[]), confirmed = confirmed - $3
        where id = $1
       returning (select count(*) from redrive_items i
                   where i.id = any($2::uuid[]) and i.redrive_id = r.id and i.state = ${ITEM.delivered}
                     and i.finished_at >= r.sampled_from) as sampled`,
      [redriveId, ids, confirmed.get(redriveId)?.length ?? 0],
      { name: "count-bounces" },
    );
    if (row) counted.push({ redriveId, sampled: Number(row.sampled) });
  }
  return counted;
}
