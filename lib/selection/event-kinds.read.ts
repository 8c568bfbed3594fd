import type { Queryable } from "@/lib/platform/database/db";
import { type Params, paramsFrom } from "@/lib/platform/database/params.sql";
import { groupsMeant } from "@/lib/selection/aliases.sql";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import {
  asksRefinement,
  type CompiledFilter,
  splitStatuses,
  statusesOf,
} from "@/lib/selection/filter/event-filter.sql";
import { EVENT_STATUSES, type EventStatus } from "@/lib/states/event-state.pure";
import { EVENT } from "@/lib/states/state.sql";

/**
 * A kind of events has one fingerprint, source and status, and `dlq_group_levels` counts each exactly. The index
 * `dlq_events_group` has three ordered ranges for each fingerprint and source: the confirmed events, the ignored ones, and
 * all others. So a filter by these names reads only ranges with events of its kinds.
 */

/** The values of `dlq_events.settled` that events of a status may have. */
const SETTLED = { PENDING: [0], QUEUED: [0], IGNORED: [1], REDRIVEN: [0, 2] } as const satisfies Record<
  EventStatus,
  unknown
>;

/** SQL: the ranges of a fingerprint and a source, whatever the status. */
export const ANY_RANGE = "(values (0), (1), (2)) r (settled)";

/** SQL: the ranges that hold these kinds (`fingerprint`, `source_id`, `status` of `kinds`), each with the statuses to look for in it. */
export function rangesOf(kinds: string): string {
  const settled = EVENT_STATUSES.flatMap((status) => SETTLED[status].map((value) => `(${EVENT[status]}, ${value})`));
  return `select k.fingerprint, k.source_id, s.settled, array_agg(distinct k.status) as statuses
    from (${kinds}) k join (values ${settled}) s (status, settled) using (status) group by 1, 2, 3`;
}

/** The columns of the index that a range has one value of, in their order. The id of the event follows. */
export const RANGE_KEYS = ["fingerprint", "source_id", "settled"] as const;

/** SQL: the event `e` is in the range `r`. */
export const IN_RANGE = RANGE_KEYS.map((key) => `e.${key} = r.${key}`).join(" and ");

/** What kinds decide. Of statuses only the stored ones. */
const KIND_FIELDS = [
  "source",
  "errorCode",
  "fingerprint",
  "status",
  "not.source",
  "not.errorCode",
  "not.fingerprint",
  "not.status",
] as const;

/** The fields of this filter that kinds decide. */
export function kindFieldsOf(filter: EventFilter): (typeof KIND_FIELDS)[number][] {
  const refined = asksRefinement(filter);
  return KIND_FIELDS.filter((field) => filter[field] !== undefined && !(refined && field.endsWith("status")));
}

/** Over `l` (dlq_group_levels): the kinds that may match. A refinement of a status stands for the status it refines. */
export function kindConditions(filter: EventFilter, params: Params): string {
  const all = ["true"];
  const statuses = statusesOf(filter);
  if (statuses !== null) all.push(`l.status = any(${params.add(statuses)}::text[])`);
  for (const not of ["", "not."] as const) {
    const fingerprint = filter[`${not}fingerprint` as const];
    const source = filter[`${not}source` as const];
    const errorCode = filter[`${not}errorCode` as const];
    const is = not === "" ? "" : "not ";
    if (fingerprint) {
      const meant = groupsMeant(`${params.add(fingerprint)}::text[]`, { unmoved: true });
      all.push(`${is}l.fingerprint = any(${meant})`);
    }
    if (source) {
      all.push(`l.source_id ${is}in (select id from sources where name = any(${params.add(source)}::text[]))`);
    }
    if (errorCode) {
      const codes = `${params.add(errorCode)}::text[]`;
      all.push(`l.fingerprint ${is}in (select fingerprint from dlq_groups where error_code = any(${codes}))`);
    }
  }
  return all.join(" and ");
}

/** True when kinds alone decide whether an event matches: their counts are the filter's. */
export function isDecidedByKinds(filter: EventFilter): boolean {
  const used = (Object.keys(filter) as (keyof EventFilter)[]).filter((name) => filter[name] !== undefined);
  const decided: readonly string[] = kindFieldsOf(filter);
  return used.every((name) => decided.includes(name));
}

/** Up to this many rows of all kinds are read with a condition that remains; beyond, another plan is used. */
export const KIND_ROWS_MAX = 20_000;

/** How much of the store the kinds of a filter hold. */
type KindShare = { kinds: number; events: number; ofAll: number };

/** null = the filter names nothing that kinds tell. */
export async function kindShare(db: Queryable, filter: EventFilter): Promise<KindShare | null> {
  const params = paramsFrom(1);
  const conditions = kindConditions(filter, params);
  if (params.values.length === 0) return null;
  const text = `select count(*) filter (where l.met)::int as kinds, coalesce(sum(l.n) filter (where l.met), 0)::bigint as events,
       coalesce(sum(l.n), 0)::bigint as "ofAll"
     from (select sum(l.n) as n, ${conditions} as met from dlq_group_levels l
            group by l.fingerprint, l.source_id, l.status) l`;
  const [share] = await db.query<KindShare>(text, params.values, { name: "kind_share" });
  return share!;
}

/** Kinds that hold less than this share of all events are read by their index rather than with the table. */
const NARROW_SHARE = 1 / 8;

/**
 * Whether the filter names nothing that kinds tell but refinements with an index of their own. That index has fewer events than the kinds of
 * the refined status, whose names alone can take the planner longer than the read.
 */
function isOfRefinements(filter: EventFilter): boolean {
  const { status = [], ...rest } = filter;
  const { stored, refined } = splitStatuses(status);
  return stored.length === 0 && refined.length > 0 && !refined.includes("HELD") && kindFieldsOf(rest).length === 0;
}

/**
 * The same conditions with the kinds that can match, named by value, when they hold a small part of the store. No index
 * holds an error code, and none begins with a source or a status: without the kinds' fingerprints such a filter reads
 * every event. `firstParam`: the number of the first parameter of `compiled`.
 */
export async function narrowToKinds(
  db: Queryable,
  filter: EventFilter,
  compiled: Pick<CompiledFilter, "where" | "values">,
  firstParam: number,
): Promise<Pick<CompiledFilter, "where" | "values">> {
  if (isOfRefinements(filter)) return compiled;
  const share = await kindShare(db, filter);
  if (share === null || share.events > share.ofAll * NARROW_SHARE) return compiled;
  const asked = paramsFrom(1);
  const text = `select array(select distinct fingerprint from met) as fingerprints, array(select distinct source_id from met) as sources,
       array(select distinct status from met) as statuses`;
  const [met] = await db.query<{ fingerprints: string[]; sources: string[]; statuses: EventStatus[] }>(
    `with met as materialized (select * from dlq_group_levels l where ${kindConditions(filter, asked)}) ${text}`,
    asked.values,
  );
  const params = paramsFrom(firstParam + compiled.values.length);
  const named = [
    `e.fingerprint = any(${params.add(met!.fingerprints)}::text[])`,
    `e.source_id = any(${params.add(met!.sources)}::uuid[])`,
    `e.status = any(${params.add(met!.statuses)}::text[])`,
    `e.settled = any(${params.add([...new Set(met!.statuses.flatMap((status) => SETTLED[status]))])}::smallint[])`,
  ];
  return {
    where: [...named, compiled.where].join(" and "),
    values: [...compiled.values, ...params.values],
  };
}
