import * as z from "zod/mini";
import { appliedControlSchema } from "@/lib/order/controls/controls.shapes";
import { idPageQuery } from "@/lib/platform/api/id-page.shapes";
import { queryOf } from "@/lib/platform/api/query.shapes";
import {
  countOut,
  described,
  fileShape,
  idOut,
  listText,
  named,
  nullableText,
  nullableTime,
  pageOut,
  versionOut,
} from "@/lib/platform/api/schemas.shapes";
import { ITEM_OUTCOMES, ITEM_STATES } from "@/lib/states/item-state.pure";

/** One named check of the dry run. */
export const findingSchema = z.object({
  check: z.string(),
  /** null = the check was not made, and `detail` says why. */
  ok: z.nullable(z.boolean()),
  detail: z.string(),
  /** It passed, and `detail` says what a person should know before the send. */
  warning: z.optional(z.boolean()),
  /** Of a failed check: what a person can do about it. */
  fix: z.optional(z.string()),
  /** JSON pointer to the place in the payload; "" = the whole payload. */
  pointer: z.optional(z.string()),
});
export type Finding = z.infer<typeof findingSchema>;

const outcomeOfItems = {
  outcome: described(
    z.optional(listText(ITEM_OUTCOMES)),
    "Their outcomes, comma-separated: delivered ones are sent, deduplicated, confirmed or bounced",
  ),
  result: described(
    z.optional(z.string()),
    "Reason of a refusal, or code of a failure or a bounce; without an outcome or a state, only such items have one",
  ),
};

export const redriveItemsQuery = idPageQuery({
  state: described(z.optional(z.enum(ITEM_STATES, `must be one of ${ITEM_STATES.join(", ")}`)), "State"),
  ...outcomeOfItems,
});

/** GET /api/v1/redrives/{id}/export */
export const redriveItemsExportQuery = queryOf({
  ...fileShape,
  ...outcomeOfItems,
});

/** GET /api/v1/redrives/{id}/items?state=&result= */
const redriveItemSchema = named(
  "RedriveItem",
  z.object({
    eventId: z.string(),
    id: idOut,
    source: z.string(),
    aggregateId: nullableText,
    version: z.nullable(versionOut),
    errorCode: z.string(),
    /** The revision that the redrive has frozen: what it sends. */
    revision: z.int(),
    state: z.enum(ITEM_STATES),
    outcome: z.enum(ITEM_OUTCOMES),
    result: nullableText,
    detail: nullableText,
    /** Of one refused as `blacklisted` or `cooling`: the control that refuses it now; absent = none does. */
    control: z.optional(appliedControlSchema),
    attempts: countOut,
    /** Of a failed one: why it was not tried again, a reason of the retry engine (`exhausted`, `budget`, `deadline` ...). */
    stopped: nullableText,
    findings: z.array(findingSchema),
    finishedAt: nullableTime,
  }),
);
export type RedriveItemOut = z.infer<typeof redriveItemSchema>;
export const redriveItemListSchema = pageOut(redriveItemSchema);
export type RedriveItemList = z.infer<typeof redriveItemListSchema>;

/** GET /api/v1/redrives/{id}/causes -> failures, bounces and refusals grouped by cause, with samples */
export const redriveCausesSchema = z.object({
  causes: z.array(
    z.object({
      outcome: z.enum(["failed", "bounced", "refused"]),
      /** Reason of a refusal, code of a failure, or the error code that a bounce brought. */
      result: z.string(),
      count: described(
        countOut,
        "Counted when it happened: events that have left the store are included, and an event whose failure was recorded after its bounce counts as both",
      ),
      samples: described(z.array(redriveItemSchema), "The newest, at most 3; empty = none is stored any more"),
    }),
  ),
});
export type RedriveCauses = z.infer<typeof redriveCausesSchema>;
