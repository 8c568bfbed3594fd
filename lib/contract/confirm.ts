import * as z from "zod/mini";

const text = (max: number) =>
  z.string("must be text").check(
    z.minLength(1, "must not be empty"),
    z.maxLength(max, `at most ${max} characters`),
    z.refine((value) => !value.includes("\0"), "must not hold a NUL character"),
  );

/** POST /api/v1/events/confirm: a consumer says what it has processed. */
export const confirmRequestSchema = z.strictObject({
  source: text(256),
  /** The producer's ids, not ours. */
  eventIds: z
    .array(text(512), "must be a list of event ids")
    .check(z.minLength(1, "must name at least one event"), z.maxLength(1_000, "at most 1,000 at a time")),
  consumer: z.optional(text(256)),
});
export type ConfirmRequest = z.infer<typeof confirmRequestSchema>;
