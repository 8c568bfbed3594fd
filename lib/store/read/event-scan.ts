import type { EventOut } from "@/lib/contract/events";
import type { ScopedFilter } from "@/lib/contract/scope";
import { EVENT_STATUSES } from "@/lib/core/event-state";
import { uuidv7LowerBound } from "@/lib/platform/ids";
import { type Queryable, statementName } from "@/lib/store/db";
import { controlledParts } from "@/lib/store/read/controlled-parts";
import {
  type CompiledFilter,
  compileFilter,
  type FilterField,
  groupsHolding,
  type Params,
  paramsFrom,
  splitStatuses,
  splitWords,
} from "@/lib/store/read/event-filter-sql";
import { EVENT_COLUMNS } from "@/lib/store/read/event-rows";

/**
 * Reads matching events in the order of their id, a page at a time, at the same cost at any depth.
 *
 * The planner's trap is `order by id limit 50` over a filter it misjudges: it walks the key from the end, or sorts
 * everything. So the way is fixed here. A filter by a name that has an index (value, status, id) becomes one ordered
 * range for each value and status, merged: no plan reads more than a page of each. Tags, which have a GIN index without
 * an order, are looked for among the newest rows first, then through their index.
 */

export type Scan = {
  filter: ScopedFilter;
  nowMs: number;
  /** Start behind this id; null = at the newest (or, towards newer, at the oldest). */
  from: string | null;
  towards: "older" | "newer";
  limit: number;
  /** See `Part` in controlled-parts.ts. */
  hint?: string;
  /** Rows have a `control`: whether any is in force at all. A list asks for the controls only when there are some. */
  flagControls?: boolean;
};

export type ScannedEvent = EventOut & { control?: unknown };

/** Ids are made from the wall clock: nothing lies much further in the future. Keeps the janitor's days ahead out. */
const CLOCK_SKEW_MS = 3_600_000;

/** Rows in the order asked for. Rejects with DomainError `invalid-filter` or `read-timeout`. */
export async function scanEvents(db: Queryable, scan: Scan): Promise<ScannedEvent[]> {
  const parts = await controlledParts(db, scan.filter);
  if (parts === null) return scanOne(db, scan);
  const found = await Promise.all(parts.map((part) => scanOne(db, { ...scan, ...part })));
  // An event that two controls catch is in two parts.
  const rows = [...new Map(found.flat().map((row) => [row.id, row])).values()];
  const order = scan.towards === "newer" ? 1 : -1;
  return rows.sort((a, b) => (a.id < b.id ? -order : order)).slice(0, scan.limit);
}

async function scanOne(db: Queryable, scan: Scan): Promise<ScannedEvent[]> {
  const groups = await resolveGroups(db, scan.filter);
  if (groups !== null && groups.length === 0) return [];
  const query = { ...scan, groups };
  const way = wayOf(scan.filter, groups);
  const narrow = way.kind === "keys" || isNarrow(scan.filter);
  if (narrow || !(scan.filter.tags || isThin(way, query))) return run(db, inRanges(query));
  // What is common is found among the next few thousand rows, whatever its name; what is not, by an index.
  const near = await run(db, probe(query));
  if (near.length >= query.limit) return near;
  const byTags = scan.filter.tags && (way.kind === "order" || (await areRare(db, scan.filter.tags)));
  return run(db, byTags ? throughTags(query) : inRanges(query));
}

/** Rows that can be fetched and sorted at once. */
const RARE_ROWS = 2_000;

/** Whether few events have these tags. Their index has no order: it stops counting early, but reads a partition whole. */
async function areRare(db: Queryable, tags: NonNullable<ScopedFilter["tags"]>): Promise<boolean> {
  // How common a tag is, over every source: it chooses the way, and no row comes of it.
  const { where, values } = compileFilter({ tags } as ScopedFilter, 0);
  const text = `select count(*)::int as n from (select 1 from dlq_events e where ${where} limit ${RARE_ROWS}) few`;
  const [row] = await db.query<{ n: number }>(text, values, { name: statementName("rare", text) });
  return row!.n < RARE_ROWS;
}

/** Groups whose ranges are cheaper to read at once than to look for among the newest rows. */
const GROUPS_FEW = 4;

/**
 * True when the ranges of a way may hold few rows that match: a condition is left that the index does not know. A range
 * without any match is then read to its end, as for "this type from that source" where the two never meet in one status.
 */
function isThin(way: Way, query: Query): boolean {
  if (way.kind !== "ranges") return false;
  if (query.groups !== null && query.groups.length > GROUPS_FEW) return true;
  return compileRest(query, way.told).conditions.some(({ field }) => field !== "window");
}

type Query = Scan & { groups: string[] | null };
type Sql = { text: string; values: unknown[] };

