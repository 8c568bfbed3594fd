import { exportEvents } from "@/lib/events/list/event-export.read";
import type { Viewer } from "@/lib/guard/viewer/viewer.pure";
import { EXPORTED_ATTEMPTS_MAX, type StoredState } from "@/lib/intake/stored-state.shapes";
import { type EventColumns, microsOf, microsOrNull } from "@/lib/keep/records/event-columns.pure";
import type { Db, Queryable } from "@/lib/platform/database/db";
import { idSpan } from "@/lib/platform/database/id-span";
import { JSON_DEPTH_MAX, sizeOf } from "@/lib/platform/plain/raw-json.pure";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";

/** Bytes of payloads that are read at a time; one event may have more. */
const READ_BYTES_MAX = 4 * 1024 * 1024;
const READ_EVENTS_MAX = 200;

/**
 * The matching events as lines of an export, newest first, each ending with a newline: see `stored-state.shapes.ts`. No
 * transaction stays open between two pieces. An event that leaves the store meanwhile is left out. The caller has
 * checked that the viewer may read credentials and payloads.
 */
export async function* readEventRecords(
  db: Db,
  viewer: Viewer,
  filter: EventFilter,
  nowMs: number,
): AsyncGenerator<string[], void> {
  for await (const page of exportEvents(db, viewer, filter, nowMs)) {
    const listed = page.map(({ id }) => id);
    for (const ids of inPieces(listed, await readRecordSizes(db, listed)))
      yield (await readRecords(db, ids)).map(({ line }) => line);
  }
}

/** Ids in their order. */
function inPieces(events: readonly string[], sizes: ReadonlyMap<string, number>): string[][] {
  const pieces: string[][] = [];
  let [ids, bytes] = [[] as string[], 0];
  for (const id of events) {
    const size = sizes.get(id) ?? 0;
    if (ids.length > 0 && (bytes + size > READ_BYTES_MAX || ids.length === READ_EVENTS_MAX)) {
      pieces.push(ids);
      [ids, bytes] = [[], 0];
    }
    ids.push(id);
    bytes += size;
  }
  if (ids.length > 0) pieces.push(ids);
  return pieces;
}

/** Bytes of what is long in the records of these events, by id: payloads of all revisions, stacks, headers. No value is read for it. */
export async function readRecordSizes(db: Queryable, ids: readonly string[]): Promise<Map<string, number>> {
  if (ids.length === 0) return new Map();
  const rows = await db.query<{ id: string; bytes: number }>(
    `select id, sum(bytes)::float8 as bytes from (
       select id, octet_length(payload)::bigint + coalesce(octet_length(error_detail), 0) + pg_column_size(headers) as bytes
         from dlq_event_bodies where id = any($1::uuid[]) and id between $2 and $3
       union all
       select id, octet_length(payload)::bigint + pg_column_size(headers)
         from event_revisions where id = any($1::uuid[]) and id between $2 and $3
       union all
       select id, coalesce(octet_length(error_detail), 0)::bigint + pg_column_size(headers)
         from event_bounces where id = any($1::uuid[]) and id between $2 and $3) parts
      group by id`,
    [ids, ...idSpan(ids)],
    { name: "record-sizes" },
  );
  return new Map(rows.map(({ id, bytes }) => [id, bytes]));
}

const utc = (column: string) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
const base64 = (column: string) => `translate(encode(${column}, 'base64'), E'\\n', '')`;

/** A time as text without a zone, which `timeOut` makes ISO 8601 of: cheaper than `to_char` for each of seven columns. */
const bare = (column: string, name: string) => `(${column} at time zone 'UTC')::text as "${name}"`;
const timeOut = (text: string | null) => text && `${text.replace(" ", "T")}Z`;

