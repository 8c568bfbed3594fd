import type { GroupList, GroupOut } from "@/lib/events/events.shapes";
import { type GroupArrivals, readGroupArrivals, readUnstored } from "@/lib/events/groups/arrivals.read";
import { readRises, readTrends } from "@/lib/events/groups/group-onsets.read";
import { isRise, type Verdict } from "@/lib/events/groups/group-verdict.pure";
import { FINGERPRINT, type GroupSort } from "@/lib/events/groups/groups.shapes";
import { readMutesOf } from "@/lib/events/groups/mutes/group-mutes.read";
import { maskNullable } from "@/lib/guard/masking/mask.pure";
import { oneSource } from "@/lib/guard/masking/mask-rule.pure";
import { readMasks } from "@/lib/guard/masking/mask-rules.read";
import { maskText } from "@/lib/guard/masking/mask-text.pure";
import { sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Db } from "@/lib/platform/database/db";
import { type Params, paramsFrom } from "@/lib/platform/database/params.sql";
import { iso } from "@/lib/platform/plain/iso-time.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { ANY_RANGE, isDecidedByKinds, kindConditions } from "@/lib/selection/event-kinds.read";
import { inGroups, isInFacts, narrow, readSearch } from "@/lib/selection/event-search.read";
import { type EventFilter, resolveWindow } from "@/lib/selection/filter/event-filter.shapes";
import { compileFilter } from "@/lib/selection/filter/event-filter.sql";
import { HOUR_MS, knownSince } from "@/lib/selection/flow.read";
import { readScopedFilter } from "@/lib/selection/scope.read";
import type { ScopedFilter } from "@/lib/selection/scope.shapes";
import { type StatsQuery, WINDOW_DEFAULT_MS } from "@/lib/selection/stats-query.shapes";
import { EVENT_STATUSES } from "@/lib/states/event-state.pure";
import { EVENT, PARKED } from "@/lib/states/state.sql";

type GroupQuery = {
  filter: EventFilter;
  limit: number;
  cursor: string | null;
  /** null or absent = `count`. */
  sort?: GroupSort | null;
  /** The window in which arrivals are judged; absent = that of the filter. */
  window?: Pick<EventFilter, "from" | "to">;
  /** Only groups with one of these. */
  verdicts?: readonly Verdict[] | null;
};

/** The verdict is decided outside of SQL, so that it has one definition. A page of some verdicts is found among this many groups. */
const JUDGED_MAX = 2_000;

/** More than any time, and a sum that a float8 holds to the millisecond. */
const PARKED_FIRST_MS = 1e15;

const PARKED_SUM = `coalesce(sum(n) filter (where status in ${PARKED}), 0)`;

type GroupRow = Pick<
  GroupOut,
  "fingerprint" | "errorCode" | "exceptionType" | "firstFrame" | "sampleEvent" | "sources" | "counts"
> & {
  pattern: string;
  firstMs: number;
  lastMs: number;
};

/**
 * Groups with matching events, those with the most parked events first, or those that failed last, and then those without a parked one. Counts are of the matching
 * events: from the rollup where it suffices, else counted. With sources in the filter the verdict, the times and the sample are
 * of these.
 */
export async function listGroups(db: Db, viewer: Viewer, query: GroupQuery, nowMs: number): Promise<GroupList> {
  const { limit, verdicts } = query;
  const sort = query.sort ?? "count";
  const filter = await readScopedFilter(db, viewer, query.filter);
  const scope = sourceScope(viewer, query.filter.source);
  const after = query.cursor === null ? null : decodeCursor(query.cursor, sort);
  const window = windowOf(query.window ?? query.filter, nowMs);
  const most = verdicts ? JUDGED_MAX : limit + 1;
  const [groups, sinceMs] = await Promise.all([
    readMatching(db, { filter, scope, sort, after, most, nowMs }),
    knownSince(db),
  ]);
  const kinds = kindsOf(viewer, query.filter);
  const of = { ...kinds, fingerprint: fingerprintsOf(groups) };
  const known = { ...window, sinceMs };
  const arrivals = await readGroupArrivals(db, of, known);
  const judged = groups.map((group) => ({ ...group, ...arrivals.get(group.fingerprint)! }));
  const wanted = verdicts ? judged.filter(({ verdict }) => verdicts.includes(verdict)) : judged;
  const page = wanted.slice(0, limit);
  const last = wanted.length > limit ? page.at(-1)! : null;
  return {
    items: await readPage(db, { viewer, scope, kinds, window: known, nowMs }, page),
    nextCursor: last === null ? null : encodeCursor(sort, [last.key, last.fingerprint]),
    left: last === null ? Math.max(0, (groups[0]?.ofAll ?? 0) - most) : 0,
  };
}

