import { BLACKLISTED_BY_PARKADE } from "@/lib/order/controls/control.sql";
import { isHeld } from "@/lib/order/tails/held.sql";
import { type Params, paramsFrom } from "@/lib/platform/database/params.sql";
import { uuidv7LowerBound } from "@/lib/platform/ids";
import { groupsMeant } from "@/lib/selection/aliases.sql";
import {
  type EventFilter,
  type FilterStatus,
  resolveFailedWindow,
  resolveWindow,
} from "@/lib/selection/filter/event-filter.shapes";
import { NOT_PREFIX } from "@/lib/selection/filter/filter-params.shapes";
import { likePattern, wordsOf } from "@/lib/selection/filter/search-words.pure";
import type { ScopedFilter } from "@/lib/selection/scope.shapes";
import { EVENT_STATUSES, type EventStatus } from "@/lib/states/event-state.pure";
import { EVENT } from "@/lib/states/state.sql";

/**
 * The only compiler from the filter to SQL, over the alias `e` of dlq_event_rows. List, count, export and bulk
 * operations use exactly these conditions; a read may add a condition that finds the rows faster, never one that
 * changes the result.
 *
 * `q`: every word must occur, case-insensitively, in the event's last error or in its group (error code, exception type,
 * message pattern, first stack frame of the application). Groups are few; a word that none of them holds is looked for in
 * every last error of the window, see `lib/selection/event-search.read.ts`.
 */

export type FilterField = keyof EventFilter | "window";
type Condition = { field: FilterField; sql: string };

export type CompiledFilter = {
  /** A boolean expression, `true` when nothing restricts. Parameters `$first` and up. */
  where: string;
  values: unknown[];
  /** The same conditions, one by one. */
  conditions: Condition[];
  /** First seen in [fromMs, toMs), null = open. Part of `where` as a range over the id. */
  fromMs: number | null;
  toMs: number | null;
};

export type CompileOptions = {
  /** Number of the first `$n`; default 1. */
  firstParam?: number;
  /** In place of the filter's own window, [fromMs, toMs), null = open. */
  window?: { fromMs: number | null; toMs: number | null };
};

/**
 * Compiles for this moment: relative times, HELD, COOLING and BLACKLISTED are resolved against `nowMs` (epoch milliseconds).
 * Throws DomainError `invalid-filter` for a reversed window.
 */
export function compileFilter(filter: ScopedFilter, nowMs: number, options: CompileOptions = {}): CompiledFilter {
  const params = paramsFrom(options.firstParam);
  const { fromMs, toMs } = options.window ?? resolveWindow(filter, nowMs);
  const conditions = [
    ...windowConditions(fromMs, toMs, params),
    ...failedConditions(filter, nowMs, params),
    ...valueConditions(filter, params),
    ...statusConditions(filter.status, nowMs, params),
    ...tagConditions(filter.tags, params),
    ...notConditions(filter, nowMs, params),
    ...wordConditions(filter.q, params),
  ];
  const where = conditions.length === 0 ? "true" : conditions.map((condition) => condition.sql).join(" and ");
  return { where, values: params.values, conditions, fromMs, toMs };
}

/** An id holds the millisecond it was parked in: a window is a range over the primary key. */
function windowConditions(fromMs: number | null, toMs: number | null, params: Params): Condition[] {
  const conditions: Condition[] = [];
  const bound = (ms: number) => `${params.add(uuidv7LowerBound(Math.ceil(ms)))}::uuid`;
  if (fromMs !== null) conditions.push({ field: "window", sql: `e.id >= ${bound(fromMs)}` });
  if (toMs !== null) conditions.push({ field: "window", sql: `e.id < ${bound(toMs)}` });
  return conditions;
}

function failedConditions(filter: EventFilter, nowMs: number, params: Params): Condition[] {
  const { fromMs, toMs } = resolveFailedWindow(filter, nowMs);
  const conditions: Condition[] = [];
  if (fromMs !== null) conditions.push({ field: "failedFrom", sql: `e.failed_at >= ${instant(fromMs, params)}` });
  if (toMs !== null) conditions.push({ field: "failedTo", sql: `e.failed_at < ${instant(toMs, params)}` });
  return conditions;
}

const COLUMNS = {
  aggregateId: "e.found_aggregate_id",
  aggregateType: "e.aggregate_type",
  eventType: "e.event_type",
  errorCode: "e.error_code",
  traceId: "e.trace_id",
} as const;

