import { nearName } from "@/lib/platform/plain/near-name.pure";
import type { FieldError } from "@/lib/platform/plain/problem.pure";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { EVENT_STATUSES } from "@/lib/states/event-state.pure";

/**
 * The query string of the filter: its names, and the way to it and back. Free of zod, which would be a tenth of all the
 * JavaScript of the list page. What the values may be says the schema in `event-filter.shapes.ts`, on the server.
 */

/** Stored statuses, and refinements that the surface shows as states of their own. */
export const FILTER_STATUSES = [...EVENT_STATUSES, "BOUNCED", "HELD", "CONFIRMED", "COOLING", "BLACKLISTED"] as const;
export type FilterStatus = (typeof FILTER_STATUSES)[number];

/** Names whose values are ids: what a person pastes into the search. In the order in which they are meant. */
export const ID_NAMES = ["eventId", "aggregateId", "traceId"] as const;
export type IdName = (typeof ID_NAMES)[number];

export const TAG_PREFIX = "tag.";
const LIST_NAMES = [
  "source",
  "eventId",
  "aggregateId",
  "aggregateType",
  "eventType",
  "errorCode",
  "fingerprint",
  "status",
  "traceId",
  "admission",
] as const;
const SINGLE_NAMES = ["from", "to", "failedFrom", "failedTo", "q"] as const;
type SingleName = (typeof SINGLE_NAMES)[number];

/** Values one name may have; more is a sign that ids should be selected instead. */
export const VALUES_MAX = 100;

/** Before a name with values: the event has none of them. */
export const NOT_PREFIX = "not.";
export type NotName = `${typeof NOT_PREFIX}${(typeof LIST_NAMES)[number]}`;
export const NOT_NAMES = LIST_NAMES.map((name): NotName => `${NOT_PREFIX}${name}`);

/** The filter has one value of this name, and no list. */
export function isSingleName(name: string): name is SingleName {
  return (SINGLE_NAMES as readonly string[]).includes(name);
}

/** Every name of the query string except `tag.<key>` and the excluding names. */
export const FILTER_NAMES: readonly string[] = [...LIST_NAMES, ...SINGLE_NAMES];

/** Objects treat this name as their prototype: a condition under it vanishes. No tag and no field may be called so. */
export const PROTOTYPE_NAME = "__proto__";

/** Members of a filter that hold tags, with the prefix of a single tag. */
const TAG_MEMBERS = [
  ["tags", TAG_PREFIX],
  ["not.tags", `${NOT_PREFIX}${TAG_PREFIX}`],
] as const;

/** The member that holds the tag of this name, and the tag's key; null = the name is no tag. */
export function tagOf(name: string): { member: "tags" | "not.tags"; key: string } | null {
  for (const [member, prefix] of TAG_MEMBERS) {
    const key = name.slice(prefix.length);
    if (name.startsWith(prefix) && key !== PROTOTYPE_NAME) return { member, key };
  }
  return null;
}

/**
 * In JSON and in the URL a tag may be written `"tag.orderId"`; inside it lies within `tags`. What cannot be folded
 * (`tags` that is no object, a tag given in both ways) stays where it is, and the schema refuses it. Own properties are
 * copied as such: an assignment to `__proto__` would change the prototype and lose the condition.
 */
export function foldTags(input: unknown): unknown {
  if (!isPlainObject(input)) return input;
  const kept: [string, unknown][] = [];
  const tags: Record<"tags" | "not.tags", [string, unknown][]> = { tags: [], "not.tags": [] };
  for (const [name, value] of Object.entries(input)) {
    const tag = tagOf(name);
    const given = tag && Object.hasOwn(input, tag.member) ? input[tag.member] : {};
    if (tag && isPlainObject(given) && !Object.hasOwn(given, tag.key)) tags[tag.member].push([tag.key, value]);
    else kept.push([name, value]);
  }
  const folded: Record<string, unknown> = Object.fromEntries(kept);
  for (const [member] of TAG_MEMBERS) {
    if (tags[member].length === 0) continue;
    folded[member] = { ...(folded[member] as object | undefined), ...Object.fromEntries(tags[member]) };
  }
  return folded;
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * The structure of a query string: which names it has, with their values in a list unless they may be given once only.
 * `also` names parameters that belong to the route (`limit`, `cursor`), which are skipped. Any other name is a fault.
 */
export function readNames(
  params: URLSearchParams,
  also: readonly string[] = [],
): { raw: Record<string, unknown>; faults: FieldError[] } {
  const raw: Record<string, unknown> = {};
  const faults: FieldError[] = [];
  for (const name of new Set(params.keys())) {
    const all = params.getAll(name);
    const single = isSingleName(name);
    if (all.length > 1 && (single || also.includes(name))) faults.push({ field: name, detail: "must be given once" });
    if (also.includes(name)) continue;
    if (single) {
      raw[name] = all[0];
    } else if ([...LIST_NAMES, ...NOT_NAMES].includes(name as NotName) || tagOf(name)) {
      raw[name] = all;
    } else {
      faults.push({ field: name, detail: unknownName(name) });
    }
  }
  return { raw, faults };
}

/** Why a filter has no condition of this name, and which name to use. */
export function unknownName(name: string): string {
  const excluded = /^(?:not\.|[-!])(.*)$/.exec(name)?.[1];
  if (excluded === undefined) {
    return `unknown${didYouMean(nearName(name, FILTER_NAMES))}: use ${FILTER_NAMES.join(", ")} or tag.<key>, or ${NOT_PREFIX}<name> to exclude values`;
  }
  if (NOT_NAMES.includes(`${NOT_PREFIX}${excluded}` as NotName) || tagOf(excluded)) {
    return `unknown: use ${NOT_PREFIX}${excluded} to exclude values`;
  }
  const fix = `use ${NOT_PREFIX} before one of ${LIST_NAMES.join(", ")} or tag.<key>`;
  if (isSingleName(excluded)) return `${excluded} cannot be excluded: ${fix}`;
  const near = nearName(excluded, LIST_NAMES);
  return `unknown${didYouMean(near && NOT_PREFIX + near)}: ${fix}`;
}

/** ` (did you mean errorCode?)`, or nothing. */
export const didYouMean = (near: string | undefined) => (near === undefined ? "" : ` (did you mean ${near}?)`);

/** The query string of a filter, names in one fixed order: equal filters have equal strings. */
export function toSearchParams(filter: EventFilter): URLSearchParams {
  const params = new URLSearchParams();
  for (const name of [...LIST_NAMES, ...NOT_NAMES]) for (const value of filter[name] ?? []) params.append(name, value);
  for (const [member, prefix] of TAG_MEMBERS) {
    for (const [key, list] of Object.entries(filter[member] ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))) {
      for (const value of list) params.append(prefix + key, value);
    }
  }
  for (const name of SINGLE_NAMES) if (filter[name] !== undefined) params.append(name, filter[name]);
  return params;
}
