import { EVENT_STATUSES, type EventStatus } from "@/lib/events/event-state.pure";
import type { GroupList, GroupOut } from "@/lib/events/events.shapes";
import { type EventFilter, resolveWindow } from "@/lib/events/filter/event-filter.shapes";
import { compileFilter, type Params, paramsFrom } from "@/lib/events/filter/event-filter.sql";
import {
  compareKeys,
  firstOrder,
  type GroupSort,
  type OrderedGroup,
  type SortKey,
  type SortOrder,
  sortKey,
} from "@/lib/events/groups/group-order.pure";
import { isDecidedByKinds, kindConditions } from "@/lib/events/list/event-kinds.read";
import { maskNullable } from "@/lib/guard/masking/mask.pure";
import type { Masks } from "@/lib/guard/masking/mask-rule.pure";
import { oneSource } from "@/lib/guard/masking/mask-rule.pure";
import { readMasks } from "@/lib/guard/masking/mask-rules.read";
import { maskText } from "@/lib/guard/masking/mask-text.pure";
import { readScopedFilter } from "@/lib/guard/viewer/scope.read";
import type { ScopedFilter } from "@/lib/guard/viewer/scope.shapes";
import { sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { flowRows, HOUR_MS } from "@/lib/observe/flow.read";
import { isRise, type Verdict } from "@/lib/observe/group-verdict.pure";
import { readMutesOf } from "@/lib/observe/mutes/group-mutes.read";
import { ARRIVED, readGroupArrivals, readUnstored } from "@/lib/observe/stats/arrivals.read";
import { readOnsets } from "@/lib/observe/stats/group-onsets.read";
import { WINDOW_DEFAULT_MS } from "@/lib/observe/stats/stats-query.shapes";
import type { Db, Queryable } from "@/lib/platform/database/db";
import { iso } from "@/lib/platform/plain/iso-time.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { PARKED } from "@/lib/redrive/states/state.sql";

export type GroupQuery = {
  filter: EventFilter;
  limit: number;
  cursor: string | null;
  /** null or absent = by rise. */
  sort?: GroupSort | null;
  order?: SortOrder | null;
  /** The window in which arrivals are judged; absent = that of the filter. */
  window?: Pick<EventFilter, "from" | "to">;
  /** Only groups with one of these. */
  verdicts?: readonly Verdict[] | null;
};

const TREND_HOURS = 24;
/**
 * The verdict on a group is decided outside of SQL, so that there is one definition of it. More groups than these are no list
 * that a person reads: those with the most parked events are judged, and the answer says how many are left out.
 */
const JUDGED_MAX = 2_000;
/** Onsets that an order by them reads: two weeks of hours for each. */
const ONSETS_MAX = 500;

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
};

/**
 * Groups with matching events, the largest rise first unless another order is asked for. Counts are of the matching events: from
 * the rollup where it suffices, else counted. With sources in the filter the verdict, the times and the sample are of these.
 */
