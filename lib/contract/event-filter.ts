import * as z from "zod/mini";
import { EVENT_STATUSES } from "@/lib/core/event-state";
import { DomainError, type FieldError } from "@/lib/core/problem";

/**
 * The one filter: the URL, the list, the count, the chart, the export and the bulk operation. `zod/mini` because the
 * browser loads it with the list.
 *
 * All names must match; of the values of one name any may. An absent name does not restrict. Nothing widens silently:
 * an unknown name, an empty value or an empty list is an error, since a filter also selects what is redriven.
 */

/** Stored statuses, and refinements that the surface shows as states of their own. */
export const FILTER_STATUSES = [...EVENT_STATUSES, "BOUNCED", "CONFIRMED", "COOLING"] as const;
export type FilterStatus = (typeof FILTER_STATUSES)[number];

/** Values one name may have; more is a sign that ids should be selected instead. */
const VALUES_MAX = 100;

const text = (lengthMax: number) =>
  z.string("must be text").check(
    z.minLength(1, "must not be empty: leave the name out to not restrict it"),
    z.maxLength(lengthMax, `at most ${lengthMax} characters`),
    z.refine((value) => !value.includes("\0"), "must not hold a NUL character"),
  );

/** One value or several. */
function valuesOf<T extends z.core.$ZodType>(value: T) {
  return z.pipe(
    z.transform((input: unknown) => (Array.isArray(input) ? input : [input])),
    z
      .array(value)
      .check(
        z.minLength(1, "must not be empty: leave the name out to not restrict it"),
        z.maxLength(VALUES_MAX, `at most ${VALUES_MAX} values`),
      ),
  );
}

const values = valuesOf(text(512));

const instant = z
  .string("must be text")
  .check(z.refine((value) => resolveInstant(value, 0) !== null, "must be ISO 8601, epoch milliseconds, or like -24h"));

const filterObject = z.strictObject({
  source: z.optional(values),
  eventId: z.optional(values),
  aggregateId: z.optional(values),
  eventType: z.optional(values),
  errorCode: z.optional(values),
  fingerprint: z.optional(values),
  status: z.optional(valuesOf(z.enum(FILTER_STATUSES, `must be one of ${FILTER_STATUSES.join(", ")}`))),
  /** First parked at or after; see `resolveInstant` for the forms. */
  from: z.optional(instant),
  /** First parked before. */
  to: z.optional(instant),
  traceId: z.optional(values),
  /** Words of the error; all must occur. See `lib/store/read/event-filter-sql.ts` for what they are looked up in. */
  q: z.optional(text(512)),
  tags: z.optional(
    z.record(text(128), values).check(z.refine((tags) => Object.keys(tags).length > 0, "must name at least one tag")),
  ),
});

/** In JSON a tag may be written like in the URL, `"tag.orderId": "77"`, or within `tags`. */
export const eventFilterSchema = z.pipe(z.transform(foldTags), filterObject);

export type EventFilter = z.infer<typeof eventFilterSchema>;

const TAG_PREFIX = "tag.";
const LIST_NAMES = [
  "source",
  "eventId",
  "aggregateId",
  "eventType",
  "errorCode",
  "fingerprint",
  "status",
  "traceId",
] as const;
const SINGLE_NAMES = ["from", "to", "q"] as const;

/** Every name of the query string except `tag.<key>`. */
export const FILTER_NAMES: readonly string[] = [...LIST_NAMES, ...SINGLE_NAMES];

function foldTags(input: unknown): unknown {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return input;
  const folded: Record<string, unknown> = {};
  let tags: Record<string, unknown> | undefined;
  for (const [name, value] of Object.entries(input)) {
    if (!isTagName(name)) folded[name] = value;
    else tags = { ...tags, [name.slice(TAG_PREFIX.length)]: value };
  }
  if (!tags) return folded;
  const given = typeof folded.tags === "object" && folded.tags !== null ? folded.tags : {};
  return { ...folded, tags: { ...given, ...tags } };
}

/**
 * Parses a query string. `also` names parameters that belong to the route (`limit`, `cursor`), which are skipped.
 * Throws DomainError `invalid-filter` with every field that is wrong.
 */
