import { type Params, paramsFrom } from "@/lib/platform/database/params.sql";
import { uuidv7LowerBound, uuidv7TimeMs } from "@/lib/platform/ids";
import { IN_RANGE, kindConditions, RANGE_KEYS, rangesOf } from "@/lib/selection/event-kinds.read";
import { type Days, EVENT_COLUMNS, eventRows, inDays, withFacts } from "@/lib/selection/event-rows.read";
import { IN_FACTS, type Search } from "@/lib/selection/event-search.read";
import {
  type CompiledFilter,
  compileFilter,
  type FilterField,
  isHeldAsked,
} from "@/lib/selection/filter/event-filter.sql";
import type { ScopedFilter } from "@/lib/selection/scope.shapes";

export type Scan = {
  filter: ScopedFilter;
  nowMs: number;
  /** Start behind this id; null = at the newest (or, towards newer, at the oldest). */
  from: string | null;
  towards: "older" | "newer";
  limit: number;
  /** Read no further than this id. */
  until?: string;
  /** Read nothing but these days. */
  days?: Days;
  /** See `Part` in controlled-parts.ts. */
  hint?: string;
  /** Rows have a `control`: whether any control is in force. A list reads the controls only when there are some. */
  flagControls?: boolean;
};

export type Sql = { text: string; values: unknown[] };

/**
 * How the rows are found. `covered`: the fields that need no condition because the plan selects by them. `sure`: no
 * range is read further than a page, so the newest rows need not be tried first. A status may be thin in its ranges.
 */
export type ReadPlan =
  | { kind: "keys"; covered: FilterField[] }
  | { kind: "column"; column: string; values: readonly string[]; covered: FilterField[] }
  | { kind: "kinds"; covered: FilterField[]; sure: boolean; few: boolean }
  | { kind: "order"; covered: FilterField[] }
  | { kind: "queue"; covered: FilterField[] };

export const IN_ORDER: ReadPlan = { kind: "order", covered: [] };

export const QUEUE: ReadPlan = { kind: "queue", covered: [] };

/** The open items, or the index of the ignored events. */
export type OwnOrder = "queue" | "ignored";

/** One hour, or several without a gap. */
export type Hours = { fromMs: number; toMs: number };

/**
 * Ids are made from the wall clock: no id is much further in the future. Keeps the partitions of the days ahead out.
 */
const CLOCK_SKEW_MS = 3_600_000;

/** `hours`: only events that were parked in these. */
export function inOrder(scan: Scan, plan: ReadPlan, hours: readonly Hours[] | null = null): Sql {
  const { compiled, params } = start(scan, plan.covered);
  const order = orderOf(scan);
  const conditions = conditionsOf(scan, compiled, params);
  const limit = `${params.add(scan.limit)}::int`;
  if (plan.kind === "keys") {
    const keys = `select k.id from event_keys k where k.event_id = any(${params.add(scan.filter.eventId)}::text[])`;
    return page(scan, `(${keys}) k join ${eventRows()} on e.id = k.id where ${all(conditions)}`, {
      order,
      limit,
      params,
    });
  }
  if (plan.kind === "queue") {
    return page(scan, matching(queueOf(scan, params), scan.days, conditions), { order, limit, params });
  }
  if (plan.kind === "order" && hours === null) {
    return page(scan, `${eventRows(scan.days)} where ${all(conditions)}`, { order, limit, params });
  }
  const { ranges, joined, also, keys = [] } = rangesIn(scan, plan, params);
  let within = "";
  if (hours !== null) {
    const ids = (end: keyof Hours) => `${params.add(hours.map((stretch) => uuidv7LowerBound(stretch[end])))}::uuid[]`;
    within = ` cross join unnest(${ids("fromMs")}, ${ids("toMs")}) h (first, next)`;
    conditions.push("e.id >= h.first and e.id < h.next");
  }
  return page(
    scan,
    `${ranges}${within} cross join lateral (
       select e.id from ${eventRows(scan.days)} where ${all([joined, also, ...conditions])} order by ${[...keys, "e.id"].map((key) => `${key} ${order}`).join(", ")} limit ${limit}) e`,
    { order, limit, params },
  );
}