export async function listGroups(db: Db, viewer: Viewer, query: GroupQuery, nowMs: number): Promise<GroupList> {
  const filter = await readScopedFilter(db, viewer, query.filter);
  const scope = sourceScope(viewer, query.filter.source);
  const sort = query.sort ?? "rise";
  const order = query.order ?? firstOrder(sort);
  const after = query.cursor === null ? null : decodeCursor(query.cursor, `${sort}.${order}`);
  const window = windowOf(query.window ?? query.filter, nowMs);
  const { groups, left } = await readMatching(db, filter, nowMs);
  const kinds = kindsOf(viewer, query.filter);
  const all = groups.map(({ fingerprint }) => fingerprint);
  const arrivals = await readGroupArrivals(db, { ...kinds, fingerprint: all }, window);
  const lastOf = scope !== null && sort === "last" ? await readLast(db, all, scope) : null;
  const ordered = groups.map((group): OrderedGroup => {
    const { verdict, count, usual } = arrivals.get(group.fingerprint) ?? NO_ARRIVALS;
    const lastMs = lastOf?.get(group.fingerprint) ?? group.lastMs;
    return { ...group, verdict, count, usual, sinceMs: group.firstMs, lastMs };
  });
  const wanted = query.verdicts ? ordered.filter(({ verdict }) => query.verdicts!.includes(verdict)) : ordered;
  if (sort === "since") {
    const rising = wanted.filter(({ verdict }) => isRise(verdict)).slice(0, ONSETS_MAX);
    const onsets = await readOnsets(
      db,
      { fingerprints: rising.map(({ fingerprint }) => fingerprint), sources: scope },
      nowMs,
    );
    for (const group of rising) group.sinceMs = onsets.get(group.fingerprint) ?? group.sinceMs;
  }
  const keyed = wanted
    .map((group) => ({ group, key: sortKey(group, sort) }))
    .sort((one, other) => compareKeys(one.key, other.key, order))
    .filter(({ key }) => after === null || compareKeys(after, key, order) < 0);
  const page = keyed.slice(0, query.limit);
  return {
    items: await readPage(
      db,
      { viewer, filter, scope, kinds, window, nowMs },
      page.map(({ group }) => group),
      arrivals,
    ),
    nextCursor: keyed.length > query.limit ? encodeCursor(page.at(-1)!.key, `${sort}.${order}`) : null,
    left,
  };
}

type MatchingGroup = Pick<OrderedGroup, "fingerprint" | "errorCode" | "source" | "parked" | "lastMs"> & {
  firstMs: number;
};

/** The groups with matching events, those with the most parked ones where they are too many. */
async function readMatching(db: Db, filter: ScopedFilter, nowMs: number) {
  const params = paramsFrom(1);
  const counted = countedSql(filter, nowMs, params);
  const rows = await db.query<MatchingGroup & { ofAll: number }>(
    `with counted as materialized (${counted}), summed as (
       select fingerprint, (coalesce(sum(n) filter (where status in ${PARKED}), 0))::bigint as parked
         from counted where n > 0 group by fingerprint),
     chosen as materialized (
       select *, count(*) over () as of_all from summed order by parked desc, fingerprint desc limit ${JUDGED_MAX}),
     named as (
       select fingerprint, min(name) as source from counted join chosen using (fingerprint) join sources s on s.id = source_id
        where n > 0 group by 1)
     select c.fingerprint, c.parked, c.of_all as "ofAll", g.error_code as "errorCode", g.first_seen as "firstMs",
            g.last_seen as "lastMs", coalesce(named.source, '') as source
       from chosen c join dlq_groups g using (fingerprint) left join named using (fingerprint)`,
    params.values,
  );
  const groups = rows.map(({ ofAll: _, ...group }) => group);
  return { groups, left: Math.max(0, (rows[0]?.ofAll ?? 0) - JUDGED_MAX) };
}

function countedSql(filter: ScopedFilter, nowMs: number, params: Params): string {
  return isDecidedByKinds(filter) ? rolledUp(filter, params) : scanned(filter, nowMs, params);
}

/** The last arrival of each group in these sources. */
async function readLast(db: Queryable, fingerprints: string[], scope: string[]): Promise<Map<string, number>> {
  const newest = (table: string) => `(select at from ${table} where fingerprint = w.fingerprint
     and parked + bounced + unstored > 0 and source_id = any(array(select id from ours)) order by at desc limit 1)`;
  const rows = await db.query<{ fingerprint: string; atMs: number | null }>(
    `with ours as materialized (select id from sources where name = any($2)),
     logged as materialized (select fingerprint, max(minute) as at from dlq_flow
       where kind in ('parked', 'bounced', 'unstored') and source_id in (select id from ours) group by 1)
     select w.fingerprint, greatest((select at from logged l where l.fingerprint = w.fingerprint),
            coalesce(${newest("dlq_group_flow_minutes")}, ${newest("dlq_group_flow_hours")})) as "atMs"
       from unnest($1::text[]) w (fingerprint)`,
    [fingerprints, scope],
    { name: "last-of-groups" },
  );
  return new Map(rows.flatMap(({ fingerprint, atMs }) => (atMs === null ? [] : [[fingerprint, atMs] as const])));
}

