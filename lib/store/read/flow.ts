import { bucketStarts, type StatsQuery } from "@/lib/contract/stats-query";
import { type FlowKind, SIZE_EFFECT } from "@/lib/core/flow";
import { sourceScope, type Viewer } from "@/lib/core/viewer";
import { listOf } from "@/lib/store/state-sql";

/**
 * The part of dlq_flow that a chart reads: minutes where it must tell minutes apart, hours for the rest. So the rows read
 * are bounded by the length of the chart, not by the number of events.
 */
export type FlowSpan = {
  /** [from, to) by the minute, epoch milliseconds. */
  minutes: readonly [fromMs: number, toMs: number];
  /** [from, to) by the hour; both are full hours. */
  hours: readonly [fromMs: number, toMs: number];
};

const HOUR_MS = 3_600_000;
const NEVER = [0, 0] as const;
/** Later than anything, and what a timestamp can hold. */
const END_MS = Date.parse("9999-01-01T00:00:00Z");

/** All that ever happened, by the hour. */
export const ALL_HOURS: FlowSpan = { minutes: NEVER, hours: [0, END_MS] };

export const floorHour = (ms: number) => Math.floor(ms / HOUR_MS) * HOUR_MS;

function hasMinutesOnly({ filter, bucketMs }: StatsQuery): boolean {
  // The hours do not know the group.
  return filter.fingerprint !== undefined || bucketMs % HOUR_MS !== 0;
}

/** From the window's first bucket to now: a size is read backwards from now. */
export function sizeSpan(query: StatsQuery): FlowSpan {
  const startMs = bucketStarts(query)[0]!;
  if (query.filter.fingerprint) return { minutes: [startMs, END_MS], hours: NEVER };
  // What happened after the window counts only as a sum.
  const fineToMs = hasMinutesOnly(query) ? Math.max(startMs, floorHour(query.toMs) + HOUR_MS) : startMs;
  return { minutes: [startMs, fineToMs], hours: [fineToMs, END_MS] };
}

/** The window. */
export function flowSpan(query: StatsQuery): FlowSpan {
  const startMs = bucketStarts(query)[0]!;
  if (hasMinutesOnly(query)) return { minutes: [startMs, query.toMs], hours: NEVER };
  const coarseToMs = Math.max(startMs, floorHour(query.toMs));
  return { minutes: [coarseToMs, query.toMs], hours: [startMs, coarseToMs] };
}

/** The same chart over what the viewer sees. Throws DomainError `forbidden` when the viewer may not view. */
export function scopeStats(viewer: Viewer, query: StatsQuery): StatsQuery {
  const source = sourceScope(viewer, query.filter.source);
  return source === null ? query : { ...query, filter: { ...query.filter, source } };
}

/** `$1`..`$3` of every statement here: source, error code, fingerprint; null = any. */
export function scopeValues({ source, errorCode, fingerprint }: StatsQuery["filter"]) {
  return [source ?? null, errorCode ?? null, fingerprint ?? null];
}

export const IN_SCOPE = `($1::text[] is null or source_id = any(array(select id from sources where name = any($1))))
  and ($2::text[] is null or error_code = any($2))`;

/** Rows (at, error_code, kind, n) of a span; the values are those of `flowValues`, `$1` to `$7`. */
export const FLOW = `
  select minute as at, error_code, kind, n from dlq_flow
   where minute >= to_timestamp($4::float8 / 1000) and minute < to_timestamp($5::float8 / 1000)
     and ${IN_SCOPE} and ($3::text[] is null or fingerprint = any($3))
  union all
  select minute, error_code, kind, n from dlq_flow
   where not rolled and minute >= to_timestamp($6::float8 / 1000) and minute < to_timestamp($7::float8 / 1000)
     and ${IN_SCOPE}
  union all
  select hour, error_code, kind, n from dlq_flow_hours
   where hour >= to_timestamp($6::float8 / 1000) and hour < to_timestamp($7::float8 / 1000) and ${IN_SCOPE}`;

export function flowValues(filter: StatsQuery["filter"], { minutes, hours }: FlowSpan): unknown[] {
  return [...scopeValues(filter), ...minutes, ...hours];
}

const kindsOf = (effect: -1 | 1) =>
  listOf(Object.keys(SIZE_EFFECT).filter((kind) => SIZE_EFFECT[kind as FlowKind] === effect));

/** What `n` events of a `kind` do to dlq_size. */
export const SIZE_EFFECT_SQL = `case when kind in ${kindsOf(1)} then n when kind in ${kindsOf(-1)} then -n else 0 end`;
