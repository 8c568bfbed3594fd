import {
  ARRIVED,
  daysIn,
  type GroupArrivalRow,
  judged,
  judgeLastHour,
  lastBefore,
  spansOf,
  sumIn,
  type Times,
  timesOf,
} from "@/lib/events/groups/arrivals.read";
import type { Window } from "@/lib/events/groups/windows-before.pure";
import { oneSource } from "@/lib/guard/masking/mask-rule.pure";
import { readMasks } from "@/lib/guard/masking/mask-rules.read";
import { maskText } from "@/lib/guard/masking/mask-text.pure";
import { sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { AGAINST_MS, type Against, byDifference, differenceOf } from "@/lib/observe/stats/difference.pure";
import type { Differences } from "@/lib/observe/stats/differences.shapes";
import type { Queryable } from "@/lib/platform/database/db";
import { iso } from "@/lib/platform/plain/iso-time.pure";
import { asSum, flowRows, knownSince } from "@/lib/selection/flow.read";
import type { StatsQuery } from "@/lib/selection/stats-query.shapes";

type DifferenceRow = GroupArrivalRow & { sources: string[] };
type Sum = Pick<DifferenceRow, "fingerprint" | "count" | "sources">;

/** Groups of one comparison: of more, those with the fewest arrivals are left out. */
const COMPARED_MAX = 5_000;
const DIFFERENCES_MAX = 100;

/** How the groups differ from a window ago, judged as the other pages judge arrivals. */
export async function readDifferences(
  db: Queryable,
  viewer: Viewer,
  { against, source }: { against: Against; source: string | null },
  nowMs: number,
): Promise<Differences> {
  const lengthMs = AGAINST_MS[against];
  const sources = sourceScope(viewer, source === null ? undefined : [source]) ?? (source === null ? null : [source]);
  const filter = sources === null ? {} : { source: sources };
  const window = { fromMs: nowMs - lengthMs, toMs: nowMs };
  const sinceMs = await knownSince(db);
  const times = timesOf(window, sinceMs);
  const then = await sumsOf(db, filter, { fromMs: times.fromMs - lengthMs, toMs: times.fromMs });
  const now = await comparedGroups(db, filter, times, [...then.keys()]);
  const fingerprints = [...new Set([...now.keys(), ...then.keys()])];
  const known = await readGroupFacts(db, fingerprints);
  // Of a group without any row in the last window and on the days before.
  const none = { count: 0, days: times.before.windows.map(() => 0), sources: [], beforeMs: null };
  const set = (await readMasks(db)).of(oneSource(sources));
  const all = fingerprints.map((fingerprint) => {
    const row = now.get(fingerprint) ?? { fingerprint, ...none };
    return { fingerprint, row, ...judged(row, times) };
  });
  const rows = (await judgeLastHour(db, filter, { ...window, sinceMs }, all)).flatMap(
    ({ fingerprint, row, ...arrivals }) => {
      const group = known.get(fingerprint);
      const earlier = then.get(fingerprint);
      const counts = { now: row.count, before: earlier?.count ?? 0 };
      const verdict = differenceOf({ ...counts, ...arrivals });
      if (!group || !verdict) return [];
      return {
        ...{ verdict, fingerprint, errorCode: group.errorCode, pattern: maskText(group.pattern, set) },
        sources: [...new Set([...(row.sources ?? []), ...(earlier?.sources ?? [])])].sort(),
        ...counts,
        factor: counts.before === 0 ? null : counts.now / counts.before,
        usual: arrivals.usual,
      };
    },
  );
  const items = byDifference(rows);
  const more = Math.max(0, items.length - DIFFERENCES_MAX);
  return { asOf: iso(nowMs), from: iso(times.fromMs), items: items.slice(0, DIFFERENCES_MAX), more };
}

const SOURCE_NAMES = "array(select name from sources s where s.id = any(sources))";

async function sumsOf(db: Queryable, filter: StatsQuery["filter"], window: Window): Promise<Map<string, Sum>> {
  const flow = flowRows(filter, [asSum(window.fromMs, window.toMs)], { byGroup: true, bySource: true });
  const text = `select fingerprint, count, ${SOURCE_NAMES} as sources from (
      select fingerprint, sum(${ARRIVED})::bigint as count, array_agg(distinct source_id) as sources from (${flow.sql}) flow
       where ${ARRIVED} > 0 group by 1 order by 2 desc limit ${COMPARED_MAX}) summed`;
  const rows = await db.query<Sum>(text, flow.values, { name: "differences-then" });
  return new Map(rows.map((row) => [row.fingerprint, row]));
}

/** Arrivals in the window and on the days before, of the groups that arrived in it and of these. */
async function comparedGroups(
  db: Queryable,
  filter: StatsQuery["filter"],
  times: Times,
  fingerprints: readonly string[],
): Promise<Map<string, DifferenceRow>> {
  const { sql, values } = flowRows(filter, spansOf(times), { byGroup: true, bySource: true });
  const count = sumIn(times, ARRIVED, values);
  const days = daysIn(times, values);
  const before = lastBefore("counted.fingerprint", filter, times, values);
  const inWindow = `at >= to_timestamp($${values.push(times.fromMs)}::float8 / 1000)`;
  const text = `with counted as materialized (
      select fingerprint, ${count} as count, ${days} as days, array_agg(distinct source_id) filter (where ${inWindow}) as sources
        from (${sql}) flow group by fingerprint), ${before.logged}
    select counted.fingerprint, count, days, ${SOURCE_NAMES} as sources, case when count > 0 then ${before.sql} end as "beforeMs"
      from counted left join logged on logged.fingerprint = counted.fingerprint
     where count > 0 or counted.fingerprint = any($${values.push(fingerprints)}::text[])
     order by count desc limit ${2 * COMPARED_MAX}`;
  const rows = await db.query<DifferenceRow>(text, values, { name: "differences-now" });
  return new Map(rows.map((row) => [row.fingerprint, row]));
}

type GroupFacts = { fingerprint: string; errorCode: string; pattern: string };

async function readGroupFacts(db: Queryable, fingerprints: readonly string[]): Promise<Map<string, GroupFacts>> {
  const rows = await db.query<GroupFacts>(
    `select fingerprint, error_code as "errorCode", message_pattern as pattern
       from dlq_groups where fingerprint = any($1::text[])`,
    [fingerprints],
    { name: "groups-compared" },
  );
  return new Map(rows.map((row) => [row.fingerprint, row]));
}
