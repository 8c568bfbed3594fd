import { ARRIVED } from "@/lib/events/groups/arrivals.read";
import { usualMaxOf } from "@/lib/events/groups/baseline.pure";
import { HISTORY_HOURS, type Onset, onsetMinute, onsetOf, usualByHour } from "@/lib/events/groups/onset.pure";
import type { Queryable } from "@/lib/platform/database/db";
import { flowRows, HOUR_MS, knownSince } from "@/lib/selection/flow.read";

/** Hours in which an onset is looked for; as many before them say what is usual. */
const LOOKED_AT_HOURS = 7 * 24;
const ALL_HOURS = HISTORY_HOURS + LOOKED_AT_HOURS;

/** Groups within sources; null = within all. */
type Scope = { fingerprints: readonly string[]; sources: readonly string[] | null };

/** Arrivals by the hour up to `nowMs`, the earliest first; `fromMs` is the first hour. A group without any is absent. */
async function readHours(db: Queryable, { fingerprints, sources }: Scope, nowMs: number) {
  const fromMs = (Math.floor(nowMs / HOUR_MS) - ALL_HOURS + 1) * HOUR_MS;
  const filter = { fingerprint: [...fingerprints], ...(sources === null ? {} : { source: [...sources] }) };
  const flow = flowRows(filter, [{ fromMs, toMs: nowMs, bucketMs: HOUR_MS }]);
  const text = `select fingerprint, date_bin('1 hour', at, 'epoch') as "hourMs", sum(${ARRIVED})::bigint as n
                  from (${flow.sql}) flow group by 1, 2`;
  const rows = await db.query<{ fingerprint: string; hourMs: number; n: number }>(text, flow.values, {
    name: "group-hours",
  });
  const hours = new Map<string, number[]>();
  for (const { fingerprint, hourMs, n } of rows) {
    const hour = (hourMs - fromMs) / HOUR_MS;
    const its = hours.get(fingerprint) ?? Array<number>(ALL_HOURS).fill(0);
    if (hour >= 0 && hour < ALL_HOURS) its[hour]! += n;
    hours.set(fingerprint, its);
  }
  const sinceMs = await knownSince(db);
  // The hour in which the flow began is known in part.
  const knownFrom = sinceMs === null ? ALL_HOURS : Math.max(0, Math.ceil((sinceMs - fromMs) / HOUR_MS));
  return { hours, fromMs, knownFrom };
}

/** Since when each of these groups rises, epoch milliseconds; absent = no hour of the last week left its usual range. */
export async function readOnsets(db: Queryable, scope: Scope, nowMs: number): Promise<Map<string, number>> {
  if (scope.fingerprints.length === 0) return new Map();
  const { hours, fromMs, knownFrom } = await readHours(db, scope, nowMs);
  const found = [...hours].flatMap(([fingerprint, counts]) => {
    const onset = onsetOf(counts, knownFrom);
    return onset === null ? [] : [{ fingerprint, onset, hourMs: fromMs + onset.hour * HOUR_MS }];
  });
  return readMinutes(db, scope, found);
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
  const { hours, fromMs, knownFrom } = await readHours(db, { fingerprints: [fingerprint], sources }, nowMs);
  const counts = hours.get(fingerprint) ?? Array<number>(ALL_HOURS).fill(0);
  const usual = usualByHour(counts, knownFrom);
  return counts.slice(HISTORY_HOURS).map((count, at) => ({
    atMs: fromMs + (HISTORY_HOURS + at) * HOUR_MS,
    count,
    usual: usual[HISTORY_HOURS + at]?.median ?? null,
    usualMax: usualMaxOf(usual[HISTORY_HOURS + at] ?? null),
  }));
}
