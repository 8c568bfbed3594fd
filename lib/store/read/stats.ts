import type { AgeStats, FlowStats, Markers, RedriveSuccess, SizeStats } from "@/lib/contract/stats";
import { bucketStarts, type StatsQuery } from "@/lib/contract/stats-query";
import { agePercentiles, type HourCount, parkedHoursAt } from "@/lib/core/age-percentiles";
import { PARKED_STATUSES } from "@/lib/core/event-state";
import { iso } from "@/lib/core/iso-time";
import { sourceScope, type Viewer } from "@/lib/core/viewer";
import type { Queryable } from "@/lib/store/db";
import { paramsFrom } from "@/lib/store/read/event-filter-sql";
import { kindConditions } from "@/lib/store/read/event-kinds";
import {
  ALL_HOURS,
  FLOW,
  floorHour,
  flowSpan,
  flowValues,
  IN_SCOPE,
  SIZE_EFFECT_SQL,
  scopeStats,
  scopeValues,
  sizeSpan,
} from "@/lib/store/read/flow";
import { seesControl, seesRedrive } from "@/lib/store/read/scope-sql";

/** Charts, all from the rollups: their cost does not grow with the events. */

/** More cannot be told apart in a chart; all that come after them are one. */
const SIZE_CODES_MAX = 50;
const OTHER_CODES = "other";

type SizeRow = { bucket: number | null; code: string; n: number };

/**
 * dlq_size at the end of each bucket: what is parked now, less what came since, plus what went since. Level and flow are
 * read by one statement: between two an arrival would be in one of them only.
 */
export async function readSize(db: Queryable, viewer: Viewer, asked: StatsQuery, nowMs: number): Promise<SizeStats> {
  const query = scopeStats(viewer, asked);
  const starts = bucketStarts(query);
  const rows = await db.query<SizeRow>(
    `with flow as (${FLOW}),
     net as materialized (
       select null::bigint as bucket, code, sum(n) as n from (${levelsOf(query.filter)}) levels group by code
       union all
       select floor(extract(epoch from at) * 1000 / $8)::bigint, error_code, sum(${SIZE_EFFECT_SQL}) from flow group by 1, 2),
     named as (select code from net group by code order by sum(abs(n)) desc, code limit ${SIZE_CODES_MAX})
     select bucket, coalesce(named.code, '${OTHER_CODES}') as code, sum(n)::bigint as n
       from net left join named using (code) group by 1, 2`,
    [...flowValues(query.filter, sizeSpan(query)), query.bucketMs, PARKED_STATUSES],
    { name: query.filter.fingerprint ? "size_groups" : "size_codes" },
  );
  const level = new Map(rows.filter(({ bucket }) => bucket === null).map(({ code, n }) => [code, n]));
  const total = [...level.values()].reduce((sum, n) => sum + n, 0);
  const changes = rows.filter((row): row is NetRow => row.bucket !== null);
  const byBucket = Map.groupBy(changes, (row) => row.bucket * query.bucketMs);
  // From now backwards: each step takes back what the bucket changed. Buckets behind the window come first.
  const inWindow = new Set(starts);
  for (const [start, net] of byBucket) if (!inWindow.has(start)) takeBack(level, net);
  const buckets: SizeStats["buckets"] = [];
  for (const start of [...starts].reverse()) {
    buckets.push(sizeBucket(start, level));
    takeBack(level, byBucket.get(start) ?? []);
  }
  return { asOf: iso(nowMs), kind: "exact", bucketMs: query.bucketMs, buckets: buckets.reverse(), now: total };
}

type NetRow = SizeRow & { bucket: number };

/** What is parked, by code. By group only where that is asked for: its rollup does not know the code. `$9` = statuses. */
function levelsOf(filter: StatsQuery["filter"]): string {
  return filter.fingerprint
    ? `select g.error_code as code, l.n from dlq_group_levels l join dlq_groups g using (fingerprint)
        where l.status = any($9::text[]) and l.fingerprint = any($3)
          and ($1::text[] is null or l.source_id = any(array(select id from sources where name = any($1))))
          and ($2::text[] is null or g.error_code = any($2))`
    : `select error_code as code, n from dlq_levels where status = any($9::text[]) and ${IN_SCOPE}`;
}

function takeBack(level: Map<string, number>, rows: NetRow[]): void {
  for (const { code, n } of rows) level.set(code, (level.get(code) ?? 0) - n);
}