/** SQL: the last of so many events that the plan reads from the start of the scan on; no row: there are fewer. */
export function endOfRound(scan: Scan, plan: ReadPlan, rows: number): Sql {
  const { from, to } = scan.filter;
  const { compiled, params } = start({ ...scan, filter: { from, to } as ScopedFilter }, []);
  const order = orderOf(scan);
  const ofFacts = plan.kind === "column" && !scan.hint;
  const { ranges, joined } = rangesIn(scan, plan.kind === "kinds" || ofFacts ? plan : IN_ORDER, params);
  const bounds = all([joined, ...conditionsOf(scan, compiled, params)]);
  const text = `select e.id
    from (select r.*, ceil(${params.add(rows)}::float8 / count(*) over ())::int as most from ${ranges}) r
    cross join lateral (
      select e.id from ${ofFacts ? "dlq_event_facts" : "dlq_events"} e where ${bounds} order by e.id ${order} offset r.most - 1 limit 1) e
   order by e.id ${order} limit 1`;
  return { text, values: params.values };
}

/**
 * SQL: what a plan reads: `ranges` r, the events `joined` to each in the order of an index, and what is `also` true of those that match. The
 * ranges of few events are compared as rows and ordered by all `keys` of their index: no other index has that order. Where there are few groups,
 * the planner takes any source for a frequent one, and would read all events in the order of their ids to find a page of a rare one.
 */
function rangesIn(
  { filter }: Pick<Scan, "filter">,
  plan: ReadPlan,
  params: Params,
): { ranges: string; joined: string; also: string; keys?: string[] } {
  if (plan.kind === "column") {
    return {
      ranges: `unnest(${params.add(plan.values)}::text[]) r (v)`,
      joined: `e.${plan.column} = r.v`,
      also: "true",
    };
  }
  if (plan.kind !== "kinds") return { ranges: "(select) r", joined: "true", also: "true" };
  const kinds = `select * from dlq_group_levels l where ${kindConditions(filter, params)}`;
  const read = { ranges: `(${rangesOf(kinds)}) r`, also: "e.status = any(r.statuses)" };
  if (!plan.few) return { ...read, joined: IN_RANGE };
  const [keys, range] = (["e", "r"] as const).map((row) => RANGE_KEYS.map((key) => `${row}.${key}`));
  return { ...read, joined: `(${keys}) >= (${range}) and (${keys}) <= (${range})`, keys: keys! };
}

/** SQL: the ids of the open items of a scan in its order. Each is one of a queued event. */
function queueOf(scan: Scan, params: Params): string {
  const { filter, nowMs, from, days } = scan;
  const { fromMs, toMs } = compileFilter(filter, nowMs);
  const order = orderOf(scan);
  const bounds = [
    ...(days ? [inDays("o", days)] : []),
    ...(from === null ? [] : [`o.id ${order === "asc" ? ">" : "<"} ${params.add(from)}::uuid`]),
    ...(fromMs === null ? [] : [`o.id >= ${params.add(uuidv7LowerBound(Math.ceil(fromMs)))}::uuid`]),
    ...(toMs === null ? [] : [`o.id < ${params.add(uuidv7LowerBound(Math.ceil(toMs)))}::uuid`]),
    ...(filter.source
      ? [`o.source_id = any(array(select id from sources where name = any(${params.add(filter.source)}::text[])))`]
      : []),
  ];
  return `select o.id from open_items o where ${all(bounds)} order by o.id ${order}`;
}

/**
 * SQL: of the ids that a query reads in order, those whose events match. `offset 0` keeps each event a look-up by its key: a plan that is
 * kept for all values may otherwise read whole days and join them.
 */
function matching(ids: string, days: Days | undefined, conditions: string[]): string {
  return `(select n.id from (${ids}) n cross join lateral (
    select from ${eventRows(days)} where ${all(["e.id = n.id", ...conditions])} offset 0) found) e`;
}

export const DAY_MS = 86_400_000;

/** The days of a page that are read first, and those that are read next. A few days are planned in a tenth of the time of all. */
const SPANS_MS = [2 * DAY_MS, 8 * DAY_MS];