type PageContext = {
  viewer: Viewer;
  filter: ScopedFilter;
  scope: string[] | null;
  kinds: Pick<EventFilter, "source" | "errorCode">;
  window: { fromMs: number; toMs: number };
  nowMs: number;
};

/** The groups of a page with all that a row shows, in their order. */
async function readPage(
  db: Db,
  { viewer, filter, scope, kinds, window, nowMs }: PageContext,
  page: readonly OrderedGroup[],
  arrivals: Awaited<ReturnType<typeof readGroupArrivals>>,
): Promise<GroupOut[]> {
  const fingerprint = page.map((group) => group.fingerprint);
  if (fingerprint.length === 0) return [];
  const rising = page.filter(({ verdict }) => isRise(verdict)).map((group) => group.fingerprint);
  const [masks, rows, trends, unstored, onsets, mutes] = await Promise.all([
    readMasks(db),
    readRows(db, { ...filter, fingerprint } as ScopedFilter, nowMs),
    readTrends(db, fingerprint, scope, nowMs),
    readUnstored(db, { ...kinds, fingerprint }, window),
    readOnsets(db, { fingerprints: rising, sources: scope }, nowMs),
    readMutesOf(db, viewer, fingerprint),
  ]);
  const own = new Map(
    (scope === null ? rows : await ownSamples(db, rows, scope)).map((row) => [row.fingerprint, row] as const),
  );
  return page.flatMap(({ fingerprint: name }) => {
    const row = own.get(name);
    // Its last event has left since the groups were read.
    if (!row) return [];
    const { verdict, ...arrived } = arrivals.get(name) ?? NO_ARRIVALS;
    const onset = onsets.get(name);
    const found = unstored.get(name);
    // One of every source comes first; one of a source says which.
    const muted = mutes.get(name) ?? [];
    const mute =
      muted.find(({ source }) => source === null) ?? muted.find(({ source }) => scope?.includes(source!) ?? true);
    return {
      ...groupOut(row, trends.get(name), masks),
      arrivals: arrived,
      verdict,
      since: onset === undefined ? { at: iso(row.first_seen), of: "first" } : { at: iso(onset), of: "rise" },
      mute: mute ?? null,
      unstored: found ? { count: found.count, since: iso(found.sinceMs) } : null,
    } satisfies GroupOut;
  });
}

async function readRows(db: Db, filter: ScopedFilter, nowMs: number): Promise<GroupRow[]> {
  const params = paramsFrom(1);
  const counted = countedSql(filter, nowMs, params);
  return db.query<GroupRow>(
    `with shown as materialized (${counted}),
     by_status as (
       select fingerprint, jsonb_object_agg(status, n) as counts
         from (select fingerprint, status, sum(n) as n from shown group by 1, 2) s group by 1),
     by_source as (
       select fingerprint, array_agg(distinct name order by name) as sources
         from shown join sources on sources.id = source_id where n > 0 group by 1)
     select g.*, by_status.counts, by_source.sources
       from dlq_groups g join by_status using (fingerprint) join by_source using (fingerprint)`,
    params.values,
  );
}

const NO_ARRIVALS = { count: 0, usual: null, spread: null, factor: null, trend: "unknown", verdict: "steady" } as const;

/** The part of the filter by which arrivals are kept. */
function kindsOf(viewer: Viewer, { source, errorCode }: EventFilter) {
  const sources = sourceScope(viewer, source) ?? source;
  return { ...(sources ? { source: sources } : {}), ...(errorCode ? { errorCode } : {}) };
}