function sizeBucket(startMs: number, level: Map<string, number>): SizeStats["buckets"][number] {
  const byErrorCode: Record<string, number> = {};
  let total = 0;
  for (const [code, n] of level) {
    if (n <= 0) continue;
    byErrorCode[code] = n;
    total += n;
  }
  return { at: iso(startMs), total, byErrorCode };
}

type FlowRow = { bucket: number; kind: string; n: number };

function readFlowRows(db: Queryable, query: StatsQuery): Promise<FlowRow[]> {
  return db.query<FlowRow>(
    `with flow as (${FLOW})
     select floor(extract(epoch from at) * 1000 / $8)::bigint as bucket, kind, sum(n)::bigint as n
       from flow group by 1, 2`,
    [...flowValues(query.filter, flowSpan(query)), query.bucketMs],
    { name: "flow_rows" },
  );
}

/** The kinds that a chart shows. */
const CHARTED = ["parked", "redriven", "confirmed", "failed", "bounced", "ignored", "released"] as const;
type FlowCounts = Record<(typeof CHARTED)[number] | "unconfirmed", number>;

function noFlow(): FlowCounts {
  return { parked: 0, redriven: 0, confirmed: 0, failed: 0, bounced: 0, ignored: 0, released: 0, unconfirmed: 0 };
}

async function flowByBucket(db: Queryable, query: StatsQuery): Promise<{ startMs: number; counts: FlowCounts }[]> {
  const rows = await readFlowRows(db, query);
  const byStart = new Map(bucketStarts(query).map((start) => [start, noFlow()]));
  for (const { bucket, kind, n } of rows) {
    const counts = byStart.get(bucket * query.bucketMs);
    if (counts && kind in counts) counts[kind as keyof FlowCounts] += n;
  }
  return [...byStart].map(([startMs, counts]) => ({ startMs, counts }));
}

export async function readFlow(db: Queryable, viewer: Viewer, asked: StatsQuery, nowMs: number): Promise<FlowStats> {
  const query = scopeStats(viewer, asked);
  const buckets = await flowByBucket(db, query);
  return {
    asOf: iso(nowMs),
    kind: "exact",
    bucketMs: query.bucketMs,
    buckets: buckets.map(({ startMs, counts: { unconfirmed: _, ...counts } }) => ({ at: iso(startMs), ...counts })),
  };
}

/** Confirmed of what is settled: an event that is only sent counts neither way. */
export async function readRedriveSuccess(
  db: Queryable,
  viewer: Viewer,
  asked: StatsQuery,
  nowMs: number,
): Promise<RedriveSuccess> {
  const query = scopeStats(viewer, asked);
  const buckets = await flowByBucket(db, query);
  const total = noFlow();
  for (const { counts } of buckets)
    for (const kind of [...CHARTED, "unconfirmed"] as const) total[kind] += counts[kind];
  return {
    asOf: iso(nowMs),
    kind: "exact",
    ...success(total),
    bucketMs: query.bucketMs,
    buckets: buckets.map(({ startMs, counts }) => ({ at: iso(startMs), ...success(counts) })),
  };
}

/** An event that came back after its confirmation counts as bounced alone. */
function success({ redriven, confirmed: ever, unconfirmed, bounced, failed }: FlowCounts) {
  const confirmed = Math.max(0, ever - unconfirmed);
  const settled = confirmed + bounced + failed;
  return { delivered: redriven, confirmed, bounced, failed, rate: settled === 0 ? null : confirmed / settled };
}

/**
 * Ages of what is parked. The rollup knows the hour of first sight: p50 and p95 are within an hour, the oldest is read
 * from its index. Of the past it is estimated what had left by then, see `parkedHoursAt`.
 */
export async function readAge(db: Queryable, viewer: Viewer, asked: StatsQuery, nowMs: number): Promise<AgeStats> {
  const query = scopeStats(viewer, asked);
  const starts = bucketStarts(query);
  const [present, flow, oldestMs] = await Promise.all([
    presentHours(db, query.filter),
    hourlyFlow(db, query.filter),
    readOldest(db, query.filter),
  ]);
  const ends = starts.map((start) => Math.min(start + query.bucketMs, nowMs));
  const past = parkedHoursAt({ present, ...flow }, ends);
  const ages = (hours: HourCount[], atMs: number): Ages => {
    const [p50Ms, p95Ms, oldest] = agePercentiles(hours, [0.5, 0.95, 1], atMs);
    return { p50Ms: p50Ms ?? null, p95Ms: p95Ms ?? null, oldestMs: oldest ?? null };
  };
  return {
    asOf: iso(nowMs),
    kind: "estimated",
    bucketMs: query.bucketMs,
    ...bounded(ages(present, nowMs), present, nowMs, oldestMs),
    buckets: starts.map((start, index) => ({
      at: iso(start),
      ...bounded(ages(past[index]!, ends[index]!), past[index]!, ends[index]!, oldestMs),
    })),
  };
}

