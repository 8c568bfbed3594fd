import * as z from "zod/mini";
import { filterText, instant } from "@/lib/platform/api/instant.shapes";
import { type QueryOf, queryOf, type ValuesOf } from "@/lib/platform/api/query.shapes";
import { described, named } from "@/lib/platform/api/schemas.shapes";
import type { ProblemCode } from "@/lib/platform/plain/problem.pure";
import { DomainError, type FieldError } from "@/lib/platform/plain/problem.pure";
import { SUMMARY_BYTES_MAX } from "@/lib/platform/plain/storable.pure";
import {
  FILTER_STATUSES,
  foldTags,
  NOT_PREFIX,
  PROTOTYPE_NAME,
  readNames,
  TAG_PREFIX,
  tagOf,
  unknownName,
  VALUES_MAX,
} from "@/lib/selection/filter/filter-params.shapes";
import { wordsOf } from "@/lib/selection/filter/search-words.pure";
import { ADMISSION_MARKS } from "@/lib/states/admission-mark.pure";

export { resolveFailedWindow, resolveInstant, resolveWindow } from "@/lib/platform/instant.pure";
export { FILTER_STATUSES, type FilterStatus, toSearchParams } from "@/lib/selection/filter/filter-params.shapes";

/**
 * The one filter: the URL, the list, the count, the chart, the export and the bulk operation.
 *
 * All names must match; of the values of one name any may. `not.` before a name: the event has none of its values, so one without
 * any value matches. An absent name does not restrict. Nothing widens silently:
 * an unknown name, an empty value, an empty list or a search without a word is an error, since a filter also selects
 * what is redriven.
 */

/** Values of all names together: each is a condition that PostgreSQL must plan. */
const ALL_VALUES_MAX = 500;
/** An event has at most this many tags, so a filter by more of them matches nothing. */
const TAG_NAMES_MAX = 16;

/** A visible character. A search without one restricts nothing. */
const WORD_PATTERN = "[\\p{L}\\p{N}\\p{P}\\p{S}]";
const WORD = new RegExp(WORD_PATTERN, "u");
/** As long as the error that a list shows: it is copied whole. */
const words = filterText(SUMMARY_BYTES_MAX)
  .check(
    z.refine(
      (value) => WORD.test(wordsOf(value).join("")),
      "must contain a letter, digit or symbol; leave it out to list everything",
    ),
  )
  .register(z.globalRegistry, { pattern: WORD_PATTERN });

/** One value or several. */
function valuesOf<T extends z.core.$ZodType>(value: T) {
  return z.pipe(
    z.transform((input: unknown) => (Array.isArray(input) ? input : [input])),
    z
      .array(value)
      .check(
        z.minLength(1, "must not be empty: leave it out for no restriction"),
        z.maxLength(VALUES_MAX, `at most ${VALUES_MAX} values`),
      ),
  );
}

const values = valuesOf(filterText(512));

/** The names with values, each of which `not.` excludes. */
const lists = {
  source: z.optional(values),
  eventId: z.optional(values),
  aggregateId: z.optional(values),
  aggregateType: z.optional(values),
  eventType: z.optional(values),
  errorCode: z.optional(values),
  fingerprint: z.optional(values),
  status: z.optional(valuesOf(z.enum(FILTER_STATUSES, `must be one of ${FILTER_STATUSES.join(", ")}`))),
  traceId: z.optional(values),
  /** The mark that the event got when it arrived. */
  admission: z.optional(valuesOf(z.enum(ADMISSION_MARKS, `must be one of ${ADMISSION_MARKS.join(", ")}`))),
  tags: z.optional(
    z
      .record(filterText(128), values)
      .check(
        z.refine((tags) => Object.keys(tags).length > 0, "must name at least one tag"),
        z.refine((tags) => Object.keys(tags).length <= TAG_NAMES_MAX, `at most ${TAG_NAMES_MAX} tags`),
      )
      .register(z.globalRegistry, { minProperties: 1, maxProperties: TAG_NAMES_MAX }),
  ),
};
type Lists = typeof lists;

const excluded = Object.fromEntries(
  Object.entries(lists).map(([name, schema]) => [
    NOT_PREFIX + name,
    described(z.optional(schema as Lists["source"]), `Events with one of these as \`${name}\` are left out`),
  ]),
) as unknown as { [Name in keyof Lists as `not.${Name}`]: Lists[Name] };

const filterObject = z.strictObject({
  ...lists,
  ...excluded,
  from: described(
    z.optional(instant),
    "First parked at or after: ISO 8601, epoch seconds or milliseconds, or relative like -24h",
  ),
  to: described(z.optional(instant), "First parked before, in the same forms"),
  failedFrom: described(
    z.optional(instant),
    "Last failed at or after, as its source says, in the same forms: events that do not say when they failed are left out",
  ),
  failedTo: described(z.optional(instant), "Last failed before, in the same forms"),
  /** See `lib/selection/filter/event-filter.sql.ts` for what the words are looked up in. */
  q: described(z.optional(words), "Words of the error, with their quotes and signs; all must occur"),
});

