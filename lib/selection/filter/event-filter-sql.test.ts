import fc from "fast-check";
import { expect, test } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { type EventFilter, eventFilterSchema, FILTER_STATUSES } from "@/lib/selection/filter/event-filter.shapes";
import { compileFilter } from "@/lib/selection/filter/event-filter.sql";
import { scopeFilter } from "@/lib/selection/scope.shapes";
import { ADMISSION_MARKS } from "@/lib/states/admission-mark.pure";

const NOW = Date.parse("2026-11-20T12:00:00Z");

const values = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 20 }), { minLength: 1, maxLength: 3 });
const filters = fc.record(
  {
    source: values,
    "not.source": values,
    "not.eventId": values,
    "not.aggregateId": values,
    "not.aggregateType": values,
    "not.eventType": values,
    "not.errorCode": values,
    "not.fingerprint": values,
    "not.traceId": values,
    "not.admission": fc.uniqueArray(fc.constantFrom(...ADMISSION_MARKS), { minLength: 1 }),
    "not.status": fc.uniqueArray(fc.constantFrom(...FILTER_STATUSES), { minLength: 1 }),
    "not.tags": fc.dictionary(fc.string({ minLength: 1, maxLength: 8 }), values, { minKeys: 1, maxKeys: 3 }),
    eventId: values,
    aggregateId: values,
    eventType: values,
    errorCode: values,
    fingerprint: values,
    traceId: values,
    admission: fc.uniqueArray(fc.constantFrom(...ADMISSION_MARKS), { minLength: 1 }),
    status: fc.uniqueArray(fc.constantFrom(...FILTER_STATUSES), { minLength: 1 }),
    from: fc.constantFrom("-1h", "2026-11-20", "1900-01-01", "now"),
    to: fc.constantFrom("now", "+1h", "2100-01-01"),
    failedFrom: fc.constantFrom("-1h", "1795167660"),
    failedTo: fc.constantFrom("now", "2100-01-01"),
    q: fc.string({ unit: "binary", maxLength: 20 }),
    tags: fc.dictionary(fc.string({ minLength: 1, maxLength: 8 }), values, { minKeys: 1, maxKeys: 3 }),
  },
  { requiredKeys: [] },
);

test("each name of an accepted filter is a condition of the statement", () => {
  fc.assert(
    fc.property(filters, (input) => {
      const parsed = eventFilterSchema.safeParse(JSON.parse(JSON.stringify(input)));
      if (!parsed.success) return;
      const { conditions, where } = compileFilter(scopeFilter(localViewer(), parsed.data), NOW);
      const fields = conditions.map(({ field }) => field);
      for (const name of Object.keys(parsed.data) as (keyof EventFilter)[]) {
        expect(fields).toContain(name === "from" || name === "to" ? "window" : name);
      }
      for (const name of ["tags", "not.tags"] as const) {
        const tags = fields.filter((field) => field === name);
        expect(tags).toHaveLength(Object.keys(parsed.data[name] ?? {}).length);
      }
      if (Object.keys(parsed.data).length > 0) expect(where).not.toBe("true");
    }),
    { numRuns: 200 },
  );
});
