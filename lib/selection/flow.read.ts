import { sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Queryable } from "@/lib/platform/database/db";
import { groupsMeant } from "@/lib/selection/aliases.sql";
import { bucketStarts, type StatsQuery } from "@/lib/selection/stats-query.shapes";
import type { FlowKind } from "@/lib/states/flow.pure";
import {
  ARRIVAL_KINDS,
  CODE_FLOW,
  deltasOf,
  FLOW_KINDS,
  type FlowTable,
  GROUP_ARRIVALS,
  GROUP_FLOW,
  SOURCE_FLOW,
  UNGROUPED_KINDS,
} from "@/lib/states/flow-tables.sql";

const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
/** A time later than any other that a timestamp can hold, at the start of a day. */
export const END_MS = Date.parse("9999-01-01T00:00:00Z");

export const floorHour = (ms: number) => Math.floor(ms / HOUR_MS) * HOUR_MS;

/** The start of the flow, epoch milliseconds; null when no event ever arrived. */
export async function knownSince(db: Queryable): Promise<number | null> {
  const [row] = await db.query<{ since: number | null }>(
    "select least((select min(at) from dlq_flow_hours), (select min(minute) from dlq_flow)) as since",
    [],
    { name: "flow-since" },
  );
  return row?.since ?? null;
}

/** Minutes that begin in [fromMs, toMs), in rows that do not cross a multiple of `bucketMs`. */
export type FlowSpan = { fromMs: number; toMs: number; bucketMs: number };

/** A part of the flow of which only the sum is needed. */
export const asSum = (fromMs: number, toMs: number = END_MS): FlowSpan => ({ fromMs, toMs, bucketMs: 0 });

type FlowPiece = FlowTable & { fromMs: number; toMs: number };

/** Splits a span so that each part is read from the widest table that fits, with narrower ones only at its ends. */
export function flowPieces(tables: readonly FlowTable[], { fromMs, toMs, bucketMs }: FlowSpan): FlowPiece[] {
  const usable = tables.filter(({ widthMs }) => bucketMs % widthMs === 0);
  const cut = (index: number, from: number, to: number): FlowPiece[] => {
    const table = usable[index]!;
    if (from >= to) return [];
    if (index === usable.length - 1) return [{ ...table, fromMs: from, toMs: to }];
    const first = Math.ceil(from / table.widthMs) * table.widthMs;
    const last = Math.floor(to / table.widthMs) * table.widthMs;
    if (first >= last) return cut(index + 1, from, to);
    return [...cut(index + 1, from, first), { ...table, fromMs: first, toMs: last }, ...cut(index + 1, last, to)];
  };
  return cut(0, Math.ceil(fromMs / MINUTE_MS) * MINUTE_MS, Math.ceil(toMs / MINUTE_MS) * MINUTE_MS);
}

export function windowSpan(query: StatsQuery): FlowSpan {
  return { fromMs: bucketStarts(query)[0]!, toMs: query.toMs, bucketMs: query.bucketMs };
}

/** From the window's first bucket to now, because a size is computed backwards from now. Changes after the window are one sum. */
export function sizeSpans(query: StatsQuery): FlowSpan[] {
  const starts = bucketStarts(query);
  const endMs = starts.at(-1)! + query.bucketMs;
  return [{ fromMs: starts[0]!, toMs: endMs, bucketMs: query.bucketMs }, asSum(endMs)];
}

/**
 * The same chart over the sources that the viewer may see. Throws DomainError `forbidden` when the viewer may not view.
 */
export function scopeStats(viewer: Viewer, query: StatsQuery): StatsQuery {
  const source = sourceScope(viewer, query.filter.source);
  return source === null ? query : { ...query, filter: { ...query.filter, source } };
}

/** `$1`..`$3` of every statement here: source, error code, fingerprint, or what is excluded of them; null = any. */
export function scopeValues(filter: StatsQuery["filter"]) {
  const values = (name: "source" | "errorCode") => {
    const [wanted, excluded] = [filter[name], filter[`not.${name}` as const]];
    return wanted?.filter((one) => !excluded?.includes(one)) ?? excluded ?? null;
  };
  return [values("source"), values("errorCode"), filter.fingerprint ?? null];
}

/** The filter's source and error code. A name that is absent adds no condition, so that indexes can be used. */
export function inScope(filter: StatsQuery["filter"]): string {
  return `${inSources(filter) ?? anyOf("$1")} and ${inErrorCodes(filter) ?? anyOf("$2")}`;
}

