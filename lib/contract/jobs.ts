import * as z from "zod/mini";

/** Payload of one BullMQ job. Ids only: what the slice holds is read from Postgres when it runs. */
export const sliceJobSchema = z.strictObject({
  redriveId: z.uuid(),
  slice: z.int().check(z.gte(0)),
});
export type SliceJobData = z.infer<typeof sliceJobSchema>;