/** JSON columns come as text: no number is rounded. */
const COLUMNS = `e.id, s.name as source, e.event_id as "eventId", e.producer, e.aggregate_id as "aggregateId",
  e.aggregate_type as "aggregateType", e.version::text as version, e.error_code as "errorCode", e.fingerprint, e.status,
  e.attempts, e.bounces, e.redrives, e.failures, e.last_operator as "lastOperator",
  e.bounced_redrives::text[] as "bouncedRedrives", e.confirmed_redrive as "confirmedRedrive", e.admission, e.revision,
  ${bare("e.first_seen", "firstSeen")}, ${bare("e.last_attempt_at", "lastAttemptAt")},
  ${bare("e.redrive_at", "redriveAt")}, ${bare("e.confirmed_at", "confirmedAt")},
  ${bare("e.cooldown_until", "cooldownUntil")}, ${bare("f.failed_at", "failedAt")}, ${bare("f.first_failed_at", "firstFailedAt")},
  f.payload_bytes as "payloadBytes", f.event_type as "eventType", f.trace_id as "traceId", f.last_error_code as "lastErrorCode", f.last_error as "lastError",
  f.tags::text as tags, b.payload, b.content_type as "contentType", b.headers::text as headers,
  b.error_type as "errorType", b.error_message as "errorMessage", b.error_detail as "errorStack",
  b.origin::text as origin, b.admission::text as admitted`;

type Time = string | null;
type RecordRow = Omit<StoredState, "group" | "admitted" | "revisions" | "bounced"> & {
  source: string;
  eventId: string;
  producer: string;
  aggregateId: string | null;
  aggregateType: string | null;
  version: string | null;
  errorCode: string;
  eventType: string | null;
  traceId: string | null;
  failedAt: Time;
  errorType: string | null;
  errorMessage: string | null;
  errorStack: string | null;
  payload: Buffer;
  payloadBytes: number | null;
  contentType: string;
  tags: string | null;
  headers: string;
  origin: string;
  admitted: string | null;
};

const REVISIONS = `json_agg(json_build_object(
    'revision', r.revision, 'cause', r.cause, 'base', r.base, 'bounce', r.bounce, 'actor', r.actor, 'reason', r.reason,
    'at', ${utc("r.at")}, 'patch', r.patch, 'operationId', r.operation_id, 'payloadBase64', ${base64("r.payload")},
    'contentType', r.content_type, 'headers', r.headers, 'origin', r.origin) order by r.revision)::text`;

const BOUNCED = `json_agg(json_build_object(
    'bounce', n.bounce, 'at', ${utc("n.at")}, 'redriveId', n.redrive_id, 'sent', n.sent, 'errorCode', n.error_code,
    'error', json_build_object('type', n.error_type, 'message', n.error_message, 'stack', n.error_detail),
    'headers', n.headers, 'origin', n.origin, 'admitted', n.admission) order by n.bounce)::text`;

const GROUP = `json_build_object('exceptionType', g.exception_type, 'pattern', g.message_pattern,
    'firstFrame', g.first_frame)::text`;

/** JSON texts of what few events have, by event id; groups by fingerprint. */
type Beside = Record<"revisions" | "bounced" | "groups", Map<string, string>>;

export type EventRecord = { id: string; source: string; line: string; columns: () => EventColumns };

/** Lines in the order of the ids, without events that lack a body. Each table is read by ids alone: a join would compare all pairs. */
export async function readRecords(db: Queryable, ids: readonly string[]): Promise<EventRecord[]> {
  const named = (alias: string) => `${alias}.id = any($1::uuid[]) and ${alias}.id between $2 and $3`;
  const values = [ids, ...idSpan(ids)];
  const rows = await db.query<RecordRow>(
    `with e as materialized (select * from dlq_events e where ${named("e")}),
          f as materialized (select * from dlq_event_facts f where ${named("f")}),
          b as materialized (select * from dlq_event_bodies b where ${named("b")})
     select ${COLUMNS}
       from e join sources s on s.id = e.source_id join b on b.id = e.id left join f on f.id = e.id`,
    values,
    { name: "event-records" },
  );
  const jsonBy = async (key: string, json: string, from: string, params: unknown[]) => {
    const found = await db.query<{ key: string; json: string }>(
      `select ${key} as key, ${json} as json from ${from}`,
      params,
    );
    return new Map(found.map((row) => [row.key, row.json]));
  };
  const beside: Beside = {
    revisions: await jsonBy("r.id", REVISIONS, `event_revisions r where ${named("r")} group by r.id`, values),
    bounced: await jsonBy("n.id", BOUNCED, `event_bounces n where ${named("n")} group by n.id`, values),
    groups: await jsonBy("g.fingerprint", GROUP, "dlq_groups g where g.fingerprint = any($1::text[])", [
      [...new Set(rows.map(({ fingerprint }) => fingerprint))],
    ]),
  };
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id): EventRecord[] => {
    const row = byId.get(id);
    return row ? [{ id, source: row.source, line: lineOf(row, beside), columns: () => columnsOf(row) }] : [];
  });
}

