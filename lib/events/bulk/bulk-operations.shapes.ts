import * as z from "zod/mini";
import { approvalSchema } from "@/lib/guard/approvals/approvals.shapes";
import { idPageQuery } from "@/lib/platform/api/id-page.shapes";
import { thenRead } from "@/lib/platform/api/query.shapes";
import {
  countsOut,
  described,
  idOut,
  listText,
  named,
  nullableNumber,
  nullableText,
  nullableTime,
  pageOut,
  reasonSchema,
  timeOut,
} from "@/lib/platform/api/schemas.shapes";
import { tellSchema } from "@/lib/platform/api/tell.shapes";
import { recordedRecipeSchema } from "@/lib/selection/operations/recipe.shapes";
import { BULK_KINDS, BULK_STATES, type BulkState } from "@/lib/states/bulk-operation.pure";

/** GET /api/v1/operations/{id}: a change of a set that a worker makes in chunks. */
export const bulkOperationSchema = named(
  "BulkOperation",
  z.object({
    id: idOut,
    kind: z.enum(BULK_KINDS),
    state: z.enum(BULK_STATES),
    /** As asked. */
    selection: z.unknown(),
    /** How many events were selected; `estimated` by the planner where counting them takes too long. */
    expected: z.object({ value: z.int(), kind: z.enum(["exact", "estimated"]) }),
    changed: z.int(),
    refused: z.int(),
    refusedByReason: countsOut,
    /** Of a mend; null = another kind. */
    recipe: z.nullable(recordedRecipeSchema),
    reason: z.string(),
    createdBy: z.string(),
    cancelledBy: nullableText,
    /** Its one audit entry, which names each changed event. */
    auditId: idOut,
    createdAt: timeOut,
    startedAt: nullableTime,
    finishedAt: nullableTime,
    /** Events per second since it started; null = no chunk is done. */
    ratePerSecond: nullableNumber,
    /** Until the last event is decided; null = not running, or no rate is known. */
    etaMs: nullableNumber,
    /** Why it does not move, with the way out; null = it moves, is over or has just begun. */
    stalled: nullableText,
    /** Names of the channels that are notified when it ends or stalls. */
    tell: z.array(z.string()),
    /** The approval that a mend needs before it changes anything; null = it needed none. */
    approval: z.nullable(approvalSchema),
    /** What was undone of a mend: its last undo, whether that still runs, and the events of all its undos; null = none was asked for. */
    undo: z.nullable(z.object({ id: idOut, running: z.boolean(), changed: z.int() })),
  }),
);
export type BulkOperationOut = z.infer<typeof bulkOperationSchema>;
export const bulkOperationListSchema = pageOut(bulkOperationSchema);
export type BulkOperationList = z.infer<typeof bulkOperationListSchema>;

/** PATCH /api/v1/operations/{id} */
export const bulkOperationChangeSchema = named(
  "BulkOperationChange",
  z.union([
    z.strictObject({ action: z.enum(["cancel"], "must be cancel"), reason: z.optional(reasonSchema) }),
    /** The channels that are notified when it ends or stalls, instead of those before. */
    z.strictObject({ tell: tellSchema }),
  ]),
  { action: "cancel", reason: "wrong filter" },
);
export type BulkOperationChange = z.infer<typeof bulkOperationChangeSchema>;

export const bulkOperationsQuery = thenRead(
  idPageQuery({ state: described(z.optional(listText(BULK_STATES)), "Comma-separated states; absent = all") }),
  [],
  ({ state, ...page }) => ({ ...page, states: (state?.split(",") ?? null) as BulkState[] | null }),
);