/** The spans of a scan within the window of its filter. Their bounds are the ids of no event, since they lack the version of a UUIDv7. */
export function spansOf({ filter, nowMs, from, towards }: Scan): Pick<Scan, "days" | "from">[] {
  // Few events have one of these values, and they may be of any day.
  if (filter.eventId ?? filter.aggregateId ?? filter.traceId) return [{ from }];
  const forward = towards === "newer";
  const { fromMs, toMs } = compileFilter(filter, nowMs);
  const [oldestMs, newestMs] = [fromMs ?? 0, Math.min(toMs ?? Number.POSITIVE_INFINITY, nowMs + CLOCK_SKEW_MS)];
  if (forward && from === null && fromMs === null) return [{ from }];
  const cursorMs = from === null ? (forward ? oldestMs : newestMs) : uuidv7TimeMs(from);
  const startMs = forward ? Math.max(cursorMs, oldestMs) : Math.min(cursorMs, toMs ?? cursorMs);
  let edgeMs = edgeOf(startMs, forward);
  const spans: Pick<Scan, "days" | "from">[] = [];
  for (const spanMs of SPANS_MS) {
    const days = daysFrom(edgeMs, spanMs, forward);
    spans.push({ days, from });
    if (forward ? days.toMs > newestMs : days.fromMs <= oldestMs) return spans;
    edgeMs = forward ? days.toMs : days.fromMs;
  }
  return [...spans, { from: uuidv7LowerBound(edgeMs) }];
}

/** Where the day of a moment begins or, towards older, ends. */
const edgeOf = (ms: number, forward: boolean) => (Math.floor(ms / DAY_MS) + (forward ? 0 : 1)) * DAY_MS;

const daysFrom = (edgeMs: number, spanMs: number, forward: boolean): Days =>
  forward ? { fromMs: edgeMs, toMs: edgeMs + spanMs } : { fromMs: edgeMs - spanMs, toMs: edgeMs };

/** The part of a scan before this bound, within a power of two of days: few texts, whose plans are kept. */
export function upTo(scan: Scan, until: string): Scan {
  const forward = scan.towards === "newer";
  if (forward && scan.from === null) return { ...scan, until };
  const edgeMs = edgeOf(scan.from === null ? scan.nowMs + CLOCK_SKEW_MS : uuidv7TimeMs(scan.from), forward);
  const daysWanted = Math.abs(uuidv7TimeMs(until) - edgeMs) / DAY_MS;
  const spanMs = DAY_MS * 2 ** Math.ceil(Math.log2(Math.max(2, daysWanted)));
  return { ...scan, until, days: daysFrom(edgeMs, spanMs, forward) };
}

/** Does not depend on the row: PostgreSQL evaluates it once for each statement. */
export const ANY_CONTROL = "exists (select from controls where lifted_at is null) as control";

/**
 * The columns are read only for the rows of the final page, not for the page of each range. The ids come as an array:
 * the planner expects a limit given as a parameter to return a tenth of the table, and would join two whole tables.
 */
function page(
  { flagControls, days }: Scan,
  from: string,
  { order, limit, params }: { order: string; limit: string; params: Params },
): Sql {
  return {
    text: `select ${EVENT_COLUMNS}${flagControls ? `, ${ANY_CONTROL}` : ""}
             from unnest(array(select e.id from ${from} order by e.id ${order} limit ${limit})) p (id)
             join ${eventRows(days)} on e.id = p.id join sources s on s.id = e.source_id order by p.id ${order}`,
    values: params.values,
  };
}

/** The matching ones of these events. */
export function named(scan: Scan, ids: readonly string[]): Sql {
  const { sooner, later, params } = soonerAndLater(scan, []);
  const from = matching(`select n.id from unnest(${params.add(ids)}::uuid[]) n (id)`, scan.days, [...sooner, ...later]);
  return page(scan, from, { order: orderOf(scan), limit: `${params.add(scan.limit)}::int`, params });
}

/** Rows searched before a match counts as rare: a few milliseconds of work. */
export const PROBE_ROWS = 4_000;

/** The same when a condition reads another table for each row. */
const PROBE_FACTS = 1_000;

const FACTS = [
  "aggregateId",
  "eventType",
  "traceId",
  "tags",
  "failedFrom",
  "failedTo",
  "q",
  "not.aggregateId",
  "not.eventType",
  "not.traceId",
  "not.tags",
] as const;

const readsFacts = (filter: ScopedFilter) => FACTS.some((field) => filter[field] !== undefined);

export const probedRows = (filter: ScopedFilter) =>
  readsFacts(filter) || isHeldAsked(filter) ? PROBE_FACTS : PROBE_ROWS;

