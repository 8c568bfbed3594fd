import type { EventOut } from "@/lib/events/events.shapes";
import { areRare, examinedMax } from "@/lib/events/list/event-scan.read";
import { ANY_CONTROL } from "@/lib/events/list/scan-statements.read";
import type { Queryable } from "@/lib/platform/database/db";
import { type Params, paramsFrom } from "@/lib/platform/database/params.sql";
import { KIND_ROWS_MAX, kindShare } from "@/lib/selection/event-kinds.read";
import { EVENT_COLUMNS } from "@/lib/selection/event-rows.read";
import { IN_FACTS, inGroups, isNarrow, narrowParts, readSearch } from "@/lib/selection/event-search.read";
import { compileFilter } from "@/lib/selection/filter/event-filter.sql";
import type { ScopedFilter } from "@/lib/selection/scope.shapes";

/**
 * A page of events in the order of their last failure, then of their id. Events without a time of failure come last
 * in both orders. Few matches are read and sorted; for many the index of failure times is walked until the page
 * is full, or as many events as a page may examine.
 */

/** The position of an event: `failedUs` is its time of failure in epoch microseconds, null = unknown. */
export type FailurePlace = { failedUs: string | null; id: string };

type FailureScan = {
  filter: ScopedFilter;
  nowMs: number;
  newestFirst: boolean;
  /** Start after this position; null = at the start, or at the end when reading backwards. */
  from: FailurePlace | null;
  backwards: boolean;
  limit: number;
};

/** `control`: whether any control is in force. */
type EventByFailure = EventOut & { failedUs: string | null; control: unknown };

/** `examinedTo`: the page is not full, since no event behind this one was examined; null = it is full, or there are no more. */
type Scanned = { rows: EventByFailure[]; examinedTo: FailurePlace | null };

/** Rows in the order in which they are read. Rejects with DomainError `invalid-filter` or `read-timeout`. */
export async function scanByFailure(db: Queryable, scan: FailureScan): Promise<Scanned> {
  const few = await areFew(db, scan);
  const { from } = scan;
  const fromTimed = from === null ? null : from.failedUs !== null;
  const parts = scan.backwards ? [false, true] : [true, false];
  const found: EventByFailure[] = [];
  for (const timed of parts.slice(fromTimed === null ? 0 : parts.indexOf(fromTimed))) {
    const limit = scan.limit - found.length;
    if (limit === 0) break;
    const part = { ...scan, from: timed === fromTimed ? from : null, limit, timed, few };
    const { rows, examinedTo } = await readPart(db, part);
    found.push(...rows);
    if (examinedTo !== null) return { rows: found, examinedTo };
  }
  return { rows: found, examinedTo: null };
}

/** null = the event is not stored. */
export async function readFailurePlace(db: Queryable, id: string): Promise<FailurePlace | null> {
  const [place] = await db.query<FailurePlace>(
    `select e.id, ${FAILED_US} as "failedUs" from dlq_event_facts e where e.id = $1`,
    [id],
    { name: "failure-place" },
  );
  return place ?? null;
}

const FAILED_US = "(extract(epoch from e.failed_at) * 1000000)::bigint::text";

/** Of the events with a time of failure, or of those without one. */
type Part = FailureScan & { timed: boolean; few: boolean };

