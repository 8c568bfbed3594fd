import * as z from "zod/mini";
import { eventFilterSchema } from "@/lib/contract/event-filter";
import { named } from "@/lib/contract/schemas";
import { SELECTED_IDS_MAX } from "@/lib/contract/selected-ids";

/**
 * What an operation works on: named events, all that match a filter at this moment, or all that a bulk operation has
 * changed. One of them, never two.
 */
export const selectionSchema = z.union([
  z.strictObject({
    ids: z
      .array(z.uuid("must be an event's id (a UUID, not its eventId)"))
      .check(
        z.minLength(1, "selects nothing: name at least one event id"),
        z.maxLength(SELECTED_IDS_MAX, `more than ${SELECTED_IDS_MAX} ids: use a filter`),
      ),
  }),
  z.strictObject({ filter: eventFilterSchema }),
  z.strictObject({ operation: z.uuid("must be the id of a bulk operation") }),
]);
export type Selection = z.infer<typeof selectionSchema>;

/** The reason for a change: kept in the audit for ever. */
export const reasonSchema = z
  .string("say why: the reason is kept in the audit")
  .check(z.regex(/\S/, "say why: the reason is kept in the audit"), z.maxLength(2_000, "at most 2,000 characters"));

/** POST /api/v1/events/ignore */
export const bulkChangeSchema = named("BulkChange", z.strictObject({ select: selectionSchema, reason: reasonSchema }), {
  select: { filter: { source: ["orders"], errorCode: ["TIMEOUT"] } },
  reason: "fixed at the producer",
});

/**
 * POST /api/v1/events/release. `keepLimits`: failures, redrives and cooldown stay as they were, as when an ignore is
 * taken back; otherwise they start anew.
 */
export const releaseSchema = named(
  "ReleaseRequest",
  z.strictObject({
    select: selectionSchema,
    reason: reasonSchema,
    keepLimits: z._default(z.boolean(), false),
  }),
  { select: { filter: { source: ["orders"], status: ["IGNORED"] } }, reason: "they are needed after all" },
);
