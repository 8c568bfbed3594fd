import * as z from "zod/mini";
import { KEPT_DAYS } from "@/lib/keep/retention/retention.pure";
import {
  boundedText,
  countsOut,
  named,
  nullableText,
  nullableTime,
  reasonSchema,
  timeOut,
} from "@/lib/platform/api/schemas.shapes";
import { TEXT_MAX } from "@/lib/platform/plain/storable.pure";

const DAYS_WORDS = `must be a whole number of days from ${KEPT_DAYS.min} to ${KEPT_DAYS.max}`;
const days = z.int(DAYS_WORDS).check(z.gte(KEPT_DAYS.min, DAYS_WORDS), z.lte(KEPT_DAYS.max, DAYS_WORDS));
const RULES_MAX = 200;

/** Of a source, of an error code, or of the events of both. */
const ruleSchema = z.strictObject({
  source: z._default(z.nullable(boundedText(TEXT_MAX.sourceName)), null),
  errorCode: z._default(z.nullable(boundedText(TEXT_MAX.errorCode)), null),
  days,
});

const periods = {
  /** How long events are kept that no rule names. */
  days,
  rules: z.array(ruleSchema).check(z.maxLength(RULES_MAX, `at most ${RULES_MAX} rules`)),
};

/** POST /api/v1/retention/preview: periods not yet in force. */
export const retentionPeriodsSchema = named("RetentionPeriods", z.strictObject(periods), {
  days: 30,
  rules: [{ source: "orders", errorCode: null, days: 7 }],
});
export type RetentionPeriods = z.infer<typeof retentionPeriodsSchema>;

/** PUT /api/v1/retention: all periods. */
export const retentionChangeSchema = named(
  "RetentionChange",
  z.strictObject({
    ...periods,
    /** As GET has answered it: what was changed since then is not overwritten. Absent = whatever it is. */
    changedAt: z.optional(
      z.nullable(z.iso.datetime({ offset: true, error: "must be an ISO 8601 time with an offset" })),
    ),
    reason: z.optional(reasonSchema),
  }),
  { days: 30, rules: [{ source: "orders", errorCode: null, days: 14 }], reason: "the disk is small" },
);
export type RetentionChange = z.infer<typeof retentionChangeSchema>;

export const retentionSchema = named(
  "Retention",
  z.object({
    ...periods,
    /** Where expired events go; null = no archive is configured, and nothing expires. */
    place: nullableText,
    /** When a worker has last looked at events that became due; null = never. */
    lookedAt: nullableTime,
    changedAt: nullableTime,
    changedBy: nullableText,
  }),
);
export type RetentionOut = z.infer<typeof retentionSchema>;

/** GET /api/v1/retention/preview: what expires when a worker looks now, by the UTC day on which the events were parked, the oldest first. */
export const retentionPreviewSchema = named(
  "RetentionPreview",
  z.object({
    asOf: timeOut,
    /** null = counting took too long. */
    days: z.nullable(
      z.array(
        z.object({
          day: z.string(),
          expires: z.int(),
          /** Of the current payloads of the events that expire. */
          bytes: z.number(),
          /** Due events that stay. `in-redrive`: QUEUED; `unconfirmed`: redriven, and it may still come back; `holds-later`: later versions of its aggregate wait behind it; `recent`: sent, changed or restored in the last 7 days. */
          keptByReason: countsOut,
        }),
      ),
    ),
  }),
);
export type RetentionPreview = z.infer<typeof retentionPreviewSchema>;
