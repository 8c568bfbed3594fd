import type { ArrivedCode, ArrivedGroup, TopErrors } from "@/lib/contract/stats";
import type { StatsQuery } from "@/lib/contract/stats-query";
import { PARKED_STATUSES } from "@/lib/core/event-state";
import { iso } from "@/lib/core/iso-time";
import type { Viewer } from "@/lib/core/viewer";
import type { Queryable } from "@/lib/store/db";
import { FLOW, type FlowSpan, floorHour, flowValues, IN_SCOPE, scopeStats, scopeValues } from "@/lib/store/read/flow";

const CODES_MAX = 50;
const GROUPS_MAX = 20;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** What is usual is taken over at least this long before the window: a week has every hour of the week once. */
const USUAL_MS_MIN = 7 * DAY_MS;
/** A longer window begins and ends at full hours, so that its minutes need not be read. */
const BY_MINUTE_MS_MAX = 2 * DAY_MS;

/** Without a window what is parked now, with one what arrived in it. */
export async function readTopErrors(
  db: Queryable,
  viewer: Viewer,
  asked: StatsQuery,
  nowMs: number,
): Promise<TopErrors> {
  const query = scopeStats(viewer, asked);
  return query.windowed ? readArrived(db, query, nowMs) : readParked(db, query, nowMs);
}

/** Error codes by what is parked, largest first. `status` in place of the parked ones, when the filter names any. */
async function readParked(db: Queryable, query: StatsQuery, nowMs: number): Promise<TopErrors> {
  const statuses: readonly string[] = query.filter.status ?? PARKED_STATUSES;
  const rows = await db.query<{ errorCode: string; count: number; total: number }>(
    `select error_code as "errorCode", sum(n)::bigint as count, (sum(sum(n)) over ())::bigint as total from dlq_levels
      where status = any($3::text[]) and ${IN_SCOPE} group by 1 having sum(n) > 0 order by 2 desc, 1 limit ${CODES_MAX}`,
    [...scopeValues(query.filter).slice(0, 2), statuses],
    { name: "top_errors" },
  );
  const buckets = rows.map(({ errorCode, count }) => ({ errorCode, count }));
  return { asOf: iso(nowMs), kind: "exact", counts: "parked-now", buckets, total: rows[0]?.total ?? 0 };
}

/** The window as it is counted, and the time before it that tells what is usual. */
type Times = { fromMs: number; toMs: number; usualFromMs: number | null };

async function readArrived(db: Queryable, query: StatsQuery, nowMs: number): Promise<TopErrors> {
  const times = timesOf(query, await knownSince(db));
  const [codes, groups] = await Promise.all([arrivedCodes(db, query, times), arrivedGroups(db, query, times)]);
  return {
    asOf: iso(nowMs),
    kind: "exact",
    counts: "arrived",
    ...codes,
    groups,
    usualFrom: times.usualFromMs === null ? null : iso(times.usualFromMs),
  };
}

/** When the flow begins, epoch milliseconds; null when nothing ever arrived. */
async function knownSince(db: Queryable): Promise<number | null> {
  const [row] = await db.query<{ since: number | null }>(
    "select least((select min(hour) from dlq_flow_hours), (select min(minute) from dlq_flow where not rolled)) as since",
    [],
    { name: "flow_since" },
  );
  return row?.since ?? null;
}

function timesOf({ fromMs, toMs }: StatsQuery, sinceMs: number | null): Times {
  const byHour = toMs - fromMs > BY_MINUTE_MS_MAX;
  const start = byHour ? floorHour(fromMs) : Math.floor(fromMs / MINUTE_MS) * MINUTE_MS;
  const end = byHour ? floorHour(toMs - 1) + 3_600_000 : toMs;
  const lengthMs = toMs - fromMs;
  const usualFromMs = floorHour(Math.max(start - Math.max(USUAL_MS_MIN, lengthMs), sinceMs ?? start));
  // Less history than the window is long does not tell what is usual.
  return { fromMs: start, toMs: end, usualFromMs: start - usualFromMs >= lengthMs ? usualFromMs : null };
}

/** Hours before the window and in a long one, minutes where the window begins and in a short one. */
function spanOf({ fromMs, toMs, usualFromMs }: Times): FlowSpan {
  const hoursToMs = toMs - fromMs > BY_MINUTE_MS_MAX ? toMs : floorHour(fromMs);
  return { minutes: [hoursToMs, toMs], hours: [usualFromMs ?? floorHour(fromMs), hoursToMs] };
}

type CodeRow = { errorCode: string; parked: number; bounced: number; before: number; total: number };
type ArrivedCodes = { buckets: ArrivedCode[]; total: number };