function run(db: Queryable, { text, values }: Sql): Promise<ScannedEvent[]> {
  return db.query<ScannedEvent>(text, values, { name: statementName("events", text), isoTimes: true });
}

/** More groups than this match a word that says nothing: then they are a condition, not a way. */
const GROUP_RANGES_MAX = 64;

/** Fingerprints that hold the plain words of `q`; null = no such words. They are thousands: read, not planned. */
async function resolveGroups(db: Queryable, filter: ScopedFilter): Promise<string[] | null> {
  const plain = filter.q === undefined ? [] : splitWords(filter.q).plain;
  if (plain.length === 0) return null;
  const rows = await db.query<{ fingerprint: string }>(groupsHolding("$1"), [plain], { name: "groups_holding" });
  const found = rows.map((row) => row.fingerprint);
  return filter.fingerprint ? found.filter((fingerprint) => filter.fingerprint!.includes(fingerprint)) : found;
}

/** These name a handful of rows each. */
function isNarrow(filter: ScopedFilter): boolean {
  return Boolean(filter.aggregateId || filter.traceId);
}

/** One relation of values, joined to one column. */
type Range = { column: string; relation: (params: Params) => string };
/** A filter's field, or the groups that hold the plain words of `q`. */
type Told = FilterField | "groups";
type Way = { kind: "keys" } | { kind: "ranges"; told: Told[]; ranges: Range[] } | { kind: "order" };

const texts = (column: string, values: readonly string[]): Range => ({
  column,
  // Distinct: a value named twice would read its range twice.
  relation: (params) => `unnest(${params.add([...new Set(values)])}::text[])`,
});

const sources = (names: readonly string[]): Range => ({
  column: "source_id",
  relation: (params) => `(select id from sources where name = any(${params.add(names)}::text[]))`,
});

/** The index to read by: the name that is usually the most selective first. */
function wayOf(filter: ScopedFilter, groups: string[] | null): Way {
  if (filter.eventId) return { kind: "keys" };
  if (filter.aggregateId) return ranges(["aggregateId"], [texts("aggregate_id", filter.aggregateId)]);
  if (filter.traceId) return ranges(["traceId"], [texts("trace_id", filter.traceId)]);
  const fingerprints = groups ?? filter.fingerprint;
  if (fingerprints && fingerprints.length <= GROUP_RANGES_MAX) {
    return byStatus(filter, ["fingerprint", "groups"], [texts("fingerprint", fingerprints)]);
  }
  if (filter.source && filter.errorCode) {
    return byStatus(filter, ["source", "errorCode"], [sources(filter.source), texts("error_code", filter.errorCode)]);
  }
  if (filter.errorCode) return byStatus(filter, ["errorCode"], [texts("error_code", filter.errorCode)]);
  if (filter.eventType) return byStatus(filter, ["eventType"], [texts("event_type", filter.eventType)]);
  if (filter.source) return byStatus(filter, ["source"], [sources(filter.source)]);
  const statuses = filter.status && splitStatuses(filter.status);
  // The refinements have small indexes of their own, which the planner finds.
  if (statuses && statuses.refined.length === 0) return byStatus(filter, [], []);
  return { kind: "order" };
}

function ranges(told: Told[], list: Range[]): Way {
  return { kind: "ranges", told, ranges: list };
}

/** The indexes go on with the status: one range for each that can match. */
function byStatus(filter: ScopedFilter, fields: Told[], list: Range[]): Way {
  const { stored, refined } = splitStatuses(filter.status ?? EVENT_STATUSES);
  const parents = new Set(stored);
  for (const status of refined) parents.add(status === "CONFIRMED" ? "REDRIVEN" : "PENDING");
  // A refinement stays a condition; stored statuses are wholly told by their ranges.
  const told: Told[] = refined.length === 0 ? ["status"] : [];
  return ranges([...fields, ...told], [...list, texts("status", [...parents])]);
}

/** The plain words of `q`, once they are found. */
function groupCondition(groups: readonly string[], params: Params): string {
  return `e.fingerprint = any(${params.add(groups)}::text[])`;
}

/** All conditions except those of the fields told otherwise, and where the page starts. */
function conditionsOf(query: Query, compiled: CompiledFilter, params: Params, told: Told[]): string[] {
  const left = compiled.conditions.filter(({ field }) => !told.includes(field)).map(({ sql }) => sql);
  if (query.groups !== null && !told.includes("groups")) left.push(groupCondition(query.groups, params));
  if (query.hint) left.push(query.hint);
  const forward = query.towards === "newer";
  if (query.from !== null) left.push(`e.id ${forward ? ">" : "<"} ${params.add(query.from)}::uuid`);
  if (query.from === null || forward) {
    left.push(`e.id < ${params.add(uuidv7LowerBound(query.nowMs + CLOCK_SKEW_MS))}::uuid`);
  }
  return left;
}