/** The condition on the source; null = any. */
export function inSources({ source, "not.source": excluded }: StatsQuery["filter"]): string | null {
  const named = "source_id = any(array(select id from sources where name = any($1::text[])))";
  return source ? named : excluded ? `not ${named}` : null;
}

/** The condition on the error code; null = any. */
export function inErrorCodes({ errorCode, "not.errorCode": excluded }: StatsQuery["filter"]): string | null {
  const named = "error_code = any($2::text[])";
  return errorCode ? named : excluded ? `not ${named}` : null;
}

function inGroup({ fingerprint }: StatsQuery["filter"]): string {
  return fingerprint ? `fingerprint = any(${groupsMeant("$3::text[]")})` : anyOf("$3");
}

/** Always true; gives a type to a parameter that no condition uses. */
const anyOf = (param: string) => `${param}::text[] is null`;

type FlowSql = { sql: string; values: unknown[] };

const GROUPED = `kind <> all(array['${UNGROUPED_KINDS.join("', '")}'])`;

/** What is narrower than an hour is kept by error code only. */
const SOURCE_TABLES = [...SOURCE_FLOW, ...CODE_FLOW.filter(({ widthMs }) => widthMs < HOUR_MS)];

/** What is narrower than an hour is kept by source as well. */
const ARRIVAL_TABLES = [...GROUP_ARRIVALS, ...GROUP_FLOW.filter(({ widthMs }) => widthMs < HOUR_MS)];

/**
 * SQL: rows of spans with `at`, `fingerprint` and a column for each of ARRIVAL_KINDS; `values` are `$1` and on. Without a source they are
 * read from the tables of groups alone: all events of a group have one error code, so the names of groups decide it.
 */
export function groupArrivalRows(filter: StatsQuery["filter"], spans: readonly FlowSpan[]): FlowSql {
  const alone = inSources(filter) === null && (filter.fingerprint !== undefined || inErrorCodes(filter) === null);
  return rowsOf(alone ? { fingerprint: filter.fingerprint } : filter, spans, {
    ...{ tables: alone ? ARRIVAL_TABLES : GROUP_FLOW, byGroup: true },
    ...{ keys: ["fingerprint"], kinds: ARRIVAL_KINDS },
  });
}

/**
 * Rows of adjoining spans as SQL: `at`, a column for each kind, and `fingerprint` when a group is asked for or `byGroup`;
 * `error_code` unless the caller asks for rows without it; `source_id` with `bySource`. `values` are `$1` and on; the caller's own come after them.
 */
export function flowRows(
  filter: StatsQuery["filter"],
  spans: readonly FlowSpan[],
  { byGroup = filter.fingerprint !== undefined, bySource = false, byCode = true } = {},
): FlowSql {
  const noCodes = !byCode && !byGroup && inErrorCodes(filter) === null;
  const tables = noCodes ? SOURCE_TABLES : byGroup ? GROUP_FLOW : CODE_FLOW;
  const keys = [
    ...(noCodes ? [] : ["error_code"]),
    ...(byGroup ? ["fingerprint"] : []),
    ...(bySource ? ["source_id"] : []),
  ];
  return rowsOf(filter, spans, { tables, byGroup, keys, kinds: FLOW_KINDS });
}

type FlowColumns = {
  tables: readonly FlowTable[];
  byGroup: boolean;
  keys: readonly string[];
  kinds: readonly FlowKind[];
};

function rowsOf(
  filter: StatsQuery["filter"],
  spans: readonly FlowSpan[],
  { tables, byGroup, keys, kinds }: FlowColumns,
): FlowSql {
  const values = scopeValues(filter) as unknown[];
  const pieces = spans.flatMap((span) => flowPieces(tables, span));
  const conditions = `${inScope(filter)} and ${byGroup ? inGroup(filter) : anyOf("$3")}`;
  const between = (column: string, fromMs: number, toMs: number) => {
    const after = `${column} >= to_timestamp($${values.push(fromMs)}::float8 / 1000)`;
    return `${after} and ${column} < to_timestamp($${values.push(toMs)}::float8 / 1000)`;
  };
  const parts = pieces.map(
    ({ table, fromMs, toMs }) =>
      `select ${["at", ...keys, ...kinds].join(", ")} from ${table} where ${between("at", fromMs, toMs)} and ${conditions}`,
  );
  const log = between("minute", spans[0]!.fromMs, spans.at(-1)!.toMs);
  parts.push(
    `select ${["minute as at", ...keys, deltasOf(kinds)].join(", ")} from dlq_flow where ${log} and ${conditions} and ${inGroup(filter)}${byGroup ? ` and ${GROUPED}` : ""}`,
  );
  return { sql: parts.join("\n union all "), values };
}
