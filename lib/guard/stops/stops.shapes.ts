import * as z from "zod/mini";
import { named, reasonSchema, timeOut } from "@/lib/platform/api/schemas.shapes";

/** PUT /api/v1/stops/... */
export const stopRequestSchema = named("StopRequest", z.strictObject({ reason: reasonSchema }), {
  reason: "the stock service answers with wrong data",
});

/** DELETE /api/v1/stops/... A body is not needed: no setting asks for a reason. */
export const resumeRequestSchema = named("ResumeRequest", z.strictObject({ reason: z.optional(reasonSchema) }), {
  reason: "the stock service is well again",
});

const stopShape = {
  /** Name of the stopped target; null = everything. */
  target: z.nullable(z.string()),
  reason: z.string(),
  createdBy: z.string(),
  createdAt: timeOut,
};
/** A stop in force: nothing is sent to its target, or to any. */
export const stopSchema = named("Stop", z.object(stopShape));
export type StopOut = z.infer<typeof stopSchema>;
export const stopListSchema = z.object({ items: z.array(stopSchema) });

/** `underWay`: sends that had begun and had not ended at the answer; null = the store did not say. */
export const imposedStopSchema = named("ImposedStop", z.object({ ...stopShape, underWay: z.nullable(z.int()) }));
export type ImposedStop = z.infer<typeof imposedStopSchema>;

/** `lifted`: false = no such stop was in force. */
export const liftedStopSchema = named("LiftedStop", z.object({ lifted: z.boolean() }));