function fingerprintsOf(groups: readonly { fingerprint: string }[]): string[] {
  return groups.map(({ fingerprint }) => fingerprint);
}

type Matching = {
  filter: ScopedFilter;
  scope: string[] | null;
  sort: GroupSort;
  after: Place | null;
  most: number;
  nowMs: number;
};
/** Where a group is in the list: by this key, the greatest first, and then by its fingerprint. */
type Place = readonly [key: number, fingerprint: string];
/** `ofAll`: how many groups match from the place that was asked for. */
type MatchingGroup = GroupRow & { key: number; ofAll: number };

/** Levels are summed by group for all groups, and by source and status for those of the page alone. No level is below zero. */
async function readMatching(db: Db, { filter, scope, sort, after, most, nowMs }: Matching): Promise<MatchingGroup[]> {
  const params = paramsFrom(1);
  const counted = isDecidedByKinds(filter) ? null : await scanned(db, filter, nowMs, params);
  const [known, ofChosen] =
    counted === null
      ? [parkedByGroup(filter, params), rolledUpOfChosen(filter, params)]
      : [
          `select fingerprint, ${PARKED_SUM} as parked from counted group by 1 having sum(n) > 0`,
          "select counted.* from counted join chosen using (fingerprint)",
        ];
  const lasts = sort === "last" && scope !== null ? lastIn(params.add(scope)) : null;
  // By time, those with parked events come first: a group that is over must not hide one that waits.
  const lastMs = `extract(epoch from ${lasts?.at ?? "g.last_seen"}) * 1000`;
  const keyed =
    sort === "count"
      ? "select fingerprint, parked::float8 as key from known"
      : `select fingerprint, (case when parked > 0 then ${PARKED_FIRST_MS} else 0 end + ${lastMs})::float8 as key
           from known join dlq_groups g using (fingerprint)`;
  const place = after === null ? "" : `where (key, fingerprint) < (${params.add(after[0])}, ${params.add(after[1])})`;
  const sumsByStatus = EVENT_STATUSES.map(
    (status) => `coalesce(sum(n) filter (where status = ${EVENT[status]}), 0) as ${status}`,
  );
  const counts = EVENT_STATUSES.map((status) => `'${status}', sum(${status})`);
  return db.query<MatchingGroup>(
    `with ${counted === null ? "" : `counted as materialized (${counted}),`} ${lasts?.logged ?? ""}
     known as (${known}),
     keyed as (${keyed}),
     chosen as materialized (
       select *, count(*) over () as of_all from keyed ${place} order by key desc, fingerprint desc limit ${most}),
     of_source as (
       select fingerprint, source_id, ${sumsByStatus.join(", ")}
         from (${ofChosen}) c group by 1, 2),
     of_group as (
       select fingerprint, json_build_object(${counts.join(", ")}) as counts,
              array_agg(source_id) filter (where greatest(${EVENT_STATUSES.join(", ")}) > 0) as sources from of_source group by 1)
     select key, of_all as "ofAll", fingerprint, g.error_code as "errorCode", g.exception_type as "exceptionType",
            g.message_pattern as pattern, g.first_frame as "firstFrame", g.sample_event as "sampleEvent",
            g.first_seen as "firstMs", g.last_seen as "lastMs", counts,
            array(select name from sources s where s.id = any(of_group.sources) order by name) as sources
       from chosen join dlq_groups g using (fingerprint) join of_group using (fingerprint)
      order by key desc, fingerprint desc`,
    params.values,
    counted === null ? { name: "groups" } : {},
  );
}

/** SQL: the last arrival of the group `g` in sources (`names` is the parameter of these), and what it reads from. */
function lastIn(names: string): { logged: string; at: string } {
  const newest = (table: string) => `(select at from ${table} where fingerprint = g.fingerprint
    and parked + bounced + unstored > 0 and source_id = any(array(select id from ours)) order by at desc limit 1)`;
  return {
    logged: `ours as materialized (select id from sources where name = any(${names})),
      logged as materialized (
        select fingerprint, max(minute) as at from dlq_flow
         where kind in ('parked', 'bounced', 'unstored') and source_id in (select id from ours) group by 1),`,
    at: `coalesce(greatest((select at from logged l where l.fingerprint = g.fingerprint),
      coalesce(${newest("dlq_group_flow_minutes")}, ${newest("dlq_group_flow_hours")})), g.last_seen)`,
  };
}

