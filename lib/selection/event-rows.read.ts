import { maskValue } from "@/lib/guard/masking/mask.pure";
import type { Masks } from "@/lib/guard/masking/mask-rule.pure";
import { maskText } from "@/lib/guard/masking/mask-text.pure";
import { uuidv7LowerBound } from "@/lib/platform/ids";

/**
 * Columns of an event as the API sends them (`EventOut`), over the aliases `e` (dlq_event_rows) and `s` (sources). Read
 * with `isoTimes`, a row needs no conversion: a list has fifty rows, and copying a row costs more than reading it.
 * `version` is a number when a number holds it exactly, else its digits, like every int8.
 */
export const EVENT_COLUMNS = `e.id, s.name as source, e.event_id as "eventId", nullif(e.producer, '') as producer, e.aggregate_id as "aggregateId",
  e.aggregate_type as "aggregateType", e.version, e.event_type as "eventType", e.error_code as "errorCode",
  e.fingerprint, e.status, e.attempts, e.bounces, e.first_seen as "firstSeen", e.failed_at as "failedAt",
  e.first_failed_at as "firstFailedAt",
  e.last_attempt_at as "lastAttemptAt", e.last_error_code as "lastErrorCode", e.last_error as "lastError",
  e.last_operator as "lastOperator", e.redrive_at as "redriveAt", e.confirmed_at as "confirmedAt",
  e.cooldown_until as "cooldownUntil", e.trace_id as "traceId", e.payload_bytes as "payloadBytes", e.tags, e.admission,
  e.revision`;

/** Whole UTC days, [fromMs, toMs), in epoch milliseconds. */
export type Days = { fromMs: number; toMs: number };

/** SQL: the row `e` is of these days. Their bounds are part of the text: a plan then has the partitions of these days alone. */
export function inDays(e: string, { fromMs, toMs }: Days): string {
  return `${e}.id >= '${uuidv7LowerBound(fromMs)}'::uuid and ${e}.id < '${uuidv7LowerBound(toMs)}'::uuid`;
}

const FACTS = `f.aggregate_id as found_aggregate_id, f.event_type, f.trace_id, f.failed_at, f.last_error_code, f.last_error,
       f.payload_bytes, f.tags, coalesce(f.first_failed_at, f.failed_at) as first_failed_at`;

/** SQL: the rows `e` of dlq_event_rows, or those of these days. The view does not hand the bounds of one table on to the other. */
export function eventRows(days?: Days): string {
  if (days === undefined) return "dlq_event_rows e";
  return `(select e.*, ${FACTS}
  from dlq_events e left join dlq_event_facts f on f.id = e.id and ${inDays("f", days)} where ${inDays("e", days)}) e`;
}

/** SQL: rows of dlq_events as those of dlq_event_rows, in the same order. The facts of each are looked up by key, see `matching` in scan-statements.read.ts. */
export function withFacts(events: string, days?: Days): string {
  return `(select e.*, ${FACTS} from (${events}) e
    left join lateral (select * from dlq_event_facts f where f.id = e.id${days ? ` and ${inDays("f", days)}` : ""} offset 0) f on true) e`;
}

/** Masks the error texts and tags of rows, in place. Copying a row of a list costs more than reading it. */
export function maskRows(
  masks: Masks,
  rows: readonly { source: string; lastError: string | null; tags: Record<string, string> }[],
): void {
  for (const row of rows) {
    const set = masks.of(row.source);
    if (row.lastError !== null) row.lastError = maskText(row.lastError, set);
    for (const name in row.tags) row.tags[name] = maskValue(name, row.tags[name]!, set);
  }
}
