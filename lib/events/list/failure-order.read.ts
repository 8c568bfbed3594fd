import type { EventOut } from "@/lib/events/events.shapes";
import { areRare } from "@/lib/events/list/event-scan.read";
import { ANY_CONTROL } from "@/lib/events/list/scan-statements.read";
import type { Queryable } from "@/lib/platform/database/db";
import { paramsFrom } from "@/lib/platform/database/params.sql";
import { KIND_ROWS_MAX, kindShare } from "@/lib/selection/event-kinds.read";
import { EVENT_COLUMNS } from "@/lib/selection/event-rows.read";
import { IN_FACTS, inGroups, isNarrow, narrowParts, readSearch } from "@/lib/selection/event-search.read";
import { compileFilter } from "@/lib/selection/filter/event-filter.sql";
import type { ScopedFilter } from "@/lib/selection/scope.shapes";

/**
 * A page of events in the order of their last failure, then of their id. Events without a time of failure come last
 * in both orders. Few matches are read and sorted; for many the index of failure times is walked until the page
 * is full, within the days of a window, which the statement timeout bounds where matches are thin.
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
export type EventByFailure = EventOut & { failedUs: string | null; control: unknown };

/** Rows in the order in which they are read. Rejects with DomainError `invalid-filter` or `read-timeout`. */
export async function scanByFailure(db: Queryable, scan: FailureScan): Promise<EventByFailure[]> {
  const few = await areFew(db, scan);
  const { from } = scan;
  const fromTimed = from === null ? null : from.failedUs !== null;
  const parts = scan.backwards ? [false, true] : [true, false];
  const found: EventByFailure[] = [];
  for (const timed of parts.slice(fromTimed === null ? 0 : parts.indexOf(fromTimed))) {
    const limit = scan.limit - found.length;
    if (limit === 0) break;
    const part = { ...scan, from: timed === fromTimed ? from : null, limit };
    found.push(...(await readPart(db, part, { timed, few })));
  }
  return found;
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

/** The events with a time of failure, or those without one. */
async function readPart(
  db: Queryable,
  scan: FailureScan,
  { timed, few }: { timed: boolean; few: boolean },
): Promise<EventByFailure[]> {
  const { filter, nowMs, newestFirst, from, backwards, limit } = scan;
  const compiled = compileFilter(filter, nowMs);
  const { wheres, values } = few ? await narrowParts(db, filter, nowMs) : { wheres: [], values: compiled.values };
  if (few && wheres.length === 0) return [];
  const params = paramsFrom(1);
  for (const value of values) params.add(value);
  const ascending = newestFirst === backwards;
  const keys = timed ? ["failed_at", "id"] : ["id"];
  const orderOf = (alias: string) => keys.map((key) => `${alias}.${key} ${ascending ? "asc" : "desc"}`).join(", ");
  const place = [`e.failed_at is ${timed ? "not " : ""}null`];
  if (from !== null) {
    const time = () => `'epoch'::timestamptz + ${params.add(from.failedUs)}::float8 * interval '1 microsecond'`;
    const behind = [...(timed ? [time()] : []), `${params.add(from.id)}::uuid`].join(", ");
    place.push(`(${keys.map((key) => `e.${key}`).join(", ")}) ${ascending ? ">" : "<"} (${behind})`);
  }
  const conditions = (inFacts: boolean) =>
    compiled.conditions.flatMap(({ field, sql }) => (IN_FACTS.includes(field) === inFacts ? [sql] : []));
  const inOrder = few
    ? // `offset 0` makes the planner find the matches first instead of walking the index until it meets them.
      `select e.id from (
         ${wheres.map((where) => `select e.id, e.failed_at from dlq_event_rows e where ${where}`).join(" union ")} offset 0) e
        where ${place.join(" and ")} order by ${orderOf("e")}`
    : `select e.id from (select e.id, e.failed_at from dlq_event_facts e
                          where ${[...place, ...conditions(true)].join(" and ")} order by ${orderOf("e")}) n
         join dlq_event_rows e on e.id = n.id where ${["true", ...conditions(false)].join(" and ")} order by ${orderOf("n")}`;
  return db.query<EventByFailure>(
    `select ${EVENT_COLUMNS}, ${FAILED_US} as "failedUs", ${ANY_CONTROL}
       from unnest(array(${inOrder} limit ${params.add(limit)}::int)) with ordinality as p (id, place)
       join dlq_event_rows e on e.id = p.id join sources s on s.id = e.source_id order by p.place`,
    params.values,
    { name: "events-by-failure", isoTimes: true },
  );
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