const boundedFilter = filterObject.check(
  z.refine((filter) => valuesIn(filter) <= ALL_VALUES_MAX, `at most ${ALL_VALUES_MAX} values in all`),
);

/** The filter's names with the schemas of their values: the parameters of a query string, where a tag is its own one. */
export const FILTER_SHAPE = {
  ...filterObject.shape,
  tags: described(
    z.optional(z.record(z.string().check(z.regex(/^tag\..{1,128}$/)), filterText(512))),
    "Tags of the event, each a parameter of its own (tag.orderId=77), repeated for several values",
  ),
  "not.tags": described(
    z.optional(z.record(z.string().check(z.regex(/^not\.tag\..{1,128}$/)), filterText(512))),
    "Tags whose events are left out, each a parameter of its own (not.tag.orderId=77), repeated for several values",
  ),
};

function valuesIn({ tags, "not.tags": others, ...names }: z.infer<typeof filterObject>): number {
  const all = [...Object.values(names), ...Object.values(tags ?? {}), ...Object.values(others ?? {})];
  return all.reduce((sum, list) => sum + (Array.isArray(list) ? list.length : 1), 0);
}

/**
 * In JSON a tag may be written like in the URL, `"tag.orderId": "77"`, or within `tags`. The name `__proto__` is refused
 * here and not by the object's schema: zod skips it, and what was meant to restrict would select everything.
 */
export const eventFilterSchema = z.pipe(
  z.transform((input: unknown, context: z.core.ParsePayload) => {
    for (const path of misnamed(input)) {
      context.issues.push({ code: "custom", input, path, message: unknownName(path.at(-1)!) });
    }
    return foldTags(input);
  }),
  boundedFilter,
);
named("EventFilter", eventFilterSchema, { source: ["orders"], errorCode: ["TIMEOUT"], from: "-24h" });

/** Paths of own properties called `__proto__`, in the filter itself and in its tags, and of names that exclude and are none. */
function misnamed(input: unknown): string[][] {
  if (typeof input !== "object" || input === null) return [];
  const excludes = Object.keys(input).filter((name) => /^(not\.|[-!])/.test(name));
  const found = excludes.filter((name) => !(name in filterObject.shape) && tagOf(name) === null).map((name) => [name]);
  if (Object.hasOwn(input, PROTOTYPE_NAME)) found.push([PROTOTYPE_NAME]);
  for (const member of ["tags", "not.tags"]) {
    const tags = (input as Record<string, unknown>)[member];
    if (typeof tags === "object" && tags !== null && Object.hasOwn(tags, PROTOTYPE_NAME)) {
      found.push([member, PROTOTYPE_NAME]);
    }
  }
  return found;
}

export type EventFilter = z.infer<typeof eventFilterSchema>;

/**
 * Parses a query string. `also` names parameters that belong to the route (`limit`, `cursor`), which are skipped.
 * Throws DomainError `invalid-filter` with every field that is wrong.
 */
export function fromSearchParams(params: URLSearchParams, also: readonly string[] = []): EventFilter {
  const { raw, faults } = readNames(params, also);
  const parsed = eventFilterSchema.safeParse(raw);
  if (!parsed.success) faults.push(...parsed.error.issues.map(toFieldError));
  if (faults.length > 0 || !parsed.success) {
    throw new DomainError("invalid-filter", `The filter is not valid: ${faults.map(sayFault).join("; ")}`, {
      fields: faults,
    });
  }
  return parsed.data;
}

function sayFault(fault: FieldError): string {
  return `${fault.field}: ${fault.detail}`;
}

function toFieldError(issue: z.core.$ZodIssue): FieldError {
  const [name, ...rest] = issue.path.map(String);
  const prefix = name === "tags" ? TAG_PREFIX : name === "not.tags" ? NOT_PREFIX + TAG_PREFIX : null;
  const field = prefix !== null && rest[0] !== undefined ? `${prefix}${rest[0]}` : (name ?? "filter");
  return { field, detail: issue.message };
}

/** The event filter, and beside it the parameters of `shape`, as in `queryOf`. */
export function filterQuery<Shape extends z.core.$ZodLooseShape>(
  shape: Shape,
  codes: Partial<Record<keyof Shape, ProblemCode>> = {},
): QueryOf<{ filter: EventFilter } & ValuesOf<Shape>> {
  const own = queryOf(shape, codes);
  const names = Object.keys(shape);
  return {
    parameters: { ...FILTER_SHAPE, ...shape },
    problems: ["invalid-filter", "invalid-window", ...own.problems],
    read: (params, nowMs) => {
      const filter = fromSearchParams(params, names);
      const rest = new URLSearchParams([...params].filter(([name]) => names.includes(name)));
      return { filter, ...own.read(rest, nowMs) };
    },
  };
}