/** The conditions on these fields and the bounds of the page, and the other conditions. */
function soonerAndLater(
  scan: Scan,
  fields: readonly FilterField[],
): { sooner: string[]; later: string[]; params: Params } {
  const { compiled, params } = start(scan, []);
  const sooner = compiled.conditions.filter(({ field }) => fields.includes(field)).map(({ sql }) => sql);
  const later = compiled.conditions.filter(({ field }) => !fields.includes(field)).map(({ sql }) => sql);
  return { sooner: [...sooner, ...boundsOf(scan, params)], later, params };
}

/** Searches the next rows of the table, or of the order of a status, and returns the matching ones. */
export function probe(scan: Scan, own: OwnOrder | null): Sql {
  const order = orderOf(scan);
  const limitOf = (params: Params) => ({ order, limit: `${params.add(scan.limit)}::int`, params });
  if (own === "queue") {
    const { sooner, later, params } = soonerAndLater(scan, []);
    const next = `${queueOf(scan, params)} limit ${PROBE_FACTS}`;
    return page(scan, matching(next, scan.days, [...sooner, ...later]), limitOf(params));
  }
  const { sooner, later, params } = soonerAndLater(scan, ["window"]);
  const next = `select e.* from dlq_events e where ${all(sooner)} order by e.id ${order} limit ${probedRows(scan.filter)}`;
  return page(
    scan,
    `${readsFacts(scan.filter) ? withFacts(next, scan.days) : `(${next}) e`} where ${all(later)}`,
    limitOf(params),
  );
}

/** Reads times of failure and last errors, and the rest of the events that these match. */
export function throughFacts(scan: Scan, search: Search): Sql {
  const { sooner, later, params } = soonerAndLater(scan, IN_FACTS);
  const order = orderOf(scan);
  sooner.push(search.inFacts(params));
  const found = `select e.id from dlq_event_facts e where ${all(sooner)} order by e.id ${order}`;
  return page(scan, matching(found, scan.days, later), { order, limit: `${params.add(scan.limit)}::int`, params });
}

/**
 * Reads all rows with the tags by their index, then sorts them. Materialised, because with a limit the planner would
 * not use the index.
 */
export function throughTags(scan: Scan): Sql {
  const { compiled, params } = start(scan, []);
  const order = orderOf(scan);
  const conditions = [...compiled.conditions.map(({ sql }) => sql), ...boundsOf(scan, params)];
  const limit = `${params.add(scan.limit)}::int`;
  const { text, values } = page(scan, "tagged e", { order, limit, params });
  return {
    text: `with tagged as materialized (select e.id from ${eventRows(scan.days)} where ${all(conditions)}) ${text}`,
    values,
  };
}

/** The conditions of the fields that are not covered, and the start of the page. */
function conditionsOf(scan: Scan, compiled: CompiledFilter, params: Params): string[] {
  const left = compiled.conditions.map(({ field, sql }) =>
    // This form prevents the use of the tag index: the planner would read the whole GIN entry of a common tag for each
    // range.
    field === "tags" ? `(${sql}) is true` : sql,
  );
  return [...left, ...boundsOf(scan, params)];
}

function boundsOf(scan: Scan, params: Params): string[] {
  const bounds = [...(scan.hint ? [scan.hint] : []), ...(scan.days ? [inDays("e", scan.days)] : [])];
  const forward = scan.towards === "newer";
  if (scan.from !== null) bounds.push(`e.id ${forward ? ">" : "<"} ${params.add(scan.from)}::uuid`);
  if (scan.until) bounds.push(`e.id ${forward ? "<=" : ">="} ${params.add(scan.until)}::uuid`);
  if (scan.from === null || forward) {
    bounds.push(`e.id < ${params.add(uuidv7LowerBound(scan.nowMs + CLOCK_SKEW_MS))}::uuid`);
  }
  return bounds;
}

/** The conditions of the filter without the covered fields. */
function start(scan: Scan, covered: readonly FilterField[]): { compiled: CompiledFilter; params: Params } {
  const rest = { ...scan.filter };
  for (const field of covered) if (field !== "window") delete rest[field];
  const compiled = compileFilter(rest, scan.nowMs);
  const params = paramsFrom(1);
  for (const value of compiled.values) params.add(value);
  return { compiled, params };
}

const all = (conditions: string[]) => (conditions.length === 0 ? "true" : conditions.join(" and "));

const orderOf = ({ towards }: Scan) => (towards === "newer" ? "asc" : "desc");