/**
 * The filter's conditions without the plain words, which `groups` stands for, and without those the way tells already:
 * a parameter that no condition uses has no type, and PostgreSQL refuses it.
 */
function compileRest(query: Query, told: Told[]): CompiledFilter {
  const { q, ...rest } = query.filter;
  for (const field of told) if (field !== "window" && field !== "q" && field !== "groups") delete rest[field];
  const numbered = q === undefined ? [] : splitWords(q).numbered;
  return compileFilter(numbered.length > 0 ? { ...rest, q: numbered.join(" ") } : rest, query.nowMs);
}

function start(query: Query, told: Told[] = []): { compiled: CompiledFilter; params: Params } {
  const compiled = compileRest(query, told);
  const params = paramsFrom(1);
  for (const value of compiled.values) params.add(value);
  return { compiled, params };
}

const all = (conditions: string[]) => (conditions.length === 0 ? "true" : conditions.join(" and "));

function inRanges(query: Query): Sql {
  const way = wayOf(query.filter, query.groups);
  const told: Told[] = way.kind === "ranges" ? way.told : way.kind === "keys" ? ["eventId"] : [];
  const { compiled, params } = start(query, told);
  const order = query.towards === "newer" ? "asc" : "desc";
  // In this form no index takes a tag: the planner would read the whole GIN entry of a common one for each range.
  const tags = compiled.conditions.filter(({ field }) => field === "tags").map(({ sql }) => `(${sql}) is true`);
  const conditions = [...conditionsOf(query, compiled, params, [...told, "tags"]), ...tags];
  const limit = `${params.add(query.limit)}::int`;
  if (way.kind === "keys") {
    const keys = `select k.id from event_keys k where k.event_id = any(${params.add(query.filter.eventId)}::text[])`;
    return page(query, `(${keys}) k join dlq_events e on e.id = k.id where ${all(conditions)}`, order, limit, params);
  }
  if (way.kind === "order") return page(query, `dlq_events e where ${all(conditions)}`, order, limit, params);
  const relations = way.ranges.map((range, index) => `${range.relation(params)} r${index} (v)`);
  const joined = way.ranges.map((range, index) => `e.${range.column} = r${index}.v`);
  return page(
    query,
    `${relations.join(" cross join ")} cross join lateral (
       select e.* from dlq_events e where ${all([...joined, ...conditions])} order by e.id ${order} limit ${limit}) e`,
    order,
    limit,
    params,
  );
}

/** Does not depend on the row: PostgreSQL looks once for each statement. */
const ANY_CONTROL = `(exists (select from controls where lifted_at is null)
  or exists (select from aggregates where blacklist_id is not null)) as control`;

function page({ flagControls }: Query, from: string, order: string, limit: string, params: Params): Sql {
  return {
    text: `select ${EVENT_COLUMNS}${flagControls ? `, ${ANY_CONTROL}` : ""} from (select e.* from ${from} order by e.id ${order} limit ${limit}) e
             join sources s on s.id = e.source_id order by e.id ${order}`,
    values: params.values,
  };
}

/** Rows looked at before something is taken for rare: a few milliseconds' worth. */
const PROBE_ROWS = 4_000;

/** The next PROBE_ROWS rows of all, of which those that match. */
function probe(query: Query): Sql {
  const { compiled, params } = start(query);
  const order = query.towards === "newer" ? "asc" : "desc";
  const late: Told[] = [
    "groups",
    ...compiled.conditions.map(({ field }) => field).filter((field) => field !== "window"),
  ];
  const later = compiled.conditions.filter(({ field }) => late.includes(field)).map(({ sql }) => sql);
  if (query.groups !== null) later.push(groupCondition(query.groups, params));
  const sooner = conditionsOf(query, compiled, params, late);
  const next = `select e.* from dlq_events e where ${all(sooner)} order by e.id ${order} limit ${PROBE_ROWS}`;
  return page(query, `(${next}) e where ${all(later)}`, order, `${params.add(query.limit)}::int`, params);
}

/** Everything that has the tags by their index, then in order. Materialised: a limit would lure the planner away. */
function throughTags(query: Query): Sql {
  const { compiled, params } = start(query);
  const order = query.towards === "newer" ? "asc" : "desc";
  const conditions = conditionsOf(query, compiled, params, []);
  const limit = `${params.add(query.limit)}::int`;
  const { text, values } = page(query, "tagged e", order, limit, params);
  return {
    text: `with tagged as materialized (select e.* from dlq_events e where ${all(conditions)}) ${text}`,
    values,
  };
}
