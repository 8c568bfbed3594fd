import type { EventOut } from "@/lib/contract/events";
import type { EventStatus } from "@/lib/core/event-state";

/** Columns of an event for the wire, over the aliases `e` (dlq_events) and `s` (sources). */
export const EVENT_COLUMNS = `e.id, s.name as source, e.event_id, e.aggregate_id, e.aggregate_type,
  e.version::text as version, e.event_type, e.error_code, e.fingerprint, e.status, e.attempts, e.bounces, e.first_seen,
  e.failed_at, e.last_attempt_at, e.last_error_code, e.last_error, e.last_operator, e.redrive_at, e.confirmed_at,
  e.cooldown_until, e.trace_id, e.payload_bytes, e.tags`;

export type EventRow = {
  id: string;
  source: string;
  event_id: string;
  aggregate_id: string | null;
  aggregate_type: string | null;
  version: string | null;
  event_type: string | null;
  error_code: string;
  fingerprint: string;
  status: EventStatus;
  attempts: number;
  bounces: number;
  first_seen: number;
  failed_at: number | null;
  last_attempt_at: number | null;
  last_error_code: string | null;
  last_error: string | null;
  last_operator: string | null;
  redrive_at: number | null;
  confirmed_at: number | null;
  cooldown_until: number | null;
  trace_id: string | null;
  payload_bytes: number;
  tags: Record<string, string>;
};

/** Epoch milliseconds as ISO 8601 UTC. */
export function iso(ms: number): string {
  return new Date(ms).toISOString();
}

export function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : iso(ms);
}

/** A number when it is exact as one, else its digits. */
export function versionOut(version: string | null): number | string | null {
  if (version === null) return null;
  const number = Number(version);
  return Number.isSafeInteger(number) ? number : version;
}

export function eventOut(row: EventRow): EventOut {
  return {
    id: row.id,
    source: row.source,
    eventId: row.event_id,
    aggregateId: row.aggregate_id,
    aggregateType: row.aggregate_type,
    version: versionOut(row.version),
    eventType: row.event_type,
    errorCode: row.error_code,
    fingerprint: row.fingerprint,
    status: row.status,
    attempts: row.attempts,
    bounces: row.bounces,
    firstSeen: iso(row.first_seen),
    failedAt: isoOrNull(row.failed_at),
    lastAttemptAt: isoOrNull(row.last_attempt_at),
    lastErrorCode: row.last_error_code,
    lastError: row.last_error,
    lastOperator: row.last_operator,
    redriveAt: isoOrNull(row.redrive_at),
    confirmedAt: isoOrNull(row.confirmed_at),
    cooldownUntil: isoOrNull(row.cooldown_until),
    traceId: row.trace_id,
    payloadBytes: row.payload_bytes,
    tags: row.tags,
  };
}