/** The largest codes, and the sum of all. */
async function arrivedCodes(db: Queryable, query: StatsQuery, times: Times): Promise<ArrivedCodes> {
  const rows = await db.query<CodeRow>(
    `with flow as (${FLOW})
     select error_code as "errorCode",
            coalesce(sum(n) filter (where kind = 'parked' and at >= w.start), 0)::bigint as parked,
            coalesce(sum(n) filter (where kind = 'bounced' and at >= w.start), 0)::bigint as bounced,
            coalesce(sum(n) filter (where at < w.start), 0)::bigint as before,
            (sum(sum(n) filter (where at >= w.start)) over ())::bigint as total
       from flow cross join (select to_timestamp($8::float8 / 1000) as start) w
      where kind in ('parked', 'bounced')
      group by error_code having coalesce(sum(n) filter (where at >= w.start), 0) > 0
      order by sum(n) filter (where at >= w.start) desc, error_code limit ${CODES_MAX}`,
    [...flowValues(query.filter, spanOf(times)), times.fromMs],
    { name: "arrived_codes" },
  );
  const buckets = rows.map(({ before, total: _, ...row }) => {
    const count = row.parked + row.bounced;
    return { ...row, count, ...against(count, before, times) };
  });
  return { buckets, total: rows[0]?.total ?? 0 };
}

/** What is usual in as long a time, and how many times as much arrived. */
function against(count: number, before: number, { fromMs, toMs, usualFromMs }: Times) {
  if (usualFromMs === null) return { usual: null, factor: null };
  const usual = (before * (toMs - fromMs)) / (fromMs - usualFromMs);
  return { usual, factor: usual === 0 ? null : count / usual };
}

type GroupRow = { fingerprint: string; errorCode: string; pattern: string; count: number; before: number };

const FROM_SOURCES = "($1::text[] is null or source_id = any(array(select id from sources where name = any($1))))";
/** Of the groups in `top`. */
const OF_TOP = `${FROM_SOURCES} and fingerprint = any(array(select fingerprint from top))`;

/**
 * The groups that most arrived of. `$3`, `$4` = the window, `$5` = where the usual begins, `$6` = the window's full hours
 * are enough, `$7` = the last full hour before the window. A minute is a row for each group: before the window only those
 * are read that are not in the hours yet.
 */
async function arrivedGroups(db: Queryable, { filter }: StatsQuery, times: Times): Promise<ArrivedGroup[]> {
  const span = spanOf(times);
  const rows = await db.query<GroupRow>(
    `with times as (
       select to_timestamp($3::float8 / 1000) as start, to_timestamp($4::float8 / 1000) as stop,
              to_timestamp($5::float8 / 1000) as usual, to_timestamp($7::float8 / 1000) as full_hour),
     arrived as (
       select fingerprint, sum(n)::bigint as count from (
         select fingerprint, source_id, n from dlq_flow
          where not $6::boolean and minute >= (select start from times) and minute < (select stop from times)
            and kind in ('parked', 'bounced')
         union all
         select fingerprint, source_id, n from dlq_flow
          where $6::boolean and not rolled and minute >= (select start from times) and minute < (select stop from times)
            and kind in ('parked', 'bounced')
         union all
         select fingerprint, source_id, n from dlq_group_flow_hours
          where $6::boolean and hour >= (select start from times) and hour < (select stop from times)) flow
        where ${FROM_SOURCES} group by fingerprint),
     top as (
       select g.fingerprint, g.error_code, g.message_pattern, a.count from arrived a join dlq_groups g using (fingerprint)
        where ($2::text[] is null or g.error_code = any($2)) order by a.count desc, g.fingerprint limit ${GROUPS_MAX}),
     before as (
       select fingerprint, sum(n)::bigint as n from (
         select fingerprint, n from dlq_group_flow_hours
          where hour >= (select usual from times) and hour < (select full_hour from times) and ${OF_TOP}
         union all
         select fingerprint, n from dlq_flow
          where not rolled and minute >= (select usual from times) and minute < (select full_hour from times)
            and kind in ('parked', 'bounced') and ${OF_TOP}
         union all
         select fingerprint, n from dlq_flow
          where minute >= (select full_hour from times) and minute < (select start from times)
            and kind in ('parked', 'bounced') and ${OF_TOP}) flow
        group by fingerprint)
     select top.fingerprint, error_code as "errorCode", message_pattern as pattern, count,
            coalesce(before.n, 0)::bigint as before
       from top left join before using (fingerprint) order by count desc, fingerprint`,
    [
      filter.source ?? null,
      filter.errorCode ?? null,
      times.fromMs,
      times.toMs,
      times.usualFromMs ?? times.fromMs,
      span.minutes[0] === span.minutes[1],
      floorHour(times.fromMs),
    ],
    { name: "arrived_groups" },
  );
  return rows.map(({ before, ...row }) => ({ ...row, ...against(row.count, before, times) }));
}
