import * as z from "zod/mini";
import { EVENT_STATUSES } from "@/lib/core/event-state";

/**
 * The one filter: the URL, the list, the count, the chart, the export and the bulk operation. `zod/mini` because the
 * browser loads it with the list.
 */

/** Stored statuses, and two refinements that the surface shows as states of their own. */
export const FILTER_STATUSES = [...EVENT_STATUSES, "BOUNCED", "CONFIRMED", "COOLING"] as const;
export type FilterStatus = (typeof FILTER_STATUSES)[number];

/** Values of one field: any of them matches. */
const values = z.array(z.string().check(z.minLength(1), z.maxLength(512))).check(z.maxLength(100));

/** ISO 8601 date or date-time, epoch milliseconds as text, or relative to now: `-15m`, `-24h`, `-7d`, `now`. */
const instant = z.string().check(z.minLength(1), z.maxLength(64));

export const eventFilterSchema = z.strictObject({
  source: z.optional(values),
  eventId: z.optional(values),
  aggregateId: z.optional(values),
  eventType: z.optional(values),
  errorCode: z.optional(values),
  fingerprint: z.optional(values),
  status: z.optional(z.array(z.enum(FILTER_STATUSES)).check(z.maxLength(FILTER_STATUSES.length))),
  from: z.optional(instant),
  to: z.optional(instant),
  traceId: z.optional(values),
  q: z.optional(z.string().check(z.minLength(1), z.maxLength(512))),
  tags: z.optional(z.record(z.string().check(z.minLength(1), z.maxLength(128)), values)),
});

export type EventFilter = z.infer<typeof eventFilterSchema>;