async function readPart(db: Queryable, part: Part): Promise<Scanned> {
  const { filter, nowMs, few, limit } = part;
  const compiled = compileFilter(filter, nowMs);
  const { wheres, values } = few ? await narrowParts(db, filter, nowMs) : { wheres: [], values: compiled.values };
  if (few && wheres.length === 0) return { rows: [], examinedTo: null };
  const params = paramsFrom(1);
  for (const value of values) params.add(value);
  const conditions = (inFacts: boolean) =>
    compiled.conditions.flatMap(({ field, sql }) => (IN_FACTS.includes(field) === inFacts ? [sql] : []));
  const order = orderOf(part);
  const examined = examinedMax(filter);
  const matches = few
    ? // `offset 0` makes the planner find the matches first instead of walking the index until it meets them.
      `select e.id from (
         ${wheres.map((where) => `select e.id, e.failed_at from dlq_event_rows e where ${where}`).join(" union ")} offset 0) e
        where ${placeOf(part, params)} order by ${order("e")}`
    : // Here it makes each event a look-up by its key, in the order of the walk.
      `select n.id from (${walk(part, params, conditions(true))} limit ${examined}) n cross join lateral (
         select from dlq_event_rows e where ${["e.id = n.id", ...conditions(false)].join(" and ")} offset 0) found order by ${order("n")}`;
  const rows = await db.query<EventByFailure>(
    `select ${EVENT_COLUMNS}, ${FAILED_US} as "failedUs", ${ANY_CONTROL}
       from unnest(array(${matches} limit ${params.add(limit)}::int)) with ordinality as p (id, place)
       join dlq_event_rows e on e.id = p.id join sources s on s.id = e.source_id order by p.place`,
    params.values,
    { name: "events-by-failure", isoTimes: true },
  );
  return { rows, examinedTo: few || rows.length >= limit ? null : await endOfWalk(db, part, examined) };
}

/** The last of so many events from the start of the part on; null = there are fewer. */
async function endOfWalk(db: Queryable, part: Part, examined: number): Promise<FailurePlace | null> {
  const { from, to, failedFrom, failedTo } = part.filter;
  const compiled = compileFilter({ from, to, failedFrom, failedTo } as ScopedFilter, part.nowMs);
  const params = paramsFrom(1);
  for (const value of compiled.values) params.add(value);
  const conditions = compiled.conditions.map(({ sql }) => sql);
  const [end] = await db.query<FailurePlace>(
    `select e.id, ${FAILED_US} as "failedUs" from (${walk(part, params, conditions)} offset ${examined - 1} limit 1) e`,
    params.values,
    { name: "end-of-walk" },
  );
  return end ?? null;
}

/** SQL: `id` and `failed_at` of the events from the start of the part on, by the index of failure times. */
const walk = (part: Part, params: Params, conditions: readonly string[]) =>
  `select e.id, e.failed_at from dlq_event_facts e
    where ${[placeOf(part, params), ...conditions].join(" and ")} order by ${orderOf(part)("e")}`;

const keysOf = ({ timed }: Part) => (timed ? ["failed_at", "id"] : ["id"]);

const isAscending = ({ newestFirst, backwards }: Part) => newestFirst === backwards;

const orderOf = (part: Part) => (alias: string) =>
  keysOf(part)
    .map((key) => `${alias}.${key} ${isAscending(part) ? "asc" : "desc"}`)
    .join(", ");

/** SQL: `e` is of the part, and behind its start. */
function placeOf(part: Part, params: Params): string {
  const { from, timed } = part;
  const known = `e.failed_at is ${timed ? "not " : ""}null`;
  if (from === null) return known;
  const time = () => `'epoch'::timestamptz + ${params.add(from.failedUs)}::float8 * interval '1 microsecond'`;
  const start = [...(timed ? [time()] : []), `${params.add(from.id)}::uuid`].join(", ");
  const keys = keysOf(part).map((key) => `e.${key}`);
  return `${known} and (${keys.join(", ")}) ${isAscending(part) ? ">" : "<"} (${start})`;
}

/** Whether few enough events can match to read and sort them: fewer than a walk would visit to fill the page. */
async function areFew(db: Queryable, { filter, limit }: FailureScan): Promise<boolean> {
  if (isNarrow(filter)) return true;
  if (filter.tags && (await areRare(db, filter.tags))) return true;
  const search = filter.q === undefined ? null : await readSearch(db, filter);
  const kinds = search === null ? filter : inGroups(filter, search);
  if (kinds === null) return true;
  const share = await kindShare(db, kinds);
  return share !== null && share.events <= KIND_ROWS_MAX && share.events ** 2 <= limit * share.ofAll;
}