/** The window of the filter; its default is that of the overview. */
function windowOf(filter: Pick<EventFilter, "from" | "to">, nowMs: number): { fromMs: number; toMs: number } {
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
  const text = `select fingerprint, date_bin('1 hour', at, 'epoch') as "hourMs", sum(${ARRIVED})::bigint as n
                  from (${flow.sql}) flow group by 1, 2`;
  const rows = await db.query<{ fingerprint: string; hourMs: number; n: number }>(text, flow.values, {
    name: "group-trends",
  });
  const trends = new Map(fingerprints.map((fingerprint) => [fingerprint, Array<number>(TREND_HOURS).fill(0)]));
  for (const { fingerprint, hourMs, n } of rows) {
    const hour = (hourMs - firstHour) / HOUR_MS;
    if (hour >= 0 && hour < TREND_HOURS) trends.get(fingerprint)![hour]! += n;
  }
  return trends;
}

function groupOut(
  row: GroupRow,
  trend: number[] | undefined,
  masks: Masks,
): Omit<GroupOut, "arrivals" | "verdict" | "since" | "mute" | "unstored"> {
  const set = masks.of(oneSource(row.sources));
  return {
    fingerprint: row.fingerprint,
    errorCode: row.error_code,
    exceptionType: maskNullable(row.exception_type, set),
    pattern: maskText(row.message_pattern, set),
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
 * The row of a group holds a sample event and times of any source. Of some sources it is the newest event of those, and the times
 * of the oldest and the newest of their events; of an older one that has left the store the hour.
 */
async function ownSamples(db: Queryable, rows: readonly GroupRow[], scope: string[]): Promise<GroupRow[]> {
  const end = (order: "asc" | "desc", columns: string) => `(
    select ${columns} from sources s cross join unnest($3::text[]) k (status) cross join lateral (
      select e.id, e.first_seen from dlq_events e
       where e.fingerprint = w.fingerprint and e.source_id = s.id and e.status = k.status order by e.id ${order} limit 1) e
     where s.name = any($2) order by e.id ${order} limit 1)`;
  type Own = Pick<GroupRow, "fingerprint" | "sample_event" | "first_seen" | "last_seen"> & {
    first_hour: number | null;
  };
  const found = await db.query<Own>(
    `select w.fingerprint, ${end("desc", "e.id")} as sample_event, ${end("asc", "e.first_seen")} as first_seen,
            ${end("desc", "e.first_seen")} as last_seen,
            (select at from dlq_group_flow_hours where fingerprint = w.fingerprint and parked > 0
                and source_id in (select id from sources where name = any($2)) order by at limit 1) as first_hour
       from unnest($1::text[]) w (fingerprint)`,
    [rows.map(({ fingerprint }) => fingerprint), scope, EVENT_STATUSES],
  );
  const own = new Map(found.map((row) => [row.fingerprint, row]));
  // A group whose events have left the store has levels of zero, and is not among the rows.
  return rows.flatMap((row) => {
    const its = own.get(row.fingerprint);
    if (!its?.sample_event) return [];
    const { first_hour, ...times } = its;
    const older = first_hour !== null && first_hour + HOUR_MS <= times.first_seen;
    return [{ ...row, ...times, first_seen: older ? first_hour : times.first_seen }];
  });
}

function encodeCursor(key: SortKey, of: string): string {
  return Buffer.from(JSON.stringify([of, ...key])).toString("base64url");
}

/** `of`: the order of the list. */
function decodeCursor(text: string, of: string): SortKey {
  try {
    const [name, ...key] = JSON.parse(Buffer.from(text, "base64url").toString("utf8")) as unknown[];
    const whole = key.length > 0 && key.every((part) => typeof part === "number" || typeof part === "string");
    if (name === of && whole) return key as (number | string)[];
  } catch {
    // Not JSON: answered below.
  }
  throw new DomainError("invalid-cursor", "The cursor is not one of this list: start again without it", {
    fields: [{ field: "cursor", detail: "use the nextCursor of the page before, or leave it out" }],
  });
}
