import { type Fingerprint, fingerprintOf } from "@/lib/events/groups/fingerprint.pure";
import { STOPS_INTAKE } from "@/lib/intake/room/room.read";
import { NO_AGGREGATE_TYPE } from "@/lib/order/aggregate.pure";
import { LAST_PLACE, PART, shardOfAggregate } from "@/lib/order/line.sql";
import { CopyRows } from "@/lib/platform/database/copy-binary";
import type { Tx } from "@/lib/platform/database/db";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import { errorSummary } from "@/lib/platform/plain/storable.pure";
import { GROUPING_VERSION } from "@/lib/selection/aliases.sql";
import type { AdmissionMark, AdmissionRecord } from "@/lib/states/admission-mark.pure";
import { PARKED_AS } from "@/lib/states/event-state.pure";
import { EVENT } from "@/lib/states/state.sql";

/** One letter to be parked, with its derived values. `id` is used when the event is new. */
export type Parking = {
  id: string;
  sourceId: string;
  letter: DeadLetter;
  group: Fingerprint;
  mark: AdmissionMark | null;
  /** null = admission did nothing to it. */
  record: AdmissionRecord | null;
};

export function parkingOf(id: string, sourceId: string, letter: DeadLetter): Parking {
  return { id, sourceId, letter, group: fingerprintOf(letter), mark: null, record: null };
}

type HeldSources = {
  /** Ids by name. */
  ids: Map<string, string>;
  /** Ids of those of which a consumer may have processed a version that was not parked. */
  processed: Set<string>;
  /** Of the admission rules; null = none of the sources is known. */
  revision: bigint | null;
  /** There is no room for events: nothing is taken in. */
  full: boolean;
  /** `stormPerMinute` by id, of the sources that have one. */
  stormLimits: Map<string, number>;
};

/** Of a batch that is parked in one transaction. */
export type ParkContext = {
  actor: string;
  nowMs: number;
  /** Ids of the sources of which a consumer may have processed versions. */
  processed: ReadonlySet<string>;
  /** Ids of the arrivals of which a newer version was processed before. */
  superseded: Set<string>;
};

/** Locks sources against deletion until the transaction ends. */
export async function holdSources(tx: Tx, names: string[]): Promise<HeldSources> {
  const rows = await tx.query<{
    id: string;
    name: string;
    processed: boolean;
    revision: string;
    full: boolean;
    storm: number | null;
  }>(
    `select s.id, s.name, s.storm_per_minute as storm, (select v.revision::text from admission_revision v) as revision,
            exists (select from intake_room where ${STOPS_INTAKE}) as "full",
            exists (select 1 from processed_events p where p.source_id = s.id and p.aggregate_id is not null)
              or exists (select 1 from aggregates) as processed
       from sources s where s.name = any($1::text[]) for key share of s`,
    [names],
    { name: "hold-sources" },
  );
  const [first] = rows;
  return {
    ids: new Map(rows.map(({ name, id }) => [name, id])),
    processed: new Set(rows.flatMap(({ id, processed }) => (processed ? [id] : []))),
    revision: first ? BigInt(first.revision) : null,
    full: first?.full ?? false,
    stormLimits: new Map(rows.flatMap(({ id, storm }) => (storm === null ? [] : [[id, storm]]))),
  };
}

const EVENT_COLUMNS = [
  ...["id", "source_id", "event_id", "aggregate_type", "aggregate_id", "version", "error_code", "fingerprint"],
  ...["first_seen", "status", "attempts", "last_attempt_at", "admission", "producer"],
];
const FACT_COLUMNS = [
  ...["id", "aggregate_id", "event_type", "trace_id", "failed_at", "last_error_code", "last_error", "payload_bytes"],
  "tags",
];
const LINE_COLUMNS = ["shard", "aggregate_id", "source_id", "aggregate_type", "part", "place", "id"];
const BODY_COLUMNS = [
  "id",
  "payload",
  "content_type",
  "headers",
  "error_type",
  "error_message",
  "error_detail",
  "origin",
  "admission",
];

/**
 * Stores new events with their bodies, groups and counters. `nowMs` is when they are parked: the time within their ids.
 * Rejects with SQLSTATE 23514 when the day has no partition.
 */
