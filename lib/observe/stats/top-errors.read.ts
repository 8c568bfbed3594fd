import { PARKED_STATUSES } from "@/lib/events/event-state.pure";
import { errorTextFor } from "@/lib/events/list/event-rows.read";
import type { Viewer } from "@/lib/guard/viewer/viewer.pure";
import { factorOf, trendOf, usualOf } from "@/lib/observe/baseline.pure";
import {
  asSum,
  type FlowSpan,
  floorHour,
  flowRows,
  HOUR_MS,
  inScope,
  scopeStats,
  scopeValues,
} from "@/lib/observe/flow.read";
import { NARROW_SINCE } from "@/lib/observe/flow-tables.sql";
import type { Arrivals, ArrivedCode, ArrivedGroup, TopErrors } from "@/lib/observe/stats/stats.shapes";
import type { StatsQuery } from "@/lib/observe/stats/stats-query.shapes";
import { type Window, type WindowsBefore, windowsBefore } from "@/lib/observe/windows-before.pure";
import { type Queryable, statementName } from "@/lib/platform/database/db";
import { iso } from "@/lib/platform/plain/iso-time.pure";

const CODES_MAX = 50;
const GROUPS_MAX = 20;
const MINUTE_MS = 60_000;
/** A longer window begins and ends at full hours, because minutes hardly change its length. */
const BY_MINUTE_MS_MAX = 2 * 86_400_000;

/** Without a window the list counts the events parked now, with a window the arrivals in it. */
export async function readTopErrors(
  db: Queryable,
  viewer: Viewer,
  asked: StatsQuery,
  nowMs: number,
): Promise<TopErrors> {
  const query = scopeStats(viewer, asked);
  return query.windowed ? readArrived(db, viewer, query, nowMs) : readParked(db, query, nowMs);
}

/**
 * Error codes by number of parked events, largest first. `status` replaces the parked statuses when the filter names
 * any.
 */
async function readParked(db: Queryable, query: StatsQuery, nowMs: number): Promise<TopErrors> {
  const statuses: readonly string[] = query.filter.status ?? PARKED_STATUSES;
  const text = `select error_code as "errorCode", sum(n)::bigint as count, (sum(sum(n)) over ())::bigint as total from dlq_level_sums
      where status = any($3::text[]) and ${inScope(query.filter)} group by 1 having sum(n) > 0
      order by 2 desc, 1 limit ${CODES_MAX}`;
  const rows = await db.query<{ errorCode: string; count: number; total: number }>(
    text,
    [...scopeValues(query.filter).slice(0, 2), statuses],
    { name: statementName("top-errors", text) },
  );
  const buckets = rows.map(({ errorCode, count }) => ({ errorCode, count }));
  return { asOf: iso(nowMs), kind: "exact", counts: "parked-now", buckets, total: rows[0]?.total ?? 0 };
}

/** The counted window, and the times on the days before that give the usual number. */
export type Times = Window & { before: WindowsBefore };

async function readArrived(db: Queryable, viewer: Viewer, query: StatsQuery, nowMs: number): Promise<TopErrors> {
  const textOut = errorTextFor(viewer);
  const times = timesOf(query, await knownSince(db));
  const [codes, groups] = await Promise.all([arrivedCodes(db, query, times), arrivedGroups(db, query, times)]);
  return {
    asOf: iso(nowMs),
    kind: "exact",
    counts: "arrived",
    ...codes,
    groups: groups.map((group) => ({ ...group, pattern: textOut(group.pattern) })),
    usualFrom: usualOf(times.before.windows.map(() => 0)) === null ? null : iso(times.before.windows.at(-1)!.fromMs),
  };
}

/** The start of the flow, epoch milliseconds; null when no event ever arrived. */
export async function knownSince(db: Queryable): Promise<number | null> {
  const [row] = await db.query<{ since: number | null }>(
    "select least((select min(at) from dlq_flow_hours), (select min(minute) from dlq_flow)) as since",
    [],
    { name: "flow-since" },
  );
  return row?.since ?? null;
}

function timesOf({ fromMs, toMs }: Window, sinceMs: number | null): Times {
  const byHour = toMs - fromMs > BY_MINUTE_MS_MAX;
  const window = byHour
    ? { fromMs: floorHour(fromMs), toMs: floorHour(toMs - 1) + HOUR_MS }
    : { fromMs: Math.floor(fromMs / MINUTE_MS) * MINUTE_MS, toMs };
  return { ...window, before: windowsBefore(window, sinceMs) };
}

/** The number in the window is one sum, and so is that of each day before; the earliest first. */
export function spansOf({ fromMs, toMs, before }: Times): FlowSpan[] {
  return [...before.windows.toReversed(), { fromMs, toMs }].map((window) => asSum(window.fromMs, window.toMs));
}

/** SQL: the sum over a window; `values` get its ends. */
export function sumIn({ fromMs, toMs }: Window, sum: string, values: unknown[]): string {
  const from = `at >= to_timestamp($${values.push(fromMs)}::float8 / 1000)`;
  return `coalesce(sum(${sum}) filter (where ${from} and at < to_timestamp($${values.push(toMs)}::float8 / 1000)), 0)::bigint`;
}

/** SQL: arrivals of each day before. */
export function daysIn({ before }: Times, values: unknown[]): string {
  return `array[${before.windows.map((window) => sumIn(window, ARRIVED, values)).join(", ")}]::bigint[]`;
}