type Ages = { p50Ms: number | null; p95Ms: number | null; oldestMs: number | null };

/**
 * The rollup knows hours, the index knows when the oldest event that is parked now was first seen. Where no event of an
 * earlier hour was parked, nothing is taken as older than that event.
 */
function bounded(ages: Ages, hours: readonly HourCount[], atMs: number, oldestMs: number | null): Ages {
  const earlier = oldestMs === null || hours.some(({ hourMs, n }) => n > 0 && hourMs < floorHour(oldestMs));
  if (earlier || oldestMs === null) return ages;
  const most = atMs - oldestMs;
  if (most < 0) return { p50Ms: null, p95Ms: null, oldestMs: null };
  const atMost = (ms: number | null) => (ms === null ? null : Math.min(ms, most));
  return { p50Ms: atMost(ages.p50Ms), p95Ms: atMost(ages.p95Ms), oldestMs: most };
}

async function presentHours(db: Queryable, filter: StatsQuery["filter"]): Promise<HourCount[]> {
  return db.query<HourCount>(
    `select (extract(epoch from hour) * 1000)::bigint as "hourMs", sum(n)::bigint as n from dlq_levels
      where status = any($3::text[]) and ${IN_SCOPE} group by 1 having sum(n) > 0`,
    [...scopeValues(filter).slice(0, 2), PARKED_STATUSES],
    { name: "present_hours" },
  );
}

type HourlyRow = { hourMs: number; arrived: number; gone: number };

async function hourlyFlow(db: Queryable, filter: StatsQuery["filter"]) {
  const rows = await db.query<HourlyRow>(
    `with flow as (${FLOW})
     select (extract(epoch from date_trunc('hour', at, 'UTC')) * 1000)::bigint as "hourMs",
            coalesce(sum(n) filter (where kind = 'parked'), 0)::bigint as arrived,
            greatest(0, sum(case when kind = 'parked' then 0 else -(${SIZE_EFFECT_SQL}) end))::bigint as gone
       from flow group by 1`,
    flowValues(filter, ALL_HOURS),
    { name: "hourly_flow" },
  );
  return {
    arrived: rows.map(({ hourMs, arrived }) => ({ hourMs, n: arrived })),
    left: rows.map(({ hourMs, gone }) => ({ hourMs, n: gone })),
  };
}

/** When the oldest parked event was first seen, epoch milliseconds: the low end of the range of each kind. */
async function readOldest(db: Queryable, filter: StatsQuery["filter"]): Promise<number | null> {
  const params = paramsFrom(1);
  const kinds = kindConditions({ ...filter, status: [...PARKED_STATUSES] }, params);
  const [row] = await db.query<{ oldest: number | null }>(
    `select min(o.first_seen) as oldest
       from (select distinct l.fingerprint, l.source_id, l.status from dlq_group_levels l where ${kinds}) k
      cross join lateral (
        select e.first_seen from dlq_events e
         where e.fingerprint = k.fingerprint and e.source_id = k.source_id and e.status = k.status
         order by e.id limit 1) o`,
    params.values,
  );
  return row?.oldest ?? null;
}

const MARKERS_MAX = 200;

/** What a person did in the window, for the charts. */
export async function readMarkers(db: Queryable, viewer: Viewer, query: StatsQuery): Promise<Markers> {
  const rows = await db.query<{ atMs: number; kind: "redrive" | "control"; label: string; id: string }>(
    `select created_at as "atMs", 'redrive' as kind, reason as label, id from redrives
      where created_at >= to_timestamp($1::float8 / 1000) and created_at < to_timestamp($2::float8 / 1000)
        and ${seesRedrive("redrives", "$3")}
     union all
     select created_at, 'control',
            concat_ws(' ', kind, scope, aggregate_type, value, case when source is not null then 'of ' || source end), id
       from controls c
      where created_at >= to_timestamp($1::float8 / 1000) and created_at < to_timestamp($2::float8 / 1000)
        and origin = 'person' and ${seesControl("$3")}
     order by 1 desc limit ${MARKERS_MAX}`,
    [query.fromMs, query.toMs, sourceScope(viewer)],
    { name: "markers" },
  );
  return { items: rows.reverse().map(({ atMs, ...marker }) => ({ at: iso(atMs), ...marker })) };
}