export async function insertEvents(tx: Tx, parkings: readonly Parking[], nowMs: number): Promise<void> {
  if (parkings.length === 0) return;
  const ordered = parkings.filter(({ letter }) => letter.aggregateId !== null);
  await tx.copyRows([
    { text: COPY_EVENTS, rows: encodeEvents(parkings, nowMs) },
    { text: COPY_FACTS, rows: encodeFacts(parkings) },
    { text: COPY_BODIES, rows: encodeBodies(parkings) },
    ...(ordered.length > 0 ? [{ text: COPY_LINES, rows: encodeLines(ordered) }] : []),
  ]);
  await countParked(tx, parkings, nowMs);
  await touchGroups(tx, parkings, nowMs);
}

export const COPY_EVENTS = `copy dlq_events (${EVENT_COLUMNS}) from stdin (format binary)`;
export const COPY_FACTS = `copy dlq_event_facts (${FACT_COLUMNS}) from stdin (format binary)`;
export const COPY_BODIES = `copy dlq_event_bodies (${BODY_COLUMNS}) from stdin (format binary)`;
const COPY_LINES = `copy aggregate_lines (${LINE_COLUMNS}) from stdin (format binary)`;

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

/** Of events that have an aggregate. */
function encodeLines(parkings: readonly Parking[]): CopyRows {
  const rows = new CopyRows(LINE_COLUMNS.length);
  for (const { id, sourceId, letter } of parkings) {
    rows
      .row()
      .int4(shardOfAggregate(sourceId, letter.aggregateId!))
      .text(letter.aggregateId)
      .uuid(sourceId)
      .text(letter.aggregateType ?? NO_AGGREGATE_TYPE)
      .int4(PART.parked)
      .int8(letter.version ?? LAST_PLACE)
      .uuid(id);
  }
  return rows;
}

function addEvent(rows: CopyRows, { id, sourceId, letter, group, mark }: Parking, nowMs: number): void {
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
    .timestamp(letter.failedAtMs)
    .text(mark)
    .text(letter.producer ?? "");
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

function addBody(rows: CopyRows, { id, letter, record }: Parking): void {
  const { payload, headers, error } = letter;
  rows
    .row()
    .uuid(id)
    .bytea(payload)
    .text(letter.contentType)
    .jsonb(JSON.stringify(headers))
    .text(error.type)
    .text(error.message)
    .text(error.stack)
    .jsonb(JSON.stringify(letter.origin))
    .jsonb(record && JSON.stringify(record));
}

/** The counters of new events, summed here and not by the server: a batch has few groups, and the rows are new. */
async function countParked(tx: Tx, parkings: readonly Parking[], nowMs: number): Promise<void> {
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
export async function touchGroups(tx: Tx, parkings: readonly Parking[], nowMs: number): Promise<void> {
  const groups = new Map(parkings.map((parking) => [parking.group.fingerprint, parking]));
  const fresh = await tx.query<{ fingerprint: string }>(
    `select fingerprint from dlq_groups
      where fingerprint = any($1::text[]) and last_seen > to_timestamp($2::float8 / 1000)`,
    [[...groups.keys()], nowMs - GROUP_STALE_MS],
    { name: "fresh-groups" },
  );
  for (const { fingerprint } of fresh) groups.delete(fingerprint);
  if (groups.size === 0) return;
  const stale = [...groups.values()].sort((a, b) => (a.group.fingerprint < b.group.fingerprint ? -1 : 1));
  await tx.run(
    `insert into dlq_groups
       (fingerprint, error_code, exception_type, message_pattern, first_frame, family, sample_event, first_seen, last_seen,
        grouping_version)
     select fingerprint, error_code, exception_type, pattern, frame, family, sample, at, at, ${GROUPING_VERSION}
       from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::uuid[])
              as g (fingerprint, error_code, exception_type, pattern, frame, family, sample),
            to_timestamp($8::float8 / 1000) as at
     on conflict (fingerprint) do update
       set last_seen = greatest(dlq_groups.last_seen, excluded.last_seen), sample_event = excluded.sample_event`,
    [
      stale.map((parking) => parking.group.fingerprint),
      stale.map((parking) => parking.letter.errorCode),
      stale.map((parking) => parking.group.exceptionType),
      stale.map((parking) => parking.group.pattern),
      stale.map((parking) => parking.group.firstFrame),
      stale.map((parking) => parking.group.family),
      stale.map((parking) => parking.id),
      nowMs,
    ],
    { name: "touch-groups" },
  );
}