function valueConditions(filter: EventFilter, params: Params): Condition[] {
  const conditions: Condition[] = [];
  if (filter.eventId) {
    const ids = `select k.id from event_keys k where k.event_id = any(${params.add(filter.eventId)}::text[])`;
    conditions.push({ field: "eventId", sql: `e.id = any(array(${ids}))` });
  }
  if (filter.source) {
    const ids = `select s.id from sources s where s.name = any(${params.add(filter.source)}::text[])`;
    conditions.push({ field: "source", sql: `e.source_id = any(array(${ids}))` });
  }
  for (const field of Object.keys(COLUMNS) as (keyof typeof COLUMNS)[]) {
    const list = filter[field];
    if (list) conditions.push({ field, sql: `${COLUMNS[field]} = any(${params.add(list)}::text[])` });
  }
  if (filter.fingerprint) {
    const meant = groupsMeant(`${params.add(filter.fingerprint)}::text[]`, { unmoved: true });
    conditions.push({ field: "fingerprint", sql: `e.fingerprint = any(${meant})` });
  }
  if (filter.admission) {
    // Without the first part the planner cannot know that the index of the marked events holds them all.
    const sql = `e.admission is not null and e.admission = any(${params.add(filter.admission)}::text[])`;
    conditions.push({ field: "admission", sql });
  }
  return conditions;
}

/**
 * The requested stored statuses, the refinements that no requested status already covers, and the statuses that they
 * refine.
 */
export function splitStatuses(statuses: readonly FilterStatus[]): {
  stored: EventStatus[];
  refined: Exclude<FilterStatus, EventStatus>[];
  parents: EventStatus[];
} {
  const stored = EVENT_STATUSES.filter((status) => statuses.includes(status));
  const refined = (["BOUNCED", "HELD", "CONFIRMED", "COOLING", "BLACKLISTED"] as const).filter(
    (status) => statuses.includes(status) && !stored.includes(PARENT[status]),
  );
  return { stored, refined, parents: refined.map((status) => PARENT[status]) };
}

/** The stored statuses that a matching event can have; null = any. */
export function statusesOf(filter: EventFilter): EventStatus[] | null {
  const { status, "not.status": excluded = [] } = filter;
  if (status === undefined && excluded.length === 0) return null;
  const { stored, parents } = splitStatuses(status ?? EVENT_STATUSES);
  const none = splitStatuses(excluded).stored;
  return [...new Set([...stored, ...parents])].filter((one) => !none.includes(one));
}

/** Whether a refinement of a status decides about an event, and not the stored status alone. */
export function asksRefinement({ status = [], "not.status": excluded = [] }: EventFilter): boolean {
  return [status, excluded].some((statuses) => splitStatuses(statuses).refined.length > 0);
}

/** Whether each event must be looked up in its line. */
export function isHeldAsked({ status = [], "not.status": excluded = [] }: EventFilter): boolean {
  return [status, excluded].some((statuses) => splitStatuses(statuses).refined.includes("HELD"));
}

/** Whether all matching events are held ones. */
export function isHeldOnly({ status = [] }: EventFilter): boolean {
  return status.length > 0 && status.every((one) => one === "HELD");
}

/** The stored status that a refinement is a part of. */
const PARENT = {
  BOUNCED: "PENDING",
  HELD: "PENDING",
  COOLING: "PENDING",
  BLACKLISTED: "PENDING",
  CONFIRMED: "REDRIVEN",
} as const;

function statusConditions(statuses: readonly FilterStatus[] | undefined, nowMs: number, params: Params): Condition[] {
  if (!statuses) return [];
  const { stored, refined } = splitStatuses(statuses);
  const any: string[] = [];
  if (stored.length > 0) any.push(`e.status = any(${params.add(stored)}::text[])`);
  for (const status of refined) any.push(refinement(status, nowMs, params));
  return [{ field: "status", sql: any.length === 1 ? any[0]! : `(${any.join(" or ")})` }];
}

/**
 * SQL: the event was confirmed, in the words of the indexes of confirmed events: without them the planner would take these for one of
 * aggregates. Bounces are never negative.
 */
export function wasConfirmed(event: string): string {
  return `${event}.confirmed_at is not null and ${event}.bounces >= 0`;
}

function refinement(status: Exclude<FilterStatus, EventStatus>, nowMs: number, params: Params): string {
  switch (status) {
    case "BOUNCED":
      return `(e.status = ${EVENT.PENDING} and e.bounces > 0)`;
    case "CONFIRMED":
      return `(e.status = ${EVENT.REDRIVEN} and ${wasConfirmed("e")})`;
    case "HELD": {
      const now = instant(nowMs, params);
      return `(e.status = ${EVENT.PENDING} and ${isHeld("e", now)} and not ${blacklisted(now)} and (${cooling(now)}) is not true)`;
    }
    case "COOLING": {
      const now = instant(nowMs, params);
      return `(e.status = ${EVENT.PENDING} and ${cooling(now)} and not ${blacklisted(now)})`;
    }
    case "BLACKLISTED":
      return `(e.status = ${EVENT.PENDING} and ${blacklisted(instant(nowMs, params))})`;
  }
}

