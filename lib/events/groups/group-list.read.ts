import { EVENT_STATUSES, type EventStatus } from "@/lib/events/event-state.pure";
import type { GroupList, GroupOut } from "@/lib/events/events.shapes";
import { type EventFilter, resolveWindow } from "@/lib/events/filter/event-filter.shapes";
import { compileFilter, type Params, paramsFrom } from "@/lib/events/filter/event-filter.sql";
import { isDecidedByKinds, kindConditions } from "@/lib/events/list/event-kinds.read";
import { errorTextFor } from "@/lib/events/list/event-rows.read";
import { type ScopedFilter, scopeFilter } from "@/lib/guard/viewer/scope.shapes";
import { sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { flowRows, HOUR_MS } from "@/lib/observe/flow.read";
import { WINDOW_DEFAULT_MS } from "@/lib/observe/stats/stats-query.shapes";
import { readGroupArrivals, readUnstored } from "@/lib/observe/stats/top-errors.read";
import { type Db, type Queryable, statementName } from "@/lib/platform/database/db";
import { iso } from "@/lib/platform/plain/iso-time.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { PARKED } from "@/lib/redrive/states/state.sql";

export type GroupQuery = { filter: EventFilter; limit: number; cursor: string | null };

const TREND_HOURS = 24;

type GroupRow = {
  fingerprint: string;
  error_code: string;
  exception_type: string | null;
  message_pattern: string;
  first_frame: string | null;
  sample_event: string;
  first_seen: number;
  last_seen: number;
  counts: Partial<Record<EventStatus, number>>;
  sources: string[];
  parked: number;
};

/**
 * Groups with matching events, the group with the most parked events first. Counts are of the matching events: from the
 * rollup where it suffices, else counted.
 */
export async function listGroups(db: Db, viewer: Viewer, query: GroupQuery, nowMs: number): Promise<GroupList> {
  const filter = scopeFilter(viewer, query.filter);
  const scope = sourceScope(viewer);
  const after = query.cursor === null ? null : decodeCursor(query.cursor);
  const params = paramsFrom(1);
  const counted = isDecidedByKinds(filter) ? rolledUp(filter, params) : scanned(filter, nowMs, params);
  const behind = after
    ? `where (parked, fingerprint) < (${params.add(after.parked)}::bigint, ${params.add(after.fingerprint)}::text)`
    : "";
  const rows = await db.query<GroupRow>(
    // The page is chosen by one number of each group; the other columns are read for the groups of the page only.
    `with counted as materialized (${counted}), summed as (
       select fingerprint, (coalesce(sum(n) filter (where status in ${PARKED}), 0))::bigint as parked
         from counted where n > 0 group by fingerprint),
     page as (
       select * from summed ${behind} order by parked desc, fingerprint desc limit ${params.add(query.limit + 1)}::int),
     shown as materialized (select c.* from counted c join page using (fingerprint)),
     by_status as (
       select fingerprint, jsonb_object_agg(status, n) as counts
         from (select fingerprint, status, sum(n) as n from shown group by 1, 2) s group by 1),
     by_source as (
       select fingerprint, array_agg(distinct name order by name) as sources
         from shown join sources on sources.id = source_id where n > 0 group by 1)
     select g.*, page.parked, by_status.counts, by_source.sources
       from page join dlq_groups g using (fingerprint) join by_status using (fingerprint)
       left join by_source using (fingerprint) order by page.parked desc, page.fingerprint desc`,
    params.values,
  );
  const shown = scope === null ? rows.slice(0, query.limit) : await ownSamples(db, rows.slice(0, query.limit), scope);
  const fingerprint = shown.map((row) => row.fingerprint);
  const kinds = { ...kindsOf(viewer, query.filter), fingerprint };
  const window = windowOf(query.filter, nowMs);
  const [trends, arrivals, unstored] = await Promise.all([
    readTrends(db, fingerprint, scope, nowMs),
    readGroupArrivals(db, kinds, window),
    readUnstored(db, kinds, window),
  ]);
  const unstoredOf = (group: string) => {
    const found = unstored.get(group);
    return found ? { count: found.count, since: iso(found.sinceMs) } : null;
  };
  const last = shown.at(-1);
  return {
    items: shown.map((row) => ({
      ...groupOut(row, trends.get(row.fingerprint), errorTextFor(viewer)),
      arrivals: arrivals.get(row.fingerprint) ?? NO_ARRIVALS,
      unstored: unstoredOf(row.fingerprint),
    })),
    nextCursor: rows.length > query.limit && last ? encodeCursor(last) : null,
  };
}

const NO_ARRIVALS = { count: 0, usual: null, spread: null, factor: null, trend: "unknown" } as const;

/** The part of the filter by which arrivals are kept. */
function kindsOf(viewer: Viewer, { source, errorCode }: EventFilter) {
  const sources = sourceScope(viewer, source) ?? source;
  return { ...(sources ? { source: sources } : {}), ...(errorCode ? { errorCode } : {}) };
}

/** The window of the filter; its default is that of the overview. */
function windowOf(filter: EventFilter, nowMs: number): { fromMs: number; toMs: number } {
  const window = resolveWindow(filter, nowMs);
  const toMs = window.toMs ?? nowMs;
  return { fromMs: Math.min(window.fromMs ?? toMs - WINDOW_DEFAULT_MS, toMs), toMs };
}

function rolledUp(filter: EventFilter, params: Params): string {
  return `select l.fingerprint, l.source_id, l.status, sum(l.n) as n from dlq_group_levels l
           where ${kindConditions(filter, params)} group by 1, 2, 3`;
}

/** Only the statement timeout limits it: a window or a name beside it keeps it quick. */
function scanned(filter: ScopedFilter, nowMs: number, params: Params): string {
  const { where, values } = compileFilter(filter, nowMs);
  for (const value of values) params.add(value);
  return `select e.fingerprint, e.source_id, e.status, count(*) as n from dlq_event_rows e where ${where} group by 1, 2, 3`;
}

async function readTrends(
  db: Queryable,
  fingerprints: string[],
  scope: string[] | null,
  nowMs: number,
): Promise<Map<string, number[]>> {
  const firstHour = (Math.floor(nowMs / HOUR_MS) - TREND_HOURS + 1) * HOUR_MS;
  const filter = { fingerprint: fingerprints, ...(scope === null ? {} : { source: scope }) };
  const flow = flowRows(filter, [{ fromMs: firstHour, toMs: nowMs, bucketMs: HOUR_MS }]);
  const text = `select fingerprint, floor((extract(epoch from at) * 1000 - $${flow.values.push(firstHour)}) / ${HOUR_MS})::int as hour,
                       sum(parked + unstored)::bigint as n
                  from (${flow.sql}) flow group by 1, 2`;
  const rows = await db.query<{ fingerprint: string; hour: number; n: number }>(text, flow.values, {
    name: statementName("group-trends", text),
  });
  const trends = new Map(fingerprints.map((fingerprint) => [fingerprint, Array<number>(TREND_HOURS).fill(0)]));
  for (const { fingerprint, hour, n } of rows) {
    const trend = trends.get(fingerprint)!;
    if (hour >= 0 && hour < TREND_HOURS) trend[hour]! += n;
  }
  return trends;
}

function groupOut(
  row: GroupRow,
  trend: number[] | undefined,
  textOut: ReturnType<typeof errorTextFor>,
): Omit<GroupOut, "arrivals" | "unstored"> {
  return {
    fingerprint: row.fingerprint,
    errorCode: row.error_code,
    exceptionType: row.exception_type,
    pattern: textOut(row.message_pattern),
    firstFrame: row.first_frame,
    sampleEvent: row.sample_event,
    firstSeen: iso(row.first_seen),
    lastSeen: iso(row.last_seen),
    counts: Object.fromEntries(EVENT_STATUSES.map((status) => [status, row.counts[status] ?? 0])) as GroupOut["counts"],
    sources: row.sources,
    trend: trend ?? [],
  };
}

/**
 * The row of a group holds a sample event and times of any source. A viewer of some sources gets the newest event of
 * those sources, and the times of the oldest and the newest of their events.
 */
async function ownSamples(db: Queryable, rows: readonly GroupRow[], scope: string[]): Promise<GroupRow[]> {
  const end = (order: "asc" | "desc", columns: string) => `(
    select ${columns} from sources s cross join unnest($3::text[]) k (status) cross join lateral (
      select e.id, e.first_seen from dlq_events e
       where e.fingerprint = w.fingerprint and e.source_id = s.id and e.status = k.status order by e.id ${order} limit 1) e
     where s.name = any($2) order by e.id ${order} limit 1)`;
  const found = await db.query<Pick<GroupRow, "fingerprint" | "sample_event" | "first_seen" | "last_seen">>(
    `select w.fingerprint, ${end("desc", "e.id")} as sample_event, ${end("asc", "e.first_seen")} as first_seen,
            ${end("desc", "e.first_seen")} as last_seen
       from unnest($1::text[]) w (fingerprint)`,
    [rows.map(({ fingerprint }) => fingerprint), scope, EVENT_STATUSES],
  );
  const own = new Map(found.map((row) => [row.fingerprint, row]));
  // A group whose events have left the store has levels of zero, and is not among the rows.
  return rows.flatMap((row) =>
    own.get(row.fingerprint)?.sample_event ? { ...row, ...own.get(row.fingerprint)! } : [],
  );
}

type Cursor = { parked: number; fingerprint: string };

function encodeCursor({ parked, fingerprint }: Cursor): string {
  return Buffer.from(`1:${parked}:${fingerprint}`).toString("base64url");
}

function decodeCursor(text: string): Cursor {
  const match = /^1:(\d{1,15}):([0-9a-f]{1,64})$/.exec(Buffer.from(text, "base64url").toString("utf8"));
  if (match) return { parked: Number(match[1]), fingerprint: match[2]! };
  throw new DomainError("invalid-cursor", "The cursor is not one of this list: start again without it", {
    fields: [{ field: "cursor", detail: "use the nextCursor of the page before, or leave it out" }],
  });
}
