import { readTypedTexts } from "@/lib/guard/masking/typed-texts.read";
import { seesControl, seesRedrive } from "@/lib/guard/viewer/scope.sql";
import { sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { agePercentiles, type HourCount, parkedHoursAt, youngestFirst } from "@/lib/observe/age-percentiles.pure";
import type { AgeStats, FlowStats, Markers, RedriveSuccess, SizeStats } from "@/lib/observe/stats/stats.shapes";
import type { Queryable } from "@/lib/platform/database/db";
import { uuidv7LowerBound } from "@/lib/platform/ids";
import { iso } from "@/lib/platform/plain/iso-time.pure";
import { groupsMeant } from "@/lib/selection/aliases.sql";
import {
  asSum,
  END_MS,
  floorHour,
  flowRows,
  HOUR_MS,
  inErrorCodes,
  inScope,
  scopeStats,
  scopeValues,
  sizeSpans,
  windowSpan,
} from "@/lib/selection/flow.read";
import { bucketStarts, type StatsQuery } from "@/lib/selection/stats-query.shapes";
import { SIZE_EFFECT_SQL } from "@/lib/states/flow-tables.sql";
import { PARKED } from "@/lib/states/state.sql";

/** Charts, all from the rollups: the cost depends on the number of buckets, not on the number of events. */

/** Maximum series: a reader cannot distinguish more in a chart. All further codes are one series. */
const SIZE_CODES_MAX = 50;
const OTHER_CODES = "other";

/** The start of the bucket that `at` lies in; a bucket is as long as the parameter says, milliseconds. */
const binOf = (at: string, bucketMs: string) =>
  `date_bin(make_interval(secs => ${bucketMs}::float8 / 1000), ${at}, 'epoch')`;

type SizeRow = { bucket: number | null; code: string; n: number };

/** dlq_size at each bucket's end, computed backwards from now. One statement reads level and flow, so no arrival is in only one. */
export async function readSize(db: Queryable, viewer: Viewer, asked: StatsQuery, nowMs: number): Promise<SizeStats> {
  const query = scopeStats(viewer, asked);
  const starts = bucketStarts(query);
  const flow = flowRows(query.filter, sizeSpans(query));
  const bucket = binOf("at", `$${flow.values.push(query.bucketMs)}`);
  const text = `with flow as (${flow.sql}),
     net as materialized (
       select null::timestamptz as bucket, code, sum(n) as n from (${levelsOf(query.filter)}) levels group by code
       union all
       select ${bucket}, error_code, sum(${SIZE_EFFECT_SQL}) from flow group by 1, 2),
     named as (select code from net group by code order by sum(abs(n)) desc, code limit ${SIZE_CODES_MAX})
     select bucket, coalesce(named.code, '${OTHER_CODES}') as code, sum(n)::bigint as n
       from net left join named using (code) group by 1, 2`;
  const rows = await db.query<SizeRow>(text, flow.values, { name: "size" });
  const level = new Map(rows.filter(({ bucket }) => bucket === null).map(({ code, n }) => [code, n]));
  const total = [...level.values()].reduce((sum, n) => sum + n, 0);
  const changes = rows.filter((row): row is NetRow => row.bucket !== null);
  const byBucket = Map.groupBy(changes, (row) => row.bucket);
  // From now backwards: each step subtracts the change of the bucket. Buckets after the window come first.
  const inWindow = new Set(starts);
  for (const [start, net] of byBucket) if (!inWindow.has(start)) takeBack(level, net);
  const buckets: SizeStats["buckets"] = [];
  for (const start of [...starts].reverse()) {
    buckets.push(sizeBucket(start, level));
    takeBack(level, byBucket.get(start) ?? []);
  }
  return { asOf: iso(nowMs), kind: "exact", bucketMs: query.bucketMs, buckets: buckets.reverse(), now: total };
}

/** `bucket`: epoch milliseconds of its start. */
type NetRow = SizeRow & { bucket: number };

/** Parked events by error code. By group only on request: the rollup of groups does not hold the code. */
function levelsOf(filter: StatsQuery["filter"]): string {
  return filter.fingerprint
    ? `select g.error_code as code, l.n from dlq_group_levels l join dlq_groups g using (fingerprint)
        where l.status in ${PARKED} and l.fingerprint = any(${groupsMeant("$3::text[]")}) and ${inScope(filter)}`
    : `select error_code as code, n from dlq_level_sums where status in ${PARKED} and ${inScope(filter)}`;
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

/** A chart shows all kinds but the last, which takes back confirmations. */
const CHARTED = [
  "parked",
  "redriven",
  "confirmed",
  "failed",
  "bounced",
  "ignored",
  "expired",
  "released",
  "unstored",
  "duplicate",
  "dropped",
  "rejected",
  "unconfirmed",
] as const;
type FlowCounts = Record<(typeof CHARTED)[number], number>;
const NO_FLOW = Object.fromEntries(CHARTED.map((kind) => [kind, 0])) as FlowCounts;

async function flowByBucket(db: Queryable, query: StatsQuery): Promise<{ startMs: number; counts: FlowCounts }[]> {
  const flow = flowRows(query.filter, [windowSpan(query)]);
  const sums = CHARTED.map((kind) => `sum(${kind})::bigint as ${kind}`).join(", ");
  const text = `with flow as (${flow.sql})
     select ${binOf("at", `$${flow.values.push(query.bucketMs)}`)} as bucket, ${sums}
       from flow group by 1`;
  const rows = await db.query<FlowCounts & { bucket: number }>(text, flow.values, {
    name: "flow",
  });
  const byStart = new Map(rows.map(({ bucket, ...counts }) => [bucket, counts]));
  return bucketStarts(query).map((startMs) => ({ startMs, counts: byStart.get(startMs) ?? NO_FLOW }));
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

/** Confirmed events as a share of settled events: an event that is only sent does not count. */
export async function readRedriveSuccess(
  db: Queryable,
  viewer: Viewer,
  asked: StatsQuery,
  nowMs: number,
): Promise<RedriveSuccess> {
  const query = scopeStats(viewer, asked);
  const buckets = await flowByBucket(db, query);
  const total = { ...NO_FLOW };
  for (const { counts } of buckets) for (const kind of CHARTED) total[kind] += counts[kind];
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
 * Ages of the parked events. The rollup holds the hour of first sight: p50 and p95 are exact to an hour, and the oldest
 * event is read from its index. For the past, the events that had left by then are estimated, see `parkedHoursAt`.
 */
export async function readAge(db: Queryable, viewer: Viewer, asked: StatsQuery, nowMs: number): Promise<AgeStats> {
  const query = scopeStats(viewer, asked);
  const starts = bucketStarts(query);
  const [{ present, oldestMs }, flow] = await Promise.all([
    readPresent(db, query.filter),
    hourlyFlow(db, query.filter, nowMs),
  ]);
  const ends = starts.map((start) => Math.min(start + query.bucketMs, nowMs));
  const buckets: AgeStats["buckets"] = [];
  for (const hours of parkedHoursAt({ present: byDayOnce(present, nowMs), ...flow }, ends)) {
    const index = buckets.length;
    buckets.push({ at: iso(starts[index]!), ...agesOf(hours, ends[index]!, oldestMs) });
  }
  const now = agesOf(youngestFirst(present), nowMs, oldestMs);
  return { asOf: iso(nowMs), kind: "estimated", bucketMs: query.bucketMs, ...now, buckets };
}

/** The parked events at the end of each of `ends` (ascending), by hour of first sight, youngest first: of the past an estimate. */
export async function readParkedHours(
  db: Queryable,
  filter: StatsQuery["filter"],
  ends: readonly number[],
): Promise<HourCount[][]> {
  const nowMs = ends.at(-1) ?? 0;
  const [present, flow] = await Promise.all([presentHours(db, filter), hourlyFlow(db, filter, nowMs)]);
  const parked: HourCount[][] = [];
  for (const hours of parkedHoursAt({ present: byDayOnce(present, nowMs), ...flow }, ends)) {
    const atMs = ends[parked.length]!;
    parked.push(hours.filter(({ hourMs, n }) => n > 0 && hourMs < atMs));
  }
  return parked;
}

/** The ages of the parked events at `nowMs`, as `readAge` gives them; null when nothing is parked. */
export async function readAgesNow(db: Queryable, filter: StatsQuery["filter"], nowMs: number): Promise<Ages> {
  const { present, oldestMs } = await readPresent(db, filter);
  return agesOf(youngestFirst(present), nowMs, oldestMs);
}

type Ages = { p50Ms: number | null; p95Ms: number | null; oldestMs: number | null };

/**
 * The rollup holds hours; the index holds the exact time of the oldest parked event. Where no event of an earlier hour
 * was parked, no age is greater than that event's. `hours` come youngest first.
 */
function agesOf(hours: readonly HourCount[], atMs: number, oldestMs: number | null): Ages {
  const [p50Ms = null, p95Ms = null, oldest = null] = agePercentiles(hours, [0.5, 0.95, 1], atMs);
  const isEarlier = ({ hourMs, n }: HourCount) => n > 0 && hourMs < atMs && hourMs < floorHour(oldestMs!);
  if (oldestMs === null || hours.some(isEarlier)) return { p50Ms, p95Ms, oldestMs: oldest };
  const most = atMs - oldestMs;
  if (most < 0) return { p50Ms: null, p95Ms: null, oldestMs: null };
  const atMost = (ms: number | null) => (ms === null ? null : Math.min(ms, most));
  return { p50Ms: atMost(p50Ms), p95Ms: atMost(p95Ms), oldestMs: most };
}

async function readPresent(db: Queryable, filter: StatsQuery["filter"]) {
  const present = await presentHours(db, filter);
  const oldestHourMs = present.reduce((oldest, { hourMs }) => Math.min(oldest, hourMs), Number.POSITIVE_INFINITY);
  return { present, oldestMs: present.length === 0 ? null : await readOldest(db, filter, oldestHourMs) };
}

async function presentHours(db: Queryable, filter: StatsQuery["filter"]): Promise<HourCount[]> {
  const levels = inErrorCodes(filter) === null ? "dlq_source_level_ages" : "dlq_level_ages";
  const text = `select hour as "hourMs", sum(n)::bigint as n from ${levels}
      where status in ${PARKED} and ${inScope(filter)} group by 1 having sum(n) > 0`;
  return db.query<HourCount>(text, scopeValues(filter).slice(0, 2), { name: "present-hours" });
}

/** Before this time the past is read by day: the hours of five weeks are the most that a chart of the past can show. */
const HOURS_MS = 35 * 86_400_000;
const hoursFrom = (nowMs: number) => Math.floor((nowMs - HOURS_MS) / 86_400_000) * 86_400_000;

/** The levels by day, for the days that `hourlyFlow` counts by day. */
function byDayOnce(hours: readonly HourCount[], nowMs: number): HourCount[] {
  const fromMs = hoursFrom(nowMs);
  const sums = new Map<number, number>();
  for (const { hourMs, n } of hours) {
    const at = hourMs >= fromMs ? hourMs : Math.floor(hourMs / 86_400_000) * 86_400_000;
    sums.set(at, (sums.get(at) ?? 0) + n);
  }
  return [...sums].map(([hourMs, n]) => ({ hourMs, n }));
}

type HourlyRow = { hourMs: number; arrived: number; gone: number };

async function hourlyFlow(db: Queryable, filter: StatsQuery["filter"], nowMs: number) {
  const fromMs = hoursFrom(nowMs);
  const flow = flowRows(filter, [asSum(0, fromMs), { fromMs, toMs: END_MS, bucketMs: HOUR_MS }], { byCode: false });
  const text = `with flow as (${flow.sql})
     select date_bin('1 hour', at, 'epoch') as "hourMs",
            sum(parked)::bigint as arrived, greatest(0, sum(parked - (${SIZE_EFFECT_SQL})))::bigint as gone
       from flow group by 1`;
  const rows = await db.query<HourlyRow>(text, flow.values, { name: "hourly-flow" });
  return {
    arrived: rows.map(({ hourMs, arrived }) => ({ hourMs, n: arrived })),
    left: rows.map(({ hourMs, gone }) => ({ hourMs, n: gone })),
  };
}

/**
 * When the oldest parked event was first seen, epoch milliseconds: the low end of the range of each kind that the oldest hour
 * holds. All kinds over all days are tens of thousands of ranges where sources and error codes are many. null = it left meanwhile.
 */
async function readOldest(db: Queryable, filter: StatsQuery["filter"], hourMs: number): Promise<number | null> {
  const text = `select min(o.first_seen) as oldest
       from (select distinct source_id, error_code, status from dlq_level_ages
              where hour = to_timestamp($3::float8 / 1000) and status in ${PARKED} and ${inScope(filter)}) a
       join dlq_groups g on g.error_code = a.error_code
       join dlq_group_levels l on l.fingerprint = g.fingerprint and l.source_id = a.source_id and l.status = a.status
      cross join lateral (
        select e.first_seen from dlq_events e
         where e.fingerprint = l.fingerprint and e.source_id = l.source_id and e.settled = 0 and e.status = l.status
           and e.id >= $4::uuid and e.id < $5::uuid order by e.id limit 1) o`;
  const values = [...scopeValues(filter).slice(0, 2), hourMs];
  const [row] = await db.query<{ oldest: number | null }>(
    text,
    [...values, uuidv7LowerBound(hourMs), uuidv7LowerBound(hourMs + HOUR_MS)],
    { name: "oldest" },
  );
  return row?.oldest ?? null;
}

const MARKERS_MAX = 200;

/** What people did, what was wrong and what was marked in the window, for the charts; of these sources where the filter names some. */
export async function readMarkers(db: Queryable, viewer: Viewer, query: StatsQuery): Promise<Markers> {
  const within = (at: string) => `${at} >= to_timestamp($1::float8 / 1000) and ${at} < to_timestamp($2::float8 / 1000)`;
  const ofRedrive = `${seesRedrive("redrives", "$3")} and ($4::text[] is null or sources is null or sources && $4)`;
  const ofSource = "($4::text[] is null or source is null or source = any($4))";
  const ofControl = `origin = 'person' and ${seesControl("$3")} and ${ofSource}`;
  // An alert that fired in the window was resolved after its start, if at all: an index leads to those.
  const resolvedSince = "(state = 'resolved' and resolved_at >= to_timestamp($1::float8 / 1000))";
  const ofAlert = `($3::text[] is null or source = any($3)) and ${ofSource}`;
  const words =
    "concat_ws(' ', kind, scope, aggregate_type, value, case when source is not null then 'of ' || source end)";
  const rows = await db.query<Omit<Markers["items"][number], "at"> & { atMs: number }>(
    `select created_at as "atMs", 'redrive' as kind, reason as label, id, '/redrives/' || id as href from redrives
      where id >= $5 and ${within("created_at")} and ${ofRedrive}
     union all
     select finished_at, 'redrive-ended', reason, id, '/redrives/' || id from redrives
      where ${within("finished_at")} and ${ofRedrive}
     union all
     select created_at, 'control', ${words}, id, '/controls' from controls c where ${within("created_at")} and ${ofControl}
     union all
     select fired_at, 'alert', sentence, id, '/alerts/' || id from alerts
      where ${within("fired_at")} and (state <> 'resolved' or ${resolvedSince}) and ${ofAlert}
     union all
     select resolved_at, 'alert-resolved', sentence, id, '/alerts/' || id from alerts
      where ${resolvedSince} and ${within("resolved_at")} and fired_at is not null and ${ofAlert}
     union all
     select at, kind, label, id, url from markers
      where ${within("at")} and ($3::text[] is null or source is null or source = any($3)) and ${ofSource}
     order by 1 desc limit ${MARKERS_MAX}`,
    [query.fromMs, query.toMs, sourceScope(viewer), query.filter.source ?? null, uuidv7LowerBound(query.fromMs)],
    { name: "markers" },
  );
  const { text } = await readTypedTexts(db, viewer);
  const items = rows.map(({ atMs, ...marker }) => ({ at: iso(atMs), ...marker, label: text(marker.label) }));
  return { items: items.reverse() };
}
