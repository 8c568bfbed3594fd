import * as z from "zod/mini";
import { FILTER_STATUSES, foldTags, readNames, resolveInstant, TAG_PREFIX } from "@/lib/contract/filter-params";
import { DomainError, type FieldError } from "@/lib/core/problem";

export {
  FILTER_NAMES,
  FILTER_STATUSES,
  type FilterStatus,
  resolveInstant,
  resolveWindow,
  toSearchParams,
} from "@/lib/contract/filter-params";

/**
 * The one filter: the URL, the list, the count, the chart, the export and the bulk operation.
 *
 * All names must match; of the values of one name any may. An absent name does not restrict. Nothing widens silently:
 * an unknown name, an empty value or an empty list is an error, since a filter also selects what is redriven.
 */

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
  const field = name === "tags" && rest[0] !== undefined ? `${TAG_PREFIX}${rest[0]}` : (name ?? "filter");
  return { field, detail: issue.message };
}
