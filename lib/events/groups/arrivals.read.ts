import type { Arrivals } from "@/lib/events/groups/arrivals.shapes";
import { factorOf, trendOf, usualOf } from "@/lib/events/groups/baseline.pure";
import { risesStill, type Verdict, verdictOf } from "@/lib/events/groups/group-verdict.pure";
import { type Window, type WindowsBefore, windowsBefore } from "@/lib/events/groups/windows-before.pure";
import type { Queryable } from "@/lib/platform/database/db";
import {
  asSum,
  type FlowSpan,
  floorHour,
  groupArrivalRows,
  HOUR_MS,
  inScope,
  inSources,
  scopeValues,
} from "@/lib/selection/flow.read";
import type { StatsQuery } from "@/lib/selection/stats-query.shapes";
import { NARROW_SINCE } from "@/lib/states/flow-tables.sql";

/** What arrives, by code and by group, against what usually arrives. */

const MINUTE_MS = 60_000;
/** A longer window begins and ends at full hours, because minutes hardly change its length. */
const BY_MINUTE_MS_MAX = 2 * 86_400_000;

/** The counted window, and the times on the days before that give the usual number. */
export type Times = Window & { before: WindowsBefore };

export function timesOf({ fromMs, toMs }: Window, sinceMs: number | null): Times {
  const byHour = toMs - fromMs > BY_MINUTE_MS_MAX;
  const window = byHour
    ? { fromMs: floorHour(fromMs), toMs: floorHour(toMs - 1) + HOUR_MS }
    : { fromMs: Math.floor(fromMs / MINUTE_MS) * MINUTE_MS, toMs };
  return { ...window, before: windowsBefore(window, sinceMs) };
}

