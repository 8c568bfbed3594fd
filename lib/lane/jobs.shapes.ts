import * as z from "zod/mini";

const redriveId = z.uuid();
/** Of the request or the job that caused this one, when requests and jobs are traced. */
const traceparent = z.optional(z.string().check(z.maxLength(512)));

/**
 * Payload of one job of a lane. Ids only, and the `traceparent` of its cause: what the job works on is read from Postgres when it runs.
 * `plan` freezes a large redrive, `canary` works all slices of a redrive that its canary holds back, `slice` works one;
 * `bulk` changes the events of a bulk operation.
 */
export const laneJobSchema = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("plan"), redriveId, traceparent }),
  z.strictObject({ kind: z.literal("canary"), redriveId, traceparent }),
  z.strictObject({ kind: z.literal("bulk"), operationId: z.uuid(), traceparent }),
  z.strictObject({ kind: z.literal("slice"), redriveId, slice: z.int().check(z.gte(0)), traceparent }),
]);

export type LaneJob = z.infer<typeof laneJobSchema>;

/** Equal keys, equal jobs. */
export function laneJobKey(job: LaneJob): string {
  if (job.kind === "bulk") return `${job.operationId}.bulk`;
  return `${job.redriveId}.${job.kind === "slice" ? job.slice : job.kind}`;
}