export function fromSearchParams(params: URLSearchParams, also: readonly string[] = []): EventFilter {
  const raw: Record<string, unknown> = {};
  const faults: FieldError[] = [];
  for (const name of new Set(params.keys())) {
    if (also.includes(name)) continue;
    const all = params.getAll(name);
    if ((SINGLE_NAMES as readonly string[]).includes(name)) {
      if (all.length > 1) faults.push({ field: name, detail: "must be given once" });
      raw[name] = all[0];
    } else if ((LIST_NAMES as readonly string[]).includes(name) || isTagName(name)) {
      raw[name] = all;
    } else {
      faults.push({ field: name, detail: `unknown: use ${FILTER_NAMES.join(", ")} or tag.<key>` });
    }
  }
  const parsed = eventFilterSchema.safeParse(raw);
  if (!parsed.success) faults.push(...parsed.error.issues.map(toFieldError));
  if (faults.length > 0 || !parsed.success) {
    throw new DomainError("invalid-filter", `The filter is not valid: ${faults.map(sayFault).join("; ")}`, {
      fields: faults,
    });
  }
  return parsed.data;
}

/** Object machinery skips `__proto__`, so a filter by it would select everything. */
function isTagName(name: string): boolean {
  return name.startsWith(TAG_PREFIX) && name !== `${TAG_PREFIX}__proto__`;
}

function sayFault(fault: FieldError): string {
  return `${fault.field}: ${fault.detail}`;
}

function toFieldError(issue: z.core.$ZodIssue): FieldError {
  const [name, ...rest] = issue.path.map(String);
  const field = name === "tags" && rest[0] !== undefined ? `${TAG_PREFIX}${rest[0]}` : (name ?? "filter");
  return { field, detail: issue.message };
}

/** The query string of a filter, names in one fixed order: equal filters have equal strings. */
export function toSearchParams(filter: EventFilter): URLSearchParams {
  const params = new URLSearchParams();
  for (const name of LIST_NAMES) for (const value of filter[name] ?? []) params.append(name, value);
  for (const [key, list] of Object.entries(filter.tags ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))) {
    for (const value of list) params.append(TAG_PREFIX + key, value);
  }
  for (const name of SINGLE_NAMES) if (filter[name] !== undefined) params.append(name, filter[name]);
  return params;
}

const UNIT_MS: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };
/** The largest instant a Date, and thus ISO 8601 on the wire, can name. */
const INSTANT_MS_MAX = 8.64e15;

/**
 * Epoch milliseconds of an instant as people write it, or null when it is none:
 * ISO 8601 date (`2026-11-20`, midnight UTC) or date-time (UTC unless it has an offset), epoch milliseconds (12 to 14
 * digits), `now`, or relative to now: `-24h`, `24h` and `now-24h` are the same; units s, m, h, d, w.
 */
export function resolveInstant(value: string, nowMs: number): number | null {
  if (value === "now") return nowMs;
  const relative = /^(?:now)?([+-]?)(\d{1,9})([smhdw])$/.exec(value);
  if (relative) {
    const distance = Number(relative[2]) * UNIT_MS[relative[3]!]!;
    return relative[1] === "+" ? nowMs + distance : nowMs - distance;
  }
  if (/^\d{12,14}$/.test(value)) return Number(value);
  const iso = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?$/i.exec(value);
  if (!iso) return null;
  const ms = Date.parse(iso[1] !== undefined && iso[4] === undefined ? `${value}Z` : value);
  return Number.isNaN(ms) || Math.abs(ms) > INSTANT_MS_MAX ? null : ms;
}

/** The window of a filter: [fromMs, toMs), null = open. Throws DomainError `invalid-filter` when it is reversed. */
export function resolveWindow(
  filter: Pick<EventFilter, "from" | "to">,
  nowMs: number,
): { fromMs: number | null; toMs: number | null } {
  const fromMs = filter.from === undefined ? null : resolveInstant(filter.from, nowMs);
  const toMs = filter.to === undefined ? null : resolveInstant(filter.to, nowMs);
  if (fromMs !== null && toMs !== null && fromMs > toMs) {
    throw new DomainError("invalid-filter", "The window is reversed: from is after to, swap them", {
      fields: [{ field: "from", detail: "is after to" }],
    });
  }
  return { fromMs, toMs };
}
