import { PARKED_STATUSES } from "@/lib/events/event-state.pure";
import { errorTextFor } from "@/lib/events/list/event-rows.read";
import type { Viewer } from "@/lib/guard/viewer/viewer.pure";
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
import { type Queryable, statementName } from "@/lib/platform/database/db";
import { iso } from "@/lib/platform/plain/iso-time.pure";

const CODES_MAX = 50;
const GROUPS_MAX = 20;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** The usual number is measured over at least this time before the window: a week holds every hour of the week once. */
const USUAL_MS_MIN = 7 * DAY_MS;
/** A longer window begins and ends at full hours, because minutes hardly change its length. */
const BY_MINUTE_MS_MAX = 2 * DAY_MS;

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

type Window = Pick<StatsQuery, "fromMs" | "toMs">;

/** The counted window, and the time before it that gives the usual number. */
type Times = { fromMs: number; toMs: number; usualFromMs: number | null };

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
    usualFrom: times.usualFromMs === null ? null : iso(times.usualFromMs),
  };
}

/** The start of the flow, epoch milliseconds; null when no event ever arrived. */
async function knownSince(db: Queryable): Promise<number | null> {
  const [row] = await db.query<{ since: number | null }>(
    "select least((select min(at) from dlq_flow_hours), (select min(minute) from dlq_flow)) as since",
    [],
    { name: "flow-since" },
  );
  return row?.since ?? null;
}

function timesOf({ fromMs, toMs }: Window, sinceMs: number | null): Times {
  const byHour = toMs - fromMs > BY_MINUTE_MS_MAX;
  const start = byHour ? floorHour(fromMs) : Math.floor(fromMs / MINUTE_MS) * MINUTE_MS;
  const end = byHour ? floorHour(toMs - 1) + HOUR_MS : toMs;
  const lengthMs = toMs - fromMs;
  const usualFromMs = floorHour(Math.max(start - Math.max(USUAL_MS_MIN, lengthMs), sinceMs ?? start));
  // A history shorter than the window gives no usual number.
  return { fromMs: start, toMs: end, usualFromMs: start - usualFromMs >= lengthMs ? usualFromMs : null };
}

/** The usual number and the number in the window are one sum each. */
function spansOf({ fromMs, toMs, usualFromMs }: Times): FlowSpan[] {
  return [asSum(usualFromMs ?? fromMs, fromMs), asSum(fromMs, toMs)];
}

/** What came, whether it was stored or only counted. */
const ARRIVED = "parked + bounced + unstored";

type CodeRow = { errorCode: string; parked: number; bounced: number; unstored: number; before: number; total: number };
type ArrivedCodes = { buckets: ArrivedCode[]; total: number };

/** The largest codes, and the sum of all. */
async function arrivedCodes(db: Queryable, query: StatsQuery, times: Times): Promise<ArrivedCodes> {
  const flow = flowRows(query.filter, spansOf(times));
  const inWindow = `at >= to_timestamp($${flow.values.push(times.fromMs)}::float8 / 1000)`;
  const text = `with flow as (${flow.sql})
     select * from (
       select error_code as "errorCode", coalesce(sum(parked) filter (where ${inWindow}), 0)::bigint as parked,
              coalesce(sum(bounced) filter (where ${inWindow}), 0)::bigint as bounced,
              coalesce(sum(unstored) filter (where ${inWindow}), 0)::bigint as unstored,
              coalesce(sum(${ARRIVED}) filter (where not ${inWindow}), 0)::bigint as before,
              (sum(sum(${ARRIVED}) filter (where ${inWindow})) over ())::bigint as total
         from flow group by error_code) codes
      where ${ARRIVED} > 0 order by ${ARRIVED} desc, "errorCode" limit ${CODES_MAX}`;
  const rows = await db.query<CodeRow>(text, flow.values, { name: statementName("arrived-codes", text) });
  const buckets = rows.map(({ before, total: _, ...row }) => {
    const count = row.parked + row.bounced + row.unstored;
    return { ...row, count, ...against(count, before, times) };
  });
  return { buckets, total: rows[0]?.total ?? 0 };
}

/** The usual number in a time of the same length, and the ratio of arrivals to it. */
function against(count: number, before: number, { fromMs, toMs, usualFromMs }: Times): Omit<Arrivals, "count"> {
  if (usualFromMs === null) return { usual: null, factor: null };
  const usual = (before * (toMs - fromMs)) / (fromMs - usualFromMs);
  return { usual, factor: usual === 0 ? null : count / usual };
}

/** What arrived of these groups in the window, judged as the overview judges it. Absent = nothing arrived, now or before. */
export async function readGroupArrivals(
  db: Queryable,
  filter: Pick<StatsQuery["filter"], "source" | "errorCode"> & { fingerprint: string[] },
  window: Window,
): Promise<Map<string, Arrivals>> {
  const times = timesOf(window, await knownSince(db));
  const arrived = groupsInFlow(filter, times);
  const rows = await db.query<{ fingerprint: string; count: number; before: number }>(
    `select * from (${arrived.sql}) arrived`,
    arrived.values,
    { name: statementName("group-arrivals", arrived.sql) },
  );
  return new Map(
    rows.map(({ fingerprint, count, before }) => [fingerprint, { count, ...against(count, before, times) }]),
  );
}

/** SQL: arrivals by group in the window, and `before` in the time that gives the usual number. */
function groupsInFlow(filter: StatsQuery["filter"], times: Times): { sql: string; values: unknown[] } {
  const flow = flowRows(filter, spansOf(times), { byGroup: true });
  const inWindow = `at >= to_timestamp($${flow.values.push(times.fromMs)}::float8 / 1000)`;
  const sql = `select fingerprint, coalesce(sum(${ARRIVED}) filter (where ${inWindow}), 0)::bigint as count,
              coalesce(sum(${ARRIVED}) filter (where not ${inWindow}), 0)::bigint as before
         from (${flow.sql}) flow group by fingerprint`;
  return { sql, values: flow.values };
}

type GroupRow = { fingerprint: string; errorCode: string; pattern: string; count: number; before: number };

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
     select a.fingerprint, g.error_code as "errorCode", g.message_pattern as pattern, a.count, a.before
       from arrived a join dlq_groups g using (fingerprint)
      where a.count > 0 order by a.count desc, a.fingerprint limit ${GROUPS_MAX}`;
  const rows = await db.query<GroupRow>(text, arrived.values, { name: statementName("arrived-groups", text) });
  return rows.map(({ before, ...row }) => ({ ...row, ...against(row.count, before, times) }));
}