type PageContext = {
  viewer: Viewer;
  scope: string[] | null;
  kinds: StatsQuery["filter"];
  window: { fromMs: number; toMs: number; sinceMs: number | null };
  nowMs: number;
};
type JudgedGroup = GroupRow & GroupArrivals;

/** The groups of a page with all that a row shows, in their order. */
async function readPage(
  db: Db,
  { viewer, scope, kinds, window, nowMs }: PageContext,
  page: readonly JudgedGroup[],
): Promise<GroupOut[]> {
  const fingerprint = fingerprintsOf(page);
  if (fingerprint.length === 0) return [];
  const rising = fingerprintsOf(page.filter(({ verdict }) => isRise(verdict)));
  const others = fingerprint.filter((one) => !rising.includes(one));
  const [masks, rows, trends, rises, unstored, mutes] = await Promise.all([
    readMasks(db),
    scope === null ? page : ownSamples(db, page, scope),
    readTrends(db, { fingerprints: others, sources: scope }, nowMs),
    readRises(db, { fingerprints: rising, sources: scope }, window.sinceMs, nowMs),
    readUnstored(db, { ...kinds, fingerprint }, window),
    readMutesOf(db, viewer, fingerprint),
  ]);
  return rows.map((row) => {
    const { count, usual, spread, factor, trend, verdict } = row;
    const set = masks.of(oneSource(row.sources));
    const rise = rises.get(row.fingerprint);
    const onset = rise?.onsetMs ?? null;
    const found = unstored.get(row.fingerprint);
    // One of every source comes first; one of a source says which.
    const muted = mutes.get(row.fingerprint) ?? [];
    const mute =
      muted.find(({ source }) => source === null) ?? muted.find(({ source }) => scope?.includes(source!) ?? true);
    return {
      fingerprint: row.fingerprint,
      errorCode: row.errorCode,
      exceptionType: maskNullable(row.exceptionType, set),
      pattern: maskText(row.pattern, set),
      firstFrame: row.firstFrame,
      sampleEvent: row.sampleEvent,
      firstSeen: iso(row.firstMs),
      lastSeen: iso(row.lastMs),
      counts: row.counts,
      sources: row.sources,
      trend: rise?.trend ?? trends.get(row.fingerprint)!,
      arrivals: { count, usual, spread, factor, trend },
      verdict,
      since: onset === null ? { at: iso(row.firstMs), of: "first" } : { at: iso(onset), of: "rise" },
      mute: mute ?? null,
      unstored: found ? { count: found.count, since: iso(found.sinceMs) } : null,
    };
  });
}

/** The part of the filter by which arrivals are kept. */
function kindsOf(viewer: Viewer, filter: EventFilter): StatsQuery["filter"] {
  const { errorCode, "not.source": noSource, "not.errorCode": noErrorCode } = filter;
  const source = sourceScope(viewer, filter.source) ?? filter.source;
  return {
    ...(source && { source }),
    ...(errorCode && { errorCode }),
    ...(noSource && { "not.source": noSource }),
    ...(noErrorCode && { "not.errorCode": noErrorCode }),
  };
}

/** The window of the filter; its default is that of the overview. */
function windowOf(filter: Pick<EventFilter, "from" | "to">, nowMs: number): { fromMs: number; toMs: number } {
  const window = resolveWindow(filter, nowMs);
  const toMs = window.toMs ?? nowMs;
  return { fromMs: Math.min(window.fromMs ?? toMs - WINDOW_DEFAULT_MS, toMs), toMs };
}

/** A merge is seen at once, while its events are still being moved. */
const STANDS_FOR = (row: "l" | "e") => `coalesce(a.target, ${row}.fingerprint) as fingerprint`;

function rolledUp(filter: EventFilter, params: Params): string {
  return `select ${STANDS_FOR("l")}, l.source_id, l.status, l.n
            from dlq_group_levels l left join group_aliases a on a.fingerprint = l.fingerprint
           where ${kindConditions(filter, params)}`;
}

/** Every group with its parked events. Summed before a group is looked up among the aliases: there are ten times as many levels as groups. */
function parkedByGroup(filter: EventFilter, params: Params): string {
  return `select ${STANDS_FOR("l")}, sum(parked) as parked
            from (select fingerprint, sum(n) as n, ${PARKED_SUM} as parked
                    from dlq_group_levels l where ${kindConditions(filter, params)} group by 1) l
            left join group_aliases a on a.fingerprint = l.fingerprint
           group by 1 having sum(n) > 0`;
}