function instant(nowMs: number, params: Params): string {
  return `to_timestamp(${params.add(nowMs)}::float8 / 1000)`;
}

const SOURCE_NAME = "(select s.name from sources s where s.id = e.source_id)";

/**
 * SQL: whether a person's control of this kind is in force for `e`. The same rule as `applyingControls` in
 * `order/controls/control.pure.ts`. The statement reads the values of all such controls once: they are few.
 */
function underControl(kind: "blacklist" | "cooldown" | "whitelist", now: string): string {
  const inForce = (scope: string) =>
    `c.kind = '${kind}' and c.scope = '${scope}' and c.lifted_at is null and (c.expires_at is null or c.expires_at > ${now}) and c.origin = 'person'`;
  const named = (scope: string, column: string) => `(${column} = any(array(
      select c.value from controls c where ${inForce(scope)})) and exists (
      select 1 from controls c where ${inForce(scope)} and c.value = ${column}
         and (c.source is null or c.source = ${SOURCE_NAME})
         and (c.aggregate_type is null or c.aggregate_type = e.aggregate_type)))`;
  return `(${named("errorCode", "e.error_code")} or ${named("aggregateId", "e.aggregate_id")}
    or e.source_id = any(array(select s.id from controls c join sources s on s.name = c.value where ${inForce("source")}))
    or e.id = any(array(select k.id from controls c join event_keys k on k.event_id = c.value
         where ${inForce("eventId")} and (c.source is null or c.source = (select s.name from sources s where s.id = k.source_id)))))`;
}

function cooling(now: string): string {
  return `(e.cooldown_until > ${now} or ${underControl("cooldown", now)}) and not ${underControl("whitelist", now)}`;
}

/** Decides like `ruleControls`: a person's blacklist always applies, Parkade's own unless a whitelist is in force. */
function blacklisted(now: string): string {
  return `(${underControl("blacklist", now)} or (${BLACKLISTED_BY_PARKADE} and not ${underControl("whitelist", now)}))`;
}

function tagConditions(tags: EventFilter["tags"], params: Params): Condition[] {
  return Object.entries(tags ?? {}).map(([key, list]) => {
    const any = list.map((value) => `e.tags @> ${params.add(JSON.stringify({ [key]: value }))}::jsonb`);
    return { field: "tags", sql: any.length === 1 ? any[0]! : `(${any.join(" or ")})` };
  });
}

/** An event matches unless the condition without `not.` is true: one without a value has none of the excluded ones. */
function notConditions(filter: EventFilter, nowMs: number, params: Params): Condition[] {
  const entries = Object.entries(filter).filter(([name]) => name.startsWith(NOT_PREFIX));
  const excluded: EventFilter = Object.fromEntries(
    entries.map(([name, list]) => [name.slice(NOT_PREFIX.length), list]),
  );
  const conditions = [
    ...valueConditions(excluded, params),
    ...statusConditions(excluded.status, nowMs, params),
    ...tagConditions(excluded.tags, params),
  ];
  return conditions.map(({ field, sql }) => ({
    field: `${NOT_PREFIX}${field}` as FilterField,
    sql: `(${sql}) is not true`,
  }));
}

/** SQL: the text of the group `g`. */
export const GROUP_TEXT = "concat_ws(' ', g.error_code, g.exception_type, g.message_pattern, g.first_frame)";

/** SQL: a text array of words as patterns of LIKE, in lower case by the rules of the database. `words` is the `$n`. */
export function wordPatterns(words: string): string {
  return `array(select lower(word) from unnest(${words}::text[]) word)`;
}

export function groupsHolding(words: string): string {
  return `select g.fingerprint from dlq_groups g where lower(${GROUP_TEXT}) like all (${wordPatterns(words)})`;
}

/** An event whose group does not hold all words has one of them in its last error, which is cheap to ask. */
function wordConditions(q: string | undefined, params: Params): Condition[] {
  if (q === undefined) return [];
  const words = params.add(wordsOf(q).map(likePattern));
  const patterns = wordPatterns(words);
  const whole = `concat_ws(' ', (select ${GROUP_TEXT} from dlq_groups g where g.fingerprint = e.fingerprint), e.last_error)`;
  const inEvent = `lower(e.last_error) like any (${patterns}) and lower(${whole}) like all (${patterns})`;
  return [{ field: "q", sql: `(e.fingerprint = any(array(${groupsHolding(words)})) or (${inEvent}))` }];
}
