import type { EventFilter } from "@/lib/events/filter/event-filter.shapes";
import { exportEvents } from "@/lib/events/list/event-export.read";
import type { Viewer } from "@/lib/guard/viewer/viewer.pure";
import { EXPORTED_ATTEMPTS_MAX } from "@/lib/keep/records/stored-state.shapes";
import type { Db, Queryable } from "@/lib/platform/database/db";
import { idSpan } from "@/lib/platform/database/id-span";
import { JSON_DEPTH_MAX, sizeOf } from "@/lib/platform/plain/raw-json.pure";

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
    for (const ids of inPieces(page)) yield (await readRecords(db, ids)).map(({ line }) => line);
  }
}

/** Ids in their order. An event counts with all of its revisions. */
function inPieces(events: readonly { id: string; payloadBytes: number; revision: number }[]): string[][] {
  const pieces: string[][] = [];
  let [ids, bytes] = [[] as string[], 0];
  for (const { id, payloadBytes, revision } of events) {
    const size = payloadBytes * Math.max(1, revision);
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

const utc = (column: string) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
const base64 = (column: string) => `translate(encode(${column}, 'base64'), E'\\n', '')`;

/** Of the event as it arrived, without its payload. JSON columns keep their text: no number is rounded. */
const ARRIVED = `json_build_object(
  'source', s.name, 'eventId', e.event_id, 'aggregateId', e.aggregate_id, 'aggregateType', e.aggregate_type,
  'version', e.version, 'eventType', f.event_type, 'errorCode', e.error_code,
  'error', json_build_object('type', b.error_type, 'message', b.error_message, 'stack', b.error_detail),
  'attempts', least(e.attempts, ${EXPORTED_ATTEMPTS_MAX}), 'traceId', f.trace_id, 'failedAt', ${utc("f.failed_at")},
  'contentType', b.content_type, 'headers', b.headers, 'tags', coalesce(f.tags, '{}'), 'origin', b.origin)::text`;

/** What is in the rows of the event alone. */
const STORED = `json_build_object(
  'id', e.id, 'firstSeen', ${utc("e.first_seen")}, 'status', e.status, 'attempts', e.attempts, 'bounces', e.bounces,
  'redrives', e.redrives, 'failures', e.failures, 'lastAttemptAt', ${utc("e.last_attempt_at")},
  'redriveAt', ${utc("e.redrive_at")}, 'confirmedAt', ${utc("e.confirmed_at")},
  'cooldownUntil', ${utc("e.cooldown_until")}, 'lastOperator', e.last_operator,
  'bouncedRedrives', e.bounced_redrives, 'confirmedRedrive', e.confirmed_redrive,
  'fingerprint', e.fingerprint, 'admission', e.admission, 'admitted', b.admission,
  'lastErrorCode', f.last_error_code, 'lastError', f.last_error, 'revision', e.revision)::text`;

const REVISIONS = `json_agg(json_build_object(
    'revision', r.revision, 'cause', r.cause, 'base', r.base, 'bounce', r.bounce, 'actor', r.actor, 'reason', r.reason,
    'at', ${utc("r.at")}, 'patch', r.patch, 'operationId', r.operation_id, 'payloadBase64', ${base64("r.payload")},
    'contentType', r.content_type, 'headers', r.headers) order by r.revision)::text`;

const BOUNCED = `json_agg(json_build_object(
    'bounce', n.bounce, 'at', ${utc("n.at")}, 'redriveId', n.redrive_id, 'sent', n.sent,
    'error', json_build_object('type', n.error_type, 'message', n.error_message, 'stack', n.error_detail),
    'headers', n.headers, 'origin', n.origin, 'admitted', n.admission) order by n.bounce)::text`;

const GROUP = `json_build_object('exceptionType', g.exception_type, 'pattern', g.message_pattern,
    'firstFrame', g.first_frame)::text`;

type RecordRow = { id: string; fingerprint: string; arrived: string; payload: Buffer; stored: string };
/** JSON texts of what few events have, by event id; groups by fingerprint. */
type Beside = Record<"revisions" | "bounced" | "groups", Map<string, string>>;

/**
 * The lines of these events, in the order of the ids. Those that are not stored with their body are left out. Each table
 * is read by the ids themselves: a join alone would look into each day for each event.
 */
export async function readRecords(db: Queryable, ids: readonly string[]): Promise<{ id: string; line: string }[]> {
  const named = (alias: string) => `${alias}.id = any($1::uuid[]) and ${alias}.id between $2 and $3`;
  const values = [ids, ...idSpan(ids)];
  const rows = await db.query<RecordRow>(
    `select e.id, e.fingerprint, ${ARRIVED} as arrived, b.payload, ${STORED} as stored
       from dlq_events e join sources s on s.id = e.source_id join dlq_event_bodies b on b.id = e.id and ${named("b")}
       left join dlq_event_facts f on f.id = e.id and ${named("f")}
      where ${named("e")}`,
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
  return ids.flatMap((id) => {
    const row = byId.get(id);
    return row ? [{ id, line: lineOf(row, beside) }] : [];
  });
}

function lineOf(
  { id, fingerprint, arrived, payload, stored }: RecordRow,
  { revisions, bounced, groups }: Beside,
): string {
  const inline = inlineJson(payload);
  const body = inline === null ? `"payloadBase64":"${payload.toString("base64")}"` : `"payload":${inline}`;
  const further = `"group":${groups.get(fingerprint) ?? "null"},"revisions":${revisions.get(id) ?? "[]"},"bounced":${bounced.get(id) ?? "[]"}`;
  return `${arrived.slice(0, -1)},${body},"stored":${stored.slice(0, -1)},${further}}}\n`;
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The payload as it may stand in a line, so that its very bytes are read again; null = as base64 only. */
function inlineJson(payload: Uint8Array): string | null {
  try {
    const text = utf8.decode(payload);
    // A line has no line ends in it, and what stands around a value is no part of it.
    if (/[\r\n]/.test(text) || text.trim() !== text) return null;
    JSON.parse(text);
    return sizeOf(payload, { start: 0, end: payload.length }).depth > JSON_DEPTH_MAX ? null : text;
  } catch {
    return null;
  }
}