function columnsOf(row: RecordRow): EventColumns {
  return {
    id: row.id,
    source: row.source,
    eventId: row.eventId,
    aggregateId: row.aggregateId,
    aggregateType: row.aggregateType,
    version: row.version === null ? null : BigInt(row.version),
    eventType: row.eventType,
    errorCode: row.errorCode,
    fingerprint: row.fingerprint,
    status: row.status,
    attempts: row.attempts,
    bounces: row.bounces,
    firstSeen: microsOf(row.firstSeen),
    lastAttemptAt: microsOrNull(row.lastAttemptAt),
    confirmedAt: microsOrNull(row.confirmedAt),
    payloadBytes: row.payloadBytes ?? 0,
    traceId: row.traceId,
    errorType: row.errorType,
    errorMessage: row.errorMessage,
    // As the members of a line are written, so that a line gives the same text again.
    tags: row.tags === null ? "{}" : JSON.stringify(JSON.parse(row.tags)),
  };
}

function lineOf(row: RecordRow, beside: Beside): string {
  const arrived = {
    source: row.source,
    eventId: row.eventId,
    ...(row.producer === "" ? {} : { producer: row.producer }),
    aggregateId: row.aggregateId,
    aggregateType: row.aggregateType,
    eventType: row.eventType,
    errorCode: row.errorCode,
    error: { type: row.errorType, message: row.errorMessage, stack: row.errorStack },
    attempts: Math.min(row.attempts, EXPORTED_ATTEMPTS_MAX),
    traceId: row.traceId,
    failedAt: timeOut(row.failedAt),
    contentType: row.contentType,
  };
  const inline = inlineJson(row.payload);
  return `${withRaw(arrived, [
    ["version", row.version],
    ["headers", row.headers],
    ["tags", row.tags ?? "{}"],
    ["origin", row.origin],
    inline === null ? ["payloadBase64", `"${row.payload.toString("base64")}"`] : ["payload", inline],
    ["stored", storedOf(row, beside)],
  ])}\n`;
}

function storedOf(row: RecordRow, { revisions, bounced, groups }: Beside): string {
  const own = {
    id: row.id,
    firstSeen: timeOut(row.firstSeen),
    status: row.status,
    attempts: row.attempts,
    bounces: row.bounces,
    redrives: row.redrives,
    failures: row.failures,
    lastAttemptAt: timeOut(row.lastAttemptAt),
    failedAt: timeOut(row.failedAt),
    firstFailedAt: timeOut(row.firstFailedAt ?? null),
    redriveAt: timeOut(row.redriveAt),
    confirmedAt: timeOut(row.confirmedAt),
    cooldownUntil: timeOut(row.cooldownUntil),
    lastOperator: row.lastOperator,
    bouncedRedrives: row.bouncedRedrives,
    confirmedRedrive: row.confirmedRedrive,
    fingerprint: row.fingerprint,
    admission: row.admission,
    lastErrorCode: row.lastErrorCode,
    lastError: row.lastError,
    revision: row.revision,
  };
  return withRaw(own, [
    ["admitted", row.admitted],
    ["group", groups.get(row.fingerprint) ?? null],
    ["revisions", revisions.get(row.id) ?? "[]"],
    ["bounced", bounced.get(row.id) ?? "[]"],
  ]);
}

/** An object as JSON, with further members whose values are JSON already. */
function withRaw(values: object, members: [name: string, json: string | null][]): string {
  return `${JSON.stringify(values).slice(0, -1)}${members.map(([name, json]) => `,"${name}":${json ?? "null"}`).join("")}}`;
}

/** A body that was cut is no JSON, and is found without the cost of an error. */
function endsAsItBegins(text: string): boolean {
  return !text.startsWith("{") || text.endsWith("}");
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The payload as it may stand in a line, so that its very bytes are read again; null = as base64 only. */
function inlineJson(payload: Uint8Array): string | null {
  try {
    const text = utf8.decode(payload);
    // A line has no line ends in it, and what stands around a value is no part of it.
    if (/[\r\n]/.test(text) || text.trim() !== text || !endsAsItBegins(text)) return null;
    JSON.parse(text);
    return sizeOf(payload, { start: 0, end: payload.length }).depth > JSON_DEPTH_MAX ? null : text;
  } catch {
    return null;
  }
}
