import type { EventOut } from "@/lib/events/events.shapes";
import {
  DAY_MS,
  endOfRound,
  type Hours,
  IN_ORDER,
  inOrder,
  named,
  type OwnOrder,
  PROBE_ROWS,
  probe,
  probedRows,
  QUEUE,
  type ReadPlan,
  type Scan,
  type Sql,
  spansOf,
  throughFacts,
  throughTags,
  upTo,
} from "@/lib/events/list/scan-statements.read";
import type { Queryable } from "@/lib/platform/database/db";
import { paramsFrom } from "@/lib/platform/database/params.sql";
import { uuidv7LowerBound, uuidv7TimeMs } from "@/lib/platform/ids";
import { groupsMeant } from "@/lib/selection/aliases.sql";
import { controlledParts } from "@/lib/selection/controlled-parts.read";
import { isDecidedByKinds, KIND_ROWS_MAX, kindConditions, kindFieldsOf } from "@/lib/selection/event-kinds.read";
import { inGroups, isNarrow, maySearch, mergedPage, readSearch, type Search } from "@/lib/selection/event-search.read";
import {
  compileFilter,
  type FilterField,
  isHeldAsked,
  splitStatuses,
  statusesOf,
} from "@/lib/selection/filter/event-filter.sql";
import type { ScopedFilter } from "@/lib/selection/scope.shapes";

/**
 * Reads matching events in the order of their id, a page at a time, at the same cost at any depth. A statement names the days that it
 * reads in its text: PostgreSQL plans and opens every day's partition of one that does not.
 *
 * PostgreSQL's planner often misjudges a filter with `order by id limit 50`: it reads the key from the end, or sorts
 * all matches. So the plan is chosen here. Frequent matches are found among the newest rows, whatever the filter. Rare
 * matches are read by kind (see event-kinds.ts), one ordered range each, merged: no range without matches is read.
 */

type ScannedEvent = EventOut & { control?: unknown };

/** `examinedTo`: the page is not full, since no event behind this id was examined; null = it is full, or there are no more. */
export type Scanned = { rows: ScannedEvent[]; examinedTo: string | null };

/** Rows in the requested order. Rejects with DomainError `invalid-filter` or `read-timeout`. */
export async function scanEvents(db: Queryable, scan: Scan): Promise<Scanned> {
  const parts = await controlledParts(db, scan.filter);
  if (parts === null) return scanOne(db, scan);
  const found = await Promise.all(
    parts.map(({ ids, ...part }) => {
      const own = { ...scan, ...part };
      return ids ? whole(run(db, named(own, ids))) : scanOne(db, own);
    }),
  );
  return merged(scan, found);
}

/** What was found where every event that can match was examined, or the page is full. */
const whole = async (rows: Promise<ScannedEvent[]>): Promise<Scanned> => ({ rows: await rows, examinedTo: null });

/** A page of what several scans found, as far as all of them have examined the events. */
function merged(scan: Scan, found: readonly Scanned[]): Scanned {
  const ends = found.flatMap(({ examinedTo }) => examinedTo ?? []).sort();
  const examinedTo = (scan.towards === "newer" ? ends[0] : ends.at(-1)) ?? null;
  const rows = mergedPage(
    scan,
    found.flatMap((part) => part.rows),
  ).filter(({ id }) => examinedTo === null || id === examinedTo || !isBehind({ ...scan, from: examinedTo }, id));
  return { rows, examinedTo: rows.length < scan.limit ? examinedTo : null };
}