/** The number in the window is one sum, and so is that of each day before; the earliest first. Days that adjoin are one span: each has rows of its own. */
export function spansOf({ fromMs, toMs, before }: Times): FlowSpan[] {
  const spans: FlowSpan[] = [];
  for (const window of before.windows.toReversed()) {
    const last = spans.at(-1);
    if (last?.toMs === window.fromMs) last.toMs = window.toMs;
    else spans.push(asSum(window.fromMs, window.toMs));
  }
  return [...spans, asSum(fromMs, toMs)];
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

/** What usually arrives in as long a time of the same hours, and how the arrivals compare with it. */
export function against(count: number, days: readonly number[], { before }: Times): Omit<Arrivals, "count"> {
  const usual = usualOf(days.map((n) => Number(n) * before.scale));
  const spread = usual?.spread ?? null;
  return { usual: usual?.median ?? null, spread, factor: factorOf(count, usual), trend: trendOf(count, usual) };
}

/** SQL: arrivals by group in the window, and `days` of the days before. */
export function groupsInFlow(filter: StatsQuery["filter"], times: Times): { sql: string; values: unknown[] } {
  const { sql, values } = groupArrivalRows(filter, spansOf(times));
  const count = sumIn(times, ARRIVED, values);
  const text = `select fingerprint, ${count} as count, ${daysIn(times, values)} as days from (${sql}) flow group by fingerprint`;
  return { sql: text, values };
}

/** `beforeMs`: the last arrival before the window; null = none. */
export type GroupArrivalRow = { fingerprint: string; count: number; days: number[]; beforeMs: number | null };

/** SQL: the last arrival of the group `fingerprint` before the window; `logged` is a common table expression that is joined to it. */
export function lastBefore(
  fingerprint: string,
  filter: StatsQuery["filter"],
  { fromMs }: Window,
  values: unknown[],
): { logged: string; sql: string } {
  const from = `to_timestamp($${values.push(fromMs)}::float8 / 1000)`;
  const sources = inSources(filter);
  const ofSource = sources === null ? "" : `and ${sources}`;
  const newest = (table: string, before: string) =>
    `(select at from ${table} where fingerprint = ${fingerprint} and at < ${before} and ${ARRIVED} > 0 ${ofSource} order by at desc limit 1)`;
  return {
    logged: `logged as materialized (select fingerprint, max(minute) as at from dlq_flow
       where minute < ${from} and kind in ('parked', 'bounced', 'unstored') ${ofSource} group by 1)`,
    sql: `greatest(${newest("dlq_group_flow_minutes", from)}, ${newest("dlq_group_flow_hours", `date_trunc('hour', ${from}, 'UTC')`)},
       logged.at)`,
  };
}

/** The arrivals of a group in the window, and the verdict of every page on them. */
export function judged({ count, days, beforeMs }: GroupArrivalRow, times: Times): GroupArrivals {
  const arrivals = { count, ...against(count, days, times) };
  return { ...arrivals, verdict: verdictOf({ count, trend: arrivals.trend, fromMs: times.fromMs, beforeMs }) };
}

/** Judges the groups that rose in the window by its last hour, so that a rise that is over is not shown as one. */
export async function judgeLastHour<Group extends { fingerprint: string; count: number; verdict: Verdict }>(
  db: Queryable,
  filter: StatsQuery["filter"],
  { fromMs, toMs, sinceMs }: Window & { sinceMs: number | null },
  groups: Group[],
): Promise<Group[]> {
  const risen = groups.filter(({ verdict }) => verdict === "rising").map(({ fingerprint }) => fingerprint);
  const hours = (toMs - fromMs) / HOUR_MS;
  if (risen.length === 0 || hours <= 1) return groups;
  const times = timesOf({ fromMs: toMs - HOUR_MS, toMs }, sinceMs);
  const read = groupsInFlow({ ...filter, fingerprint: risen }, times);
  const rows = await db.query<GroupArrivalRow>(read.sql, read.values, { name: "last-hour" });
  const last = new Map(
    rows.map(({ fingerprint, count, days }) => [fingerprint, { count, ...against(count, days, times) }]),
  );
  return groups.map((group) => {
    const lastHour = last.get(group.fingerprint) ?? { count: 0, trend: "usual" };
    const over = group.verdict === "rising" && !risesStill(lastHour, { count: group.count, hours });
    return over ? { ...group, verdict: "falling" } : group;
  });
}

type GroupKinds = StatsQuery["filter"] & { fingerprint: string[] };

export type GroupArrivals = Arrivals & { verdict: Verdict };

/** What arrived of these groups in the window, judged as the overview judges it. `sinceMs`: the start of the flow. */
export async function readGroupArrivals(
  db: Queryable,
  filter: GroupKinds,
  window: Window & { sinceMs: number | null },
): Promise<Map<string, GroupArrivals>> {
  const times = timesOf(window, window.sinceMs);
  const arrived = groupsInFlow(filter, times);
  const before = lastBefore("arrived.fingerprint", filter, times, arrived.values);
  const text = `with arrived as materialized (${arrived.sql}), ${before.logged}
    select arrived.*, case when count > 0 then ${before.sql} end as "beforeMs"
      from arrived left join logged on logged.fingerprint = arrived.fingerprint`;
  const rows = await db.query<GroupArrivalRow>(text, arrived.values, { name: "group-arrivals" });
  const found = new Map(rows.map((row) => [row.fingerprint, row]));
  const none = { count: 0, days: times.before.windows.map(() => 0), beforeMs: null };
  const groups = filter.fingerprint.map((fingerprint) => ({
    fingerprint,
    ...judged(found.get(fingerprint) ?? { fingerprint, ...none }, times),
  }));
  const arrivals = await judgeLastHour(db, filter, window, groups);
  return new Map(arrivals.map(({ fingerprint, ...of }) => [fingerprint, of]));
}

/** How many events of a group were counted and not stored in the window, and in which minute that began. */
type Unstored = { count: number; sinceMs: number };

/** Of these groups, those of which events of the window were not stored. */
export async function readUnstored(
  db: Queryable,
  filter: GroupKinds,
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
    name: "unstored",
  });
  return new Map(rows.map(({ fingerprint, ...unstored }) => [fingerprint, unstored]));
}
