import * as z from "zod/mini";
import { idPageQuery } from "@/lib/contract/id-page";
import { described, idOut, named, nullableText, nullableTime, pageOut, timeOut } from "@/lib/contract/schemas";
import { reasonSchema } from "@/lib/contract/selection";

const value = z.string().check(z.minLength(1), z.maxLength(512));

const source = z.optional(value);

/**
 * A control over an event, an aggregate, an error code or a source. A source beside one of the others narrows it to that
 * source; without one it holds over all of them. Without an aggregateType it holds for an aggregate of any type.
 */
const controlScopeSchema = z.union(
  [
    z.strictObject({ eventId: value, source }),
    z.strictObject({ aggregateId: value, aggregateType: z.optional(value), source }),
    z.strictObject({ errorCode: value, source }),
    z.strictObject({ source: value }),
  ],
  "must name exactly one of eventId, aggregateId (with an aggregateType if you like), errorCode, and may name a source " +
    "beside it; or a source alone",
);

export const controlRequestSchema = named(
  "ControlRequest",
  z.strictObject({
    kind: z.enum(["blacklist", "whitelist", "cooldown"], "must be blacklist, whitelist or cooldown"),
    scope: controlScopeSchema,
    reason: reasonSchema,
    /** ISO 8601 with an offset; a cooldown must have one. */
    expiresAt: z.nullish(z.iso.datetime({ offset: true, error: "must be an ISO 8601 time with an offset" })),
  }),
  {
    kind: "blacklist",
    scope: { errorCode: "VALIDATION_ERROR", source: "orders" },
    reason: "until the producer is fixed",
  },
);
z.globalRegistry.add(controlRequestSchema, {
  ...z.globalRegistry.get(controlRequestSchema),
  if: { properties: { kind: { const: "cooldown" } } },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { properties: { expiresAt: { type: "string" } }, required: ["expiresAt"] },
});
export type ControlRequest = z.infer<typeof controlRequestSchema>;
export type ControlScopeName = "eventId" | "aggregateId" | "errorCode" | "source";

const controlShape = {
  id: idOut,
  kind: z.enum(["blacklist", "whitelist", "cooldown"]),
  scope: z.object({
    eventId: z.optional(z.string()),
    aggregateId: z.optional(z.string()),
    errorCode: z.optional(z.string()),
    source: z.optional(z.string()),
    aggregateType: z.optional(z.string()),
  }),
  reason: z.string(),
  origin: z.enum(["person", "automatic"]),
  createdBy: z.string(),
  createdAt: timeOut,
  expiresAt: nullableTime,
  liftedAt: nullableTime,
  liftedBy: nullableText,
  liftReason: nullableText,
  /** Parked events it catches now; null = unknown. */
  catches: z.nullable(z.int()),
};
export const controlSchema = named("Control", z.object(controlShape), {
  id: "019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b20",
  kind: "blacklist",
  scope: { errorCode: "VALIDATION_ERROR", source: "orders" },
  reason: "until the producer is fixed",
  origin: "person",
  createdBy: "maria",
  createdAt: "2026-11-22T02:44:59.120Z",
  expiresAt: null,
  liftedAt: null,
  liftedBy: null,
  liftReason: null,
  catches: 12,
});
export type ControlOut = z.infer<typeof controlSchema>;
export const controlListSchema = pageOut(controlSchema);
export type ControlList = z.infer<typeof controlListSchema>;

/** POST /api/v1/controls: `underWay` = sends that it covers and that had begun; null = the store did not say. */
export const imposedControlSchema = z.object({ ...controlShape, underWay: z.nullable(z.int()) });

/** DELETE /api/v1/controls/{id}. Without a body the reason is "lifted". */
export const liftRequestSchema = named("LiftRequest", z.strictObject({ reason: z._default(reasonSchema, "lifted") }), {
  reason: "the producer is fixed",
});

export const controlsQuery = idPageQuery({
  state: described(z.optional(z.enum(["live", "ended"], "must be live or ended")), "In force, or ended; absent = both"),
});