async function scanOne(db: Queryable, asked: Scan): Promise<Scanned> {
  const own = ownOrderOf(asked.filter);
  const scan = own === "ignored" ? { ...asked, hint: IS_IGNORED } : asked;
  if (own !== null && (await readsWhole(db, scan.filter, own))) {
    const plan = own === "queue" ? QUEUE : IN_ORDER;
    return whole(walk(db, scan, (part) => inOrder(part, plan)));
  }
  const { filter } = scan;
  const plan = await choosePlan(db, filter);
  const isSparse = !isNarrow(filter) && leavesConditions(filter, plan.covered);
  if (plan.kind === "column" && isSparse && !maySearch(filter)) return inRounds(db, scan, plan, PROBE_ROWS);
  if (plan.kind === "kinds" ? plan.sure : !isSparse) return whole(walk(db, scan, (part) => inOrder(part, plan)));
  const near = await run(db, probe({ ...scan, ...spansOf(scan)[0] }, own));
  if (near.length >= scan.limit) return { rows: near, examinedTo: null };
  if (filter.tags && (await areRare(db, filter.tags))) return whole(run(db, throughTags(scan)));
  const first = likelyRows(probedRows(filter), near.length, scan.limit);
  const search = await readSearch(db, filter);
  if (search !== null) {
    const failed = await fewFailed(db, scan);
    return failed === null ? scanSearch(db, scan, search, first) : whole(run(db, named(scan, failed)));
  }
  // Nearly every kind may match, and by kind a page of each would be read instead of one page of all.
  const byNames = plan.covered.some((field) => !isStatus(field));
  const mayBeThin = plan.covered.some(isStatus);
  if (!byNames && (near.length > 0 || !mayBeThin)) return inRounds(db, scan, IN_ORDER, first);
  // All statuses of these names are in the ranges that are read.
  const { status: _status, "not.status": _excluded, ...names } = filter;
  const isMany = await areMany(db, names as ScopedFilter);
  const rest = !byNames ? IN_ORDER : plan.kind === "kinds" ? { ...plan, few: !isMany } : plan;
  const within: ScannedEvent[] = [];
  // The ranges of kinds hold ignored events alone, and the planner would read the index of all ignored events for each range.
  let left = rest.kind === "kinds" ? asked : scan;
  for (let tries = mayBeThin && near.length === 0 ? 0 : WINDOWS; tries > 0; tries--) {
    const window = likelyWindow(scan, within.length > 0 ? within : near);
    if (window === null || !isBehind(left, window)) break;
    within.push(...(await run(db, inOrder(upTo(left, window), rest))));
    if (within.length >= scan.limit) return { rows: within, examinedTo: null };
    left = { ...left, from: window, limit: scan.limit - within.length };
  }
  const found =
    mayBeThin && isMany
      ? await whole(scanHours(db, left, rest))
      : isMany && leavesConditions(filter, rest.covered)
        ? await inRounds(db, left, rest, first)
        : await whole(run(db, inOrder(left, rest)));
  return { ...found, rows: [...within, ...found.rows] };
}

/** Events that a page examines beyond those that it looks at first: some tenths of a second. Fewer where each is looked up in its line. */
const EXAMINED_MAX = 200_000;

const EXAMINED_MAX_HELD = 50_000;

export const examinedMax = (filter: ScopedFilter) => (isHeldAsked(filter) ? EXAMINED_MAX_HELD : EXAMINED_MAX);

/** Examines a bounded number of the events that the plan reads, until the page is full. `first`: how many at first. */
async function inRounds(
  db: Queryable,
  scan: Scan,
  plan: ReadPlan,
  first: number,
  sqlOf = (part: Scan) => inOrder(part, plan),
): Promise<Scanned> {
  const rows: ScannedEvent[] = [];
  const most = examinedMax(scan.filter);
  let left = scan;
  for (let [examined, size] = [0, first]; examined < most; ) {
    size = Math.min(size, most - examined);
    const { text, values } = endOfRound(left, plan, size);
    const [end] = await db.query<{ id: string }>(text, values, { name: "end-of-round" });
    const until = end?.id ?? null;
    const found = await run(db, sqlOf(until === null ? left : upTo(left, until)));
    rows.push(...found);
    if (rows.length >= scan.limit || until === null) return { rows, examinedTo: null };
    left = { ...left, from: until, limit: scan.limit - rows.length };
    examined += size;
    size = likelyRows(size, found.length, left.limit);
  }
  return { rows, examinedTo: left.from };
}

/** How many events probably hold a page, after some of which so many matched. */
const likelyRows = (examined: number, matched: number, limit: number) =>
  Math.ceil(examined * (matched === 0 ? 4 : Math.min(4, (2 * limit) / matched)));

const isStatus = (field: FilterField) => field === "status" || field === "not.status";

/** Reads days from the start of the scan on until the page is full: those of each span, then all that are left. */
async function walk(db: Queryable, scan: Scan, sqlOf: (part: Scan) => Sql): Promise<ScannedEvent[]> {
  const found: ScannedEvent[] = [];
  for (const span of spansOf(scan)) {
    found.push(...(await run(db, sqlOf({ ...scan, ...span, limit: scan.limit - found.length }))));
    if (found.length >= scan.limit) break;
  }
  return found;
}

const HOUR_MS = 3_600_000;

/**
 * Reads only hours that hold events of these statuses, as the levels count them: as many at a time as fill the page. The ranges
 * of the kinds may hold millions of events of other statuses between them.
 */
async function scanHours(db: Queryable, scan: Scan, plan: ReadPlan): Promise<ScannedEvent[]> {
  const found: ScannedEvent[] = [];
  let startMs = scan.from === null ? null : uuidv7TimeMs(scan.from);
  while (found.length < scan.limit) {
    const rest = { ...scan, limit: scan.limit - found.length };
    const hours = await nextHours(db, rest, startMs);
    if (hours.length === 0) break;
    found.push(...(await run(db, inOrder(rest, plan, hours))));
    const last = hours.at(-1)!;
    startMs = scan.towards === "newer" ? last.toMs : last.fromMs - 1;
  }
  return found;
}

