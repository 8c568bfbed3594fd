import {
  ARRIVED,
  against,
  daysIn,
  type GroupArrivalRow,
  groupsInFlow,
  judged,
  judgeLastHour,
  lastBefore,
  spansOf,
  sumIn,
  type Times,
  timesOf,
} from "@/lib/events/groups/arrivals.read";
import { usualOf } from "@/lib/events/groups/baseline.pure";
import { oneSource } from "@/lib/guard/masking/mask-rule.pure";
import { readMasks } from "@/lib/guard/masking/mask-rules.read";
import { maskText } from "@/lib/guard/masking/mask-text.pure";
import type { Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { ArrivedCode, ArrivedGroup, TopErrors } from "@/lib/observe/stats/stats.shapes";
import type { Queryable } from "@/lib/platform/database/db";
import { iso } from "@/lib/platform/plain/iso-time.pure";
import { flowRows, inScope, knownSince, scopeStats, scopeValues } from "@/lib/selection/flow.read";
import type { StatsQuery } from "@/lib/selection/stats-query.shapes";
import { PARKED_STATUSES } from "@/lib/states/event-state.pure";

const CODES_MAX = 50;
const GROUPS_MAX = 20;

/** Without a window the list counts the events parked now, with a window the arrivals in it. */
export async function readTopErrors(
  db: Queryable,
  viewer: Viewer,
  asked: StatsQuery,
  nowMs: number,
): Promise<TopErrors> {
  const query = scopeStats(viewer, asked);
  return query.windowed ? readArrived(db, query, nowMs) : readParked(db, query, nowMs);
}

/** Error codes by number of parked events. `status` replaces the parked statuses when the filter names any. */
async function readParked(db: Queryable, query: StatsQuery, nowMs: number): Promise<TopErrors> {
  const { status, "not.status": excluded } = query.filter;
  const statuses = (status ?? PARKED_STATUSES).filter((one) => !excluded?.includes(one));
  const text = `select error_code as "errorCode", sum(n)::bigint as count, (sum(sum(n)) over ())::bigint as total from dlq_level_sums
      where status = any($3::text[]) and ${inScope(query.filter)} group by 1 having sum(n) > 0
      order by 2 desc, 1 limit ${CODES_MAX}`;
  const rows = await db.query<{ errorCode: string; count: number; total: number }>(
    text,
    [...scopeValues(query.filter).slice(0, 2), statuses],
    { name: "top-errors" },
  );
  const buckets = rows.map(({ errorCode, count }) => ({ errorCode, count }));
  return { asOf: iso(nowMs), kind: "exact", counts: "parked-now", buckets, total: rows[0]?.total ?? 0 };
}

async function readArrived(db: Queryable, query: StatsQuery, nowMs: number): Promise<TopErrors> {
  const set = (await readMasks(db)).of(oneSource(query.filter.source));
  const sinceMs = await knownSince(db);
  const times = timesOf(query, sinceMs);
  const [codes, groups] = await Promise.all([arrivedCodes(db, query, times), arrivedGroups(db, query, times)]);
  const judgedGroups = await judgeLastHour(db, query.filter, { ...query, sinceMs }, groups);
  return {
    asOf: iso(nowMs),
    kind: "exact",
    counts: "arrived",
    ...codes,
    groups: judgedGroups.map((group) => ({ ...group, pattern: maskText(group.pattern, set) })),
    usualFrom: usualOf(times.before.windows.map(() => 0)) === null ? null : iso(times.before.windows.at(-1)!.fromMs),
  };
}

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
  const rows = await db.query<CodeRow>(text, flow.values, { name: "arrived-codes" });
  const buckets = rows.map(({ days, total: _, ...row }) => {
    const count = row.parked + row.bounced + row.unstored;
    return { ...row, count, ...against(count, days, times) };
  });
  return { buckets, total: rows[0]?.total ?? 0 };
}

type GroupRow = GroupArrivalRow & { errorCode: string; pattern: string };

/** The groups with the most arrivals. */
async function arrivedGroups(db: Queryable, { filter }: StatsQuery, times: Times): Promise<ArrivedGroup[]> {
  const arrived = groupsInFlow(filter, times);
  const before = lastBefore("a.fingerprint", filter, times, arrived.values);
  const text = `with arrived as (${arrived.sql}), chosen as (
       select * from arrived where count > 0 order by count desc, fingerprint limit ${GROUPS_MAX}), ${before.logged}
     select a.fingerprint, g.error_code as "errorCode", g.message_pattern as pattern, a.count, a.days, ${before.sql} as "beforeMs"
       from chosen a join dlq_groups g on g.fingerprint = a.fingerprint left join logged on logged.fingerprint = a.fingerprint
      order by a.count desc, a.fingerprint`;
  const rows = await db.query<GroupRow>(text, arrived.values, { name: "arrived-groups" });
  return rows.map((row) => {
    const { fingerprint, errorCode, pattern } = row;
    return { fingerprint, errorCode, pattern, ...judged(row, times) };
  });
}
