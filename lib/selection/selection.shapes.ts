import * as z from "zod/mini";
import { named, reasonSchema, uuidText } from "@/lib/platform/api/schemas.shapes";
import { tellSchema } from "@/lib/platform/api/tell.shapes";
import { eventFilterSchema } from "@/lib/selection/filter/event-filter.shapes";
import { SELECTED_IDS_MAX } from "@/lib/selection/selected-ids.shapes";
import { ITEM_OUTCOMES } from "@/lib/states/item-state.pure";

/**
 * What an operation works on: named events, all that match a filter at this moment, all that a bulk operation has changed,
 * or the events of a redrive with these outcomes at this moment. One of them, never two.
 */
export const selectionSchema = z.union([
  z.strictObject({
    ids: z
      .array(uuidText("must be an event's id (a UUID, not its eventId)"))
      .check(
        z.minLength(1, "selects nothing: name at least one event id"),
        z.maxLength(SELECTED_IDS_MAX, `more than ${SELECTED_IDS_MAX} ids: use a filter`),
      ),
  }),
  z.strictObject({ filter: eventFilterSchema }),
  z.strictObject({ operation: uuidText("must be the id of a bulk operation") }),
  z.strictObject({
    redrive: uuidText("must be the id of a redrive"),
    outcome: z
      .array(z.enum(ITEM_OUTCOMES, `must be one of ${ITEM_OUTCOMES.join(", ")}`))
      .check(z.minLength(1, "selects nothing: name at least one outcome"), z.maxLength(ITEM_OUTCOMES.length)),
    /** Only those that ended with this result: the code of a failure or a bounce, the reason of a refusal. */
    result: z.optional(z.string()),
  }),
]);
named("Selection", selectionSchema, { filter: { source: ["orders"], errorCode: ["TIMEOUT"] } });
export type Selection = z.infer<typeof selectionSchema>;

/**
 * POST /api/v1/events/ignore. `tell`: channels that are notified when the operation of a larger set ends or stalls; a small set is
 * done with the answer, and nobody is notified.
 */
export const bulkChangeSchema = named(
  "BulkChange",
  z.strictObject({ select: selectionSchema, reason: reasonSchema, tell: z.optional(tellSchema) }),
  {
    select: { filter: { source: ["orders"], errorCode: ["TIMEOUT"] } },
    reason: "fixed at the producer",
  },
);

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
    tell: z.optional(tellSchema),
  }),
  { select: { filter: { source: ["orders"], status: ["IGNORED"] } }, reason: "they are needed after all" },
);