/** What came, whether it was stored or only counted. */
export const ARRIVED = "parked + bounced + unstored";

type CodeRow = { errorCode: string; parked: number; bounced: number; unstored: number; days: number[]; total: number };
type ArrivedCodes = { buckets: ArrivedCode[]; total: number };

/** The largest codes, and the sum of all. */
async function arrivedCodes(db: Queryable, query: StatsQuery, times: Times): Promise<ArrivedCodes> {
  const flow = flowRows(query.filter, spansOf(times));
  const within = (sum: string) => sumIn(times, sum, flow.values);
  const text = `with flow as (${flow.sql}),
     codes as (
       select error_code as "errorCode", ${within("parked")} as parked, ${within("bounced")} as bounced,
              ${within("unstored")} as unstored, ${daysIn(times, flow.values)} as days
         from flow group by error_code)
     select *, (sum(${ARRIVED}) over ())::bigint as total from codes
      where ${ARRIVED} > 0 order by ${ARRIVED} desc, "errorCode" limit ${CODES_MAX}`;
  const rows = await db.query<CodeRow>(text, flow.values, { name: statementName("arrived-codes", text) });
  const buckets = rows.map(({ days, total: _, ...row }) => {
    const count = row.parked + row.bounced + row.unstored;
    return { ...row, count, ...against(count, days, times) };
  });
  return { buckets, total: rows[0]?.total ?? 0 };
}

/** What usually arrives in as long a time of the same hours, and how the arrivals compare with it. */
function against(count: number, days: readonly number[], { before }: Times): Omit<Arrivals, "count"> {
  const usual = usualOf(days.map((n) => Number(n) * before.scale));
  const spread = usual?.spread ?? null;
  return { usual: usual?.median ?? null, spread, factor: factorOf(count, usual), trend: trendOf(count, usual) };
}

/** What arrived of these groups in the window, judged as the overview judges it. Absent = nothing arrived, now or before. */
export async function readGroupArrivals(
  db: Queryable,
  filter: Pick<StatsQuery["filter"], "source" | "errorCode"> & { fingerprint: string[] },
  window: Window,
): Promise<Map<string, Arrivals>> {
  const times = timesOf(window, await knownSince(db));
  const arrived = groupsInFlow(filter, times);
  const rows = await db.query<{ fingerprint: string; count: number; days: number[] }>(
    `select * from (${arrived.sql}) arrived`,
    arrived.values,
    { name: statementName("group-arrivals", arrived.sql) },
  );
  return new Map(rows.map(({ fingerprint, count, days }) => [fingerprint, { count, ...against(count, days, times) }]));
}

/** SQL: arrivals by group in the window, and `days` of the days before. */
function groupsInFlow(filter: StatsQuery["filter"], times: Times): { sql: string; values: unknown[] } {
  const { sql, values } = flowRows(filter, spansOf(times), { byGroup: true });
  const count = sumIn(times, ARRIVED, values);
  const text = `select fingerprint, ${count} as count, ${daysIn(times, values)} as days from (${sql}) flow group by fingerprint`;
  return { sql: text, values };
}

type GroupRow = { fingerprint: string; errorCode: string; pattern: string; count: number; days: number[] };

/** How many events of a group were counted and not stored in the window, and in which minute that began. */
export type Unstored = { count: number; sinceMs: number };

/** Of these groups, those of which events of the window were not stored. */
export async function readUnstored(
  db: Queryable,
  filter: Pick<StatsQuery["filter"], "source" | "errorCode"> & { fingerprint: string[] },
  { fromMs, toMs }: Window,
): Promise<Map<string, Unstored>> {
  const scope = `fingerprint = any($3::text[]) and ${inScope(filter)}`;
  const within = (column: string, width = "minute") =>
    `${column} >= date_trunc('${width}', to_timestamp($4::float8 / 1000), 'UTC') and ${column} < to_timestamp($5::float8 / 1000)`;
  const text = `select fingerprint, sum(n)::bigint as count, min(at) as "sinceMs" from (
       select fingerprint, unstored as n, at from dlq_group_flow_minutes
        where unstored > 0 and ${within("at")} and at >= ${NARROW_SINCE} and ${scope}
       union all
       select fingerprint, unstored, at from dlq_group_flow_hours
        where unstored > 0 and ${within("at", "hour")} and at < ${NARROW_SINCE} and ${scope}
       union all
       select fingerprint, n, minute from dlq_flow where kind = 'unstored' and ${within("minute")} and ${scope}) counted
      group by 1`;
  const rows = await db.query<Unstored & { fingerprint: string }>(text, [...scopeValues(filter), fromMs, toMs], {
    name: statementName("unstored", text),
  });
  return new Map(rows.map(({ fingerprint, ...unstored }) => [fingerprint, unstored]));
}

/** The groups with the most arrivals. */
async function arrivedGroups(db: Queryable, { filter }: StatsQuery, times: Times): Promise<ArrivedGroup[]> {
  const arrived = groupsInFlow(filter, times);
  const text = `with arrived as (${arrived.sql})
     select a.fingerprint, g.error_code as "errorCode", g.message_pattern as pattern, a.count, a.days
       from arrived a join dlq_groups g using (fingerprint)
      where a.count > 0 order by a.count desc, a.fingerprint limit ${GROUPS_MAX}`;
  const rows = await db.query<GroupRow>(text, arrived.values, { name: statementName("arrived-groups", text) });
  return rows.map(({ days, ...row }) => ({ ...row, ...against(row.count, days, times) }));
}
