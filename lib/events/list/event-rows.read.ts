import { redactText } from "@/lib/guard/redaction/redact.pure";
import { may, type Viewer } from "@/lib/guard/viewer/viewer.pure";

/**
 * Columns of an event as the API sends them (`EventOut`), over the aliases `e` (dlq_event_rows) and `s` (sources). Read
 * with `isoTimes`, a row needs no conversion: a list has fifty rows, and copying a row costs more than reading it.
 * `version` is a number when a number holds it exactly, else its digits, like every int8.
 */
export const EVENT_COLUMNS = `e.id, s.name as source, e.event_id as "eventId", e.aggregate_id as "aggregateId",
  e.aggregate_type as "aggregateType", e.version, e.event_type as "eventType", e.error_code as "errorCode",
  e.fingerprint, e.status, e.attempts, e.bounces, e.first_seen as "firstSeen", e.failed_at as "failedAt",
  e.last_attempt_at as "lastAttemptAt", e.last_error_code as "lastErrorCode", e.last_error as "lastError",
  e.last_operator as "lastOperator", e.redrive_at as "redriveAt", e.confirmed_at as "confirmedAt",
  e.cooldown_until as "cooldownUntil", e.trace_id as "traceId", e.payload_bytes as "payloadBytes", e.tags, e.admission,
  e.revision`;

/** The error text for the viewer, which often repeats a part of the payload. */
export function errorTextFor(viewer: Viewer): <Text extends string | null>(text: Text) => Text {
  if (may(viewer, "reveal")) return (text) => text;
  return (text) => (text === null ? text : (redactText(text) as typeof text));
}

/** Masks the error texts of rows, in place, for a viewer who may not read credentials and payloads. */
export function maskRows(viewer: Viewer, rows: readonly { lastError: string | null }[]): void {
  if (may(viewer, "reveal")) return;
  const textOut = errorTextFor(viewer);
  for (const row of rows) row.lastError = textOut(row.lastError);
}
