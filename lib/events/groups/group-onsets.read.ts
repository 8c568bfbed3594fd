import { ARRIVED } from "@/lib/events/groups/arrivals.read";
import { usualMaxOf } from "@/lib/events/groups/baseline.pure";
import { HISTORY_HOURS, type Onset, onsetMinute, onsetOf, usualByHour } from "@/lib/events/groups/onset.pure";
import type { Queryable } from "@/lib/platform/database/db";
import { groupArrivalRows, HOUR_MS, knownSince } from "@/lib/selection/flow.read";

/** Hours in which an onset is looked for; as many before them say what is usual. */
const LOOKED_AT_HOURS = 7 * 24;
const ALL_HOURS = HISTORY_HOURS + LOOKED_AT_HOURS;
const TREND_HOURS = 24;

/** Groups within sources; null = within all. */
type Scope = { fingerprints: readonly string[]; sources: readonly string[] | null };

/** Arrivals of the last `count` hours up to `nowMs`, the earliest first; zeros of a group without any. */
async function readHours(db: Queryable, { fingerprints, sources }: Scope, count: number, nowMs: number) {
  const fromMs = (Math.floor(nowMs / HOUR_MS) - count + 1) * HOUR_MS;
  const hours = new Map(fingerprints.map((fingerprint) => [fingerprint, Array<number>(count).fill(0)]));
  if (hours.size === 0) return { hours, fromMs };
  const filter = { fingerprint: [...fingerprints], ...(sources === null ? {} : { source: [...sources] }) };
  const { sql, values } = groupArrivalRows(filter, [{ fromMs, toMs: nowMs, bucketMs: HOUR_MS }]);
  const hour = `floor((extract(epoch from at) * 1000 - $${values.push(fromMs)}::float8) / ${HOUR_MS})::int`;
  // A row a group: two weeks of fifty groups are 16,800 hours.
  const text = `select fingerprint, json_object_agg(hour, n) as hours
      from (select fingerprint, ${hour} as hour, sum(${ARRIVED}) as n from (${sql}) flow group by 1, 2) summed group by 1`;
  const rows = await db.query<{ fingerprint: string; hours: Record<string, number> }>(text, values, {
    name: "group-hours",
  });
  for (const row of rows) {
    const its = hours.get(row.fingerprint);
    // A group that was merged since it was read: its row is that of its target.
    if (!its) continue;
    for (const [at, n] of Object.entries(row.hours)) {
      if (Number(at) >= 0 && Number(at) < count) its[Number(at)] = n;
    }
  }
  return { hours, fromMs };
}

/** The place of the first hour that is known; the hour in which the flow began is known in part. */
const knownFrom = (sinceMs: number | null, fromMs: number) =>
  sinceMs === null ? ALL_HOURS : Math.max(0, Math.ceil((sinceMs - fromMs) / HOUR_MS));

/** The arrivals of these groups in each of the last TREND_HOURS hours, the earliest first. */
export async function readTrends(db: Queryable, scope: Scope, nowMs: number): Promise<Map<string, number[]>> {
  return (await readHours(db, scope, TREND_HOURS, nowMs)).hours;
}

/** `onsetMs`: since when it rises, epoch milliseconds; null = no hour of the last week left its usual range. */
type Rise = { trend: number[]; onsetMs: number | null };

/** The same of groups that rise, and since when they do. `sinceMs`: the start of the flow. */
export async function readRises(
  db: Queryable,
  scope: Scope,
  sinceMs: number | null,
  nowMs: number,
): Promise<Map<string, Rise>> {
  if (scope.fingerprints.length === 0) return new Map();
  const { hours, fromMs } = await readHours(db, scope, ALL_HOURS, nowMs);
  const found = [...hours].flatMap(([fingerprint, counts]) => {
    const onset = onsetOf(counts, knownFrom(sinceMs, fromMs));
    return onset === null ? [] : [{ fingerprint, onset, hourMs: fromMs + onset.hour * HOUR_MS }];
  });
  const minutes = await readMinutes(db, scope, found);
  return new Map(
    [...hours].map(([fingerprint, counts]) => [
      fingerprint,
      { trend: counts.slice(-TREND_HOURS), onsetMs: minutes.get(fingerprint) ?? null },
    ]),
  );
}

type Found = { fingerprint: string; onset: Onset; hourMs: number };

/** The minute within each onset's hour; the hour itself where its minutes are not kept. */
async function readMinutes(db: Queryable, { sources }: Scope, found: readonly Found[]): Promise<Map<string, number>> {
  const ofSource = "($3::text[] is null or source_id in (select id from sources where name = any($3)))";
  const rows = await db.query<{ fingerprint: string; atMs: number; n: number }>(
    `select w.fingerprint, m.at as "atMs", sum(m.n)::bigint as n
       from unnest($1::text[], $2::float8[]) w (fingerprint, hour) cross join lateral (
         select at, ${ARRIVED} as n from dlq_group_flow_minutes
          where fingerprint = w.fingerprint and at >= to_timestamp(w.hour / 1000)
            and at < to_timestamp(w.hour / 1000) + interval '1 hour' and ${ofSource}
         union all
         select minute, n from dlq_flow
          where fingerprint = w.fingerprint and minute >= to_timestamp(w.hour / 1000)
            and minute < to_timestamp(w.hour / 1000) + interval '1 hour'
            and kind in ('parked', 'bounced', 'unstored') and ${ofSource}) m
      group by 1, 2 order by 1, 2`,
    [found.map(({ fingerprint }) => fingerprint), found.map(({ hourMs }) => hourMs), sources],
    { name: "onset-minutes" },
  );
  const minutes = Map.groupBy(rows, ({ fingerprint }) => fingerprint);
  return new Map(
    found.map(({ fingerprint, onset, hourMs }) => [
      fingerprint,
      onsetMinute(minutes.get(fingerprint) ?? [], onset.usual) ?? hourMs,
    ]),
  );
}

/** One hour of a group: what arrived, and what usually arrives then; null = too few days are known. */
type GroupHour = { atMs: number; count: number; usual: number | null; usualMax: number | null };

/** Arrivals of a group by the hour of the last week, against what is usual in each. */
export async function readGroupHours(
  db: Queryable,
  { fingerprint, sources }: { fingerprint: string; sources: readonly string[] | null },
  nowMs: number,
): Promise<GroupHour[]> {
  const [{ hours, fromMs }, sinceMs] = await Promise.all([
    readHours(db, { fingerprints: [fingerprint], sources }, ALL_HOURS, nowMs),
    knownSince(db),
  ]);
  const counts = hours.get(fingerprint)!;
  const usual = usualByHour(counts, knownFrom(sinceMs, fromMs));
  return counts.slice(HISTORY_HOURS).map((count, at) => ({
    atMs: fromMs + (HISTORY_HOURS + at) * HOUR_MS,
    count,
    usual: usual[HISTORY_HOURS + at]?.median ?? null,
    usualMax: usualMaxOf(usual[HISTORY_HOURS + at] ?? null),
  }));
}
