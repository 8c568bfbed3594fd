import * as z from "zod/mini";
import {
  FILTER_STATUSES,
  foldTags,
  NOT_PREFIX,
  PROTOTYPE_NAME,
  readNames,
  resolveInstant,
  TAG_PREFIX,
  tagOf,
  unknownName,
  VALUES_MAX,
} from "@/lib/events/filter/filter-params.shapes";
import { wordsOf } from "@/lib/events/filter/search-words.pure";
import { ADMISSION_MARKS } from "@/lib/intake/admission/admission.pure";
import { described, named } from "@/lib/platform/api/schemas.shapes";
import { DomainError, type FieldError } from "@/lib/platform/plain/problem.pure";
import { SUMMARY_BYTES_MAX } from "@/lib/platform/plain/storable.pure";

export {
  FILTER_STATUSES,
  type FilterStatus,
  resolveFailedWindow,
  resolveInstant,
  resolveWindow,
  toSearchParams,
} from "@/lib/events/filter/filter-params.shapes";

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

export const filterText = (lengthMax: number) =>
  z.string("must be text").check(
    z.minLength(1, "must not be empty: leave the name out to not restrict it"),
    z.maxLength(lengthMax, `at most ${lengthMax} characters`),
    z.refine((value) => !value.includes("\0"), "must not hold a NUL character"),
    z.refine((value) => value.isWellFormed(), "must not hold half a surrogate pair"),
  );

/** A visible character. A search without one restricts nothing. */
const WORD_PATTERN = "[\\p{L}\\p{N}\\p{P}\\p{S}]";
const WORD = new RegExp(WORD_PATTERN, "u");
/** As long as the error that a list shows: it is copied whole. */
const words = filterText(SUMMARY_BYTES_MAX)
  .check(
    z.refine(
      (value) => WORD.test(wordsOf(value).join("")),
      "must contain a letter, digit or symbol; leave it out to list without a search",
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
        z.minLength(1, "must not be empty: leave the name out to not restrict it"),
        z.maxLength(VALUES_MAX, `at most ${VALUES_MAX} values`),
      ),
  );
}

const values = valuesOf(filterText(512));

const DAY =
  "(000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})-?((0[1-9]|1[0-2])-?(0[1-9]|1[0-9]|2[0-8])|(0[13-9]|1[0-2])-?(29|30)|(0[13578]|1[02])-?31)";
const TIME =
  "[T ]([01][0-9]|2[0-3]):?[0-5][0-9](:?[0-5][0-9]([.,][0-9]{1,9})?)?( ?(Z|[+-](0[0-9]|1[0-4])(:?[0-5][0-9])?))?";
/** What `resolveInstant` reads, for clients; it also takes 29 February and 24:00. */
const INSTANT_PATTERN = `^(now|(now)?[+-]?([0-9]{1,9}[sm]|[0-9]{1,7}h|[0-9]{1,5}[dw])|[1-9][0-9]{8,18}([.,][0-9]{1,9})?|${DAY}(${TIME})?)$`;

export const instant = z
  .string("must be text")
  .check(
    z.refine(
      (value) => resolveInstant(value, 0) !== null,
      "must be ISO 8601, epoch seconds or milliseconds, or like -24h",
    ),
  )
  .register(z.globalRegistry, { pattern: INSTANT_PATTERN });

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
    "Failed last at or after, as its source says, in the same forms: events that do not say when they failed are left out",
  ),
  failedTo: described(z.optional(instant), "Failed last before, in the same forms"),
  /** See `lib/events/filter/event-filter.sql.ts` for what the words are looked up in. */
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