/** The next hours, from that of `startMs` on, which hold `limit` events with these statuses, sources and error codes. */
async function nextHours(db: Queryable, scan: Scan, startMs: number | null): Promise<Hours[]> {
  const { filter, towards, limit, nowMs } = scan;
  const newer = towards === "newer";
  const { fromMs, toMs } = compileFilter(filter, nowMs);
  const params = paramsFrom(1);
  const at = (ms: number) => `to_timestamp(${params.add(ms)}::float8 / 1000)`;
  const conditions = [
    // A status that no event has is in no hour.
    `exists (select from dlq_group_levels l where ${kindConditions(filter, params)})`,
    `a.status = any(${params.add(statusesOf(filter))}::text[])`,
    ...(fromMs === null ? [] : [`a.hour > ${at(fromMs - HOUR_MS)}`]),
    ...(toMs === null ? [] : [`a.hour < ${at(toMs)}`]),
    ...(startMs === null ? [] : [newer ? `a.hour > ${at(startMs - HOUR_MS)}` : `a.hour <= ${at(startMs)}`]),
    ...(filter.source
      ? [`a.source_id = any(array(select id from sources where name = any(${params.add(filter.source)}::text[])))`]
      : []),
    ...(filter.errorCode ? [`a.error_code = any(${params.add(filter.errorCode)}::text[])`] : []),
    ...(filter.fingerprint
      ? [
          `a.error_code = any(array(select error_code from dlq_groups
              where fingerprint = any(${groupsMeant(`${params.add(filter.fingerprint)}::text[]`, { unmoved: true })})))`,
        ]
      : []),
  ];
  const rows = await db.query<{ hourMs: number; n: number }>(
    `select a.hour as "hourMs", sum(a.n)::bigint as n from dlq_level_ages a where ${conditions.join(" and ")}
      group by a.hour having sum(a.n) > 0 order by a.hour ${newer ? "asc" : "desc"} limit ${params.add(limit)}::int`,
    params.values,
    { name: "hours-of-kinds" },
  );
  const hours: Hours[] = [];
  let held = 0;
  for (const { hourMs, n } of rows) {
    if (held >= limit) break;
    held += n;
    const last = hours.at(-1);
    if (last?.fromMs === hourMs + HOUR_MS) last.fromMs = hourMs;
    else if (last?.toMs === hourMs) last.toMs += HOUR_MS;
    else hours.push({ fromMs: hourMs, toMs: hourMs + HOUR_MS });
  }
  return hours;
}

/**
 * The events that failed in the window of the filter, where they are few; null = they are many, or it has none. The order and the limit
 * make the planner read the index, whatever it expects of a parameter.
 */
async function fewFailed(db: Queryable, { filter, nowMs }: Scan): Promise<string[] | null> {
  const { failedFrom, failedTo } = filter;
  if (failedFrom === undefined && failedTo === undefined) return null;
  const { where, values } = compileFilter({ failedFrom, failedTo } as ScopedFilter, nowMs);
  const rows = await db.query<{ id: string }>(
    `select e.id from dlq_event_facts e where ${where} order by e.failed_at limit ${RARE_ROWS + 1}`,
    values,
    { name: "few-failed" },
  );
  return rows.length > RARE_ROWS ? null : rows.map(({ id }) => id);
}

/**
 * The groups that hold all words fill the page as far as they can; last errors are read no further than that, a bounded number of them.
 */
async function scanSearch(db: Queryable, scan: Scan, search: Search, first: number): Promise<Scanned> {
  const filter = inGroups(scan.filter, search);
  const ofGroups = filter === null ? EMPTY : await scanOne(db, { ...scan, filter });
  const last = ofGroups.rows[scan.limit - 1];
  const upToLast = { ...scan, until: last?.id ?? scan.until };
  const others = await inRounds(db, upToLast, IN_ORDER, first, (part) => throughFacts(part, search));
  return merged(scan, [ofGroups, others]);
}

const EMPTY: Scanned = { rows: [], examinedTo: null };

/** A first window that was too short shows how long the next one has to be. */
const WINDOWS = 2;

const isBehind = ({ from, towards }: Scan, id: string) =>
  from === null || (towards === "newer" ? id > from : id < from);

/** The first time window when the newest rows hold no match, and the longest window that is tried before all days. */
const DAYS_FIRST_MS = 3 * DAY_MS;

const DAYS_MOST_MS = 20 * DAY_MS;

/**
 * The likely end of a page that the rows found so far did not fill, from the density of its matches: each range then reads
 * the partitions of a few days instead of all. Null = read all days.
 */