/** The same rows of the groups in `chosen`, found by group. */
function rolledUpOfChosen(filter: EventFilter, params: Params): string {
  return `select m.fingerprint, l.source_id, l.status, l.n
            from (select fingerprint, fingerprint as member from chosen
                   union all
                  select a.target, a.fingerprint from group_aliases a join chosen on chosen.fingerprint = a.target
                   where a.fingerprint <> a.target) m
            join dlq_group_levels l on l.fingerprint = m.member
           where ${kindConditions(filter, params)}`;
}

/** Only the statement timeout limits it: a window or a name beside it keeps it quick. */
async function scanned(db: Db, filter: ScopedFilter, nowMs: number, params: Params): Promise<string> {
  const search = await readSearch(db, filter);
  const ofGroups = search && inGroups(filter, search);
  if (search && ofGroups && isDecidedByKinds(ofGroups)) {
    const compiled = compileFilter(filter, nowMs);
    for (const value of compiled.values) params.add(value);
    const others = `${isInFacts(search, compiled, params)} and not e.fingerprint = any(${params.add(search.groups)}::text[])`;
    return `${rolledUp(ofGroups, params)} union all ${countedBy(`${others} and ${compiled.where}`)}`;
  }
  const { where, values } = await narrow(db, filter, compileFilter(filter, nowMs), 1);
  for (const value of values) params.add(value);
  return countedBy(where);
}

const countedBy = (where: string) =>
  `select ${STANDS_FOR("e")}, e.source_id, e.status, count(*) as n
     from dlq_event_rows e left join group_aliases a on a.fingerprint = e.fingerprint where ${where} group by 1, 2, 3`;

/**
 * The row of a group holds a sample event and times of any source. Of some sources it is the newest event of those, and the times
 * of the oldest and the newest of their events; of an older one that has left the store the hour.
 */
async function ownSamples(db: Db, page: readonly JudgedGroup[], scope: string[]): Promise<JudgedGroup[]> {
  const end = (order: "asc" | "desc") => `(
    select e.id, e.first_seen from sources s cross join ${ANY_RANGE} cross join lateral (
      select e.id, e.first_seen from dlq_events e
       where e.fingerprint = w.fingerprint and e.source_id = s.id and e.settled = r.settled order by e.id ${order} limit 1) e
     where s.name = any($2) order by e.id ${order} limit 1)`;
  type Own = Pick<GroupRow, "fingerprint" | "sampleEvent" | "firstMs" | "lastMs"> & { hourMs: number | null };
  const found = await db.query<Own>(
    `select w.fingerprint, newest.id as "sampleEvent", oldest.first_seen as "firstMs", newest.first_seen as "lastMs",
            (select at from dlq_group_flow_hours where fingerprint = w.fingerprint and parked > 0
                and source_id in (select id from sources where name = any($2)) order by at limit 1) as "hourMs"
       from unnest($1::text[]) w (fingerprint)
      cross join lateral ${end("asc")} oldest cross join lateral ${end("desc")} newest`,
    [fingerprintsOf(page), scope],
    { name: "group-samples" },
  );
  const own = new Map(found.map((row) => [row.fingerprint, row]));
  // The last event of a group may have left the store since the groups were read.
  return page.flatMap((group) => {
    const its = own.get(group.fingerprint);
    if (!its) return [];
    const { hourMs, ...times } = its;
    const older = hourMs !== null && hourMs + HOUR_MS <= times.firstMs;
    return [{ ...group, ...times, firstMs: older ? hourMs : times.firstMs }];
  });
}

function encodeCursor(sort: GroupSort, place: Place): string {
  return Buffer.from(JSON.stringify([sort, ...place])).toString("base64url");
}

function decodeCursor(text: string, sort: GroupSort): Place {
  try {
    const [of, key, fingerprint] = JSON.parse(Buffer.from(text, "base64url").toString("utf8")) as unknown[];
    if (of === sort && typeof key === "number" && isFingerprint(fingerprint)) return [key, fingerprint];
  } catch {
    // Not JSON: answered below.
  }
  throw new DomainError("invalid-cursor", "The cursor does not belong to this list: start again without it", {
    fields: [{ field: "cursor", detail: "use the nextCursor of the previous page, or leave it out" }],
  });
}

function isFingerprint(value: unknown): value is string {
  return typeof value === "string" && FINGERPRINT.test(value);
}
