import * as z from "zod/mini";
import { described, named, reasonSchema } from "@/lib/platform/api/schemas.shapes";
import { TEXT_MAX } from "@/lib/platform/plain/storable.pure";
import { selectionSchema } from "@/lib/selection/selection.shapes";

const text = (max: number) =>
  z.string("must be text").check(
    z.minLength(1, "must not be empty"),
    z.maxLength(max, `at most ${max} characters`),
    z.refine((value) => !value.includes("\0"), "must not contain a NUL character"),
  );

/** A consumer says what it has processed, by the producer's ids. */
const confirmKeysSchema = z.strictObject({
  source: text(256),
  /** The producer's ids, not ours. */
  eventIds: z
    .array(text(512), "must be a list of event ids")
    .check(z.minLength(1, "must name at least one event"), z.maxLength(1_000, "at most 1,000 at a time")),
  producer: described(
    z.optional(text(TEXT_MAX.producer)),
    "The scope within which the ids are unique, such as the source of a CloudEvent. Without it, an id of events of several producers is refused as several-producers",
  ),
  consumer: z.optional(text(256)),
});
export type ConfirmKeys = z.infer<typeof confirmKeysSchema>;

/** A person says that a whole set was processed. */
const confirmSelectedSchema = z.strictObject({
  select: selectionSchema,
  reason: reasonSchema,
  consumer: z.optional(text(256)),
});

/** POST /api/v1/events/confirm */
export const confirmRequestSchema = named("ConfirmRequest", z.union([confirmKeysSchema, confirmSelectedSchema]), {
  source: "orders",
  eventIds: ["order-77-v3"],
  consumer: "billing",
});
export type ConfirmRequest = z.infer<typeof confirmRequestSchema>;