function likelyWindow({ from, towards, limit, nowMs }: Scan, found: readonly ScannedEvent[]): string | null {
  if (from === null && towards === "newer") return null;
  const startMs = from === null ? nowMs : uuidv7TimeMs(from);
  const last = found.at(-1);
  const spanMs = last ? 2 * Math.abs(startMs - uuidv7TimeMs(last.id)) * (limit / found.length) : DAYS_FIRST_MS;
  if (spanMs > DAYS_MOST_MS) return null;
  return uuidv7LowerBound(Math.max(0, towards === "newer" ? startMs + spanMs : startMs - spanMs));
}

/** Rows that can be fetched and sorted at once. */
const RARE_ROWS = 2_000;

/**
 * Whether few events have these tags. The tag index has no order: the count stops early, but reads a partition whole.
 */
export async function areRare(db: Queryable, tags: NonNullable<ScopedFilter["tags"]>): Promise<boolean> {
  // The frequency of a tag over all sources. It only chooses the plan, so no row of a hidden source is returned.
  const { where, values } = compileFilter({ tags } as ScopedFilter, 0);
  const text = `select count(*)::int as n from (select 1 from dlq_event_facts e where ${where} limit ${RARE_ROWS}) few`;
  const [row] = await db.query<{ n: number }>(text, values, { name: "rare" });
  return row!.n < RARE_ROWS;
}

function run(db: Queryable, { text, values }: Sql): Promise<ScannedEvent[]> {
  return db.query<ScannedEvent>(text, values, { name: "events", isoTimes: true });
}

/** Up to this many groups, reading their kinds is cheaper than searching the newest rows. */
const GROUPS_FEW = 4;

/** In the words of the index that holds the ignored events in the order of the list. */
const IS_IGNORED = "e.settled = 1";

/** What holds the events of the only status that is asked for, and no others, in the order of the list; null = nothing does. */
function ownOrderOf({ status }: ScopedFilter): OwnOrder | null {
  if (status?.length !== 1) return null;
  return status[0] === "QUEUED" ? "queue" : status[0] === "IGNORED" ? "ignored" : null;
}

/**
 * Whether that order is read until the page is full: nothing else is asked, or few events have the status. Names that an index finds, and
 * kinds of ignored events, which have ranges of their own, are found better.
 */
async function readsWhole(db: Queryable, filter: ScopedFilter, own: OwnOrder): Promise<boolean> {
  const { status, from: _from, to: _to, ...others } = filter;
  if (Object.values(others).every((value) => value === undefined)) return true;
  if (isNarrow(filter) || filter.tags) return false;
  if (own === "ignored" && isDecidedByKinds(others)) return false;
  return !(await areMany(db, { status } as ScopedFilter));
}

async function choosePlan(db: Queryable, filter: ScopedFilter): Promise<ReadPlan> {
  if (filter.eventId) return { kind: "keys", covered: ["eventId"] };
  // Each of these values matches only a few rows.
  if (filter.aggregateId) return column("aggregateId", "found_aggregate_id", filter.aggregateId);
  if (filter.traceId) return column("traceId", "trace_id", filter.traceId);
  const refined = splitStatuses(filter.status ?? []).refined.length > 0;
  const covered = kindFieldsOf(filter);
  const left = leavesConditions(filter, covered);
  // The refinements have small partial indexes of their own, which the planner finds.
  const other = filter.eventType ? column("eventType", "event_type", filter.eventType) : refined ? IN_ORDER : null;
  if (other && (covered.length === 0 || (left && (await areMany(db, filter))))) return other;
  if (covered.length === 0 && !filter.tags) return IN_ORDER;
  const few = (filter.fingerprint?.length ?? GROUPS_FEW + 1) <= GROUPS_FEW;
  const sure = few && !left && !covered.some(isStatus);
  return { kind: "kinds", covered, sure, few: sure };
}

function column(field: FilterField, name: string, values: readonly string[]): ReadPlan {
  // Distinct: a value named twice would read its range twice.
  return { kind: "column", column: name, values: [...new Set(values)], covered: [field] };
}

/** Whether a condition remains beside the covered fields: a range may then hold few matching rows. */
function leavesConditions(filter: ScopedFilter, covered: readonly FilterField[]): boolean {
  return (Object.keys(filter) as Exclude<FilterField, "window">[]).some((field) => {
    if (filter[field] === undefined || field === "from" || field === "to") return false;
    return !covered.includes(field);
  });
}

async function areMany(db: Queryable, filter: ScopedFilter): Promise<boolean> {
  const params = paramsFrom(1);
  const text = `select coalesce(sum(l.n), 0)::bigint as n from dlq_group_levels l where ${kindConditions(filter, params)}`;
  const [row] = await db.query<{ n: number }>(text, params.values, { name: "kinds" });
  return row!.n > KIND_ROWS_MAX;
}
