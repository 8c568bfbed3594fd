import * as z from "zod/mini";
import { idPageQuery } from "@/lib/platform/api/id-page.shapes";
import {
  described,
  idOut,
  named,
  nullableText,
  nullableTime,
  pageOut,
  reasonSchema,
  timeOut,
} from "@/lib/platform/api/schemas.shapes";

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
  "must name exactly one of eventId, aggregateId (optionally with an aggregateType), errorCode, and may name a source " +
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
export const controlSchema = named("Control", z.object(controlShape));
export type ControlOut = z.infer<typeof controlSchema>;
export const controlListSchema = pageOut(controlSchema);
export type ControlList = z.infer<typeof controlListSchema>;

/** POST /api/v1/controls: `underWay` = sends that it covers and that had begun; null = the store did not say. */
export const imposedControlSchema = z.object({ ...controlShape, underWay: z.nullable(z.int()) });

/** DELETE /api/v1/controls/{id}. Without a body the reason is "lifted". */
export const liftRequestSchema = named("LiftRequest", z.strictObject({ reason: z._default(reasonSchema, "lifted") }), {
  reason: "the producer is fixed",
});

const liftFilterSchema = z
  .strictObject({
    source: z.optional(value),
    kind: z.optional(z.enum(["blacklist", "whitelist", "cooldown"], "must be blacklist, whitelist or cooldown")),
    /** `automatic`: blacklists that Parkade imposed on aggregates that kept failing. */
    origin: z.optional(z.enum(["person", "automatic"], "must be person or automatic")),
    aggregateId: z.optional(value),
    /** The redrive whose failures made Parkade impose the blacklist. */
    redrive: z.optional(z.uuid("must be the id of a redrive")),
  })
  .check(z.refine((filter) => Object.keys(filter).length > 0, "must name at least one of its fields"))
  .register(z.globalRegistry, { minProperties: 1 });
export type LiftFilter = z.infer<typeof liftFilterSchema>;

/** POST /api/v1/controls/lift. `dryRun`: count them, and lift none. */
export const liftManySchema = named(
  "LiftMany",
  z.union([
    z.strictObject({ filter: liftFilterSchema, reason: reasonSchema, dryRun: z.optional(z.boolean()) }),
    z.strictObject({ undo: z.uuid("must be the id of a lift"), reason: reasonSchema }),
  ]),
  { filter: { source: "orders", origin: "automatic" }, reason: "the consumer is fixed" },
);
export type LiftMany = z.infer<typeof liftManySchema>;

/** `id`: of the lift, to take it back; null = nothing can be taken back. `more`: others match, or match by now. */
export const liftedManySchema = named(
  "LiftedMany",
  z.object({ id: z.nullable(idOut), controls: z.int(), more: z.boolean() }),
);
export type LiftedMany = z.infer<typeof liftedManySchema>;

export const controlsQuery = idPageQuery({
  state: described(z.optional(z.enum(["live", "ended"], "must be live or ended")), "In force, or ended; absent = both"),
});

export const appliedControlSchema = named(
  "AppliedControl",
  z.object({
    id: idOut,
    kind: z.enum(["blacklist", "whitelist", "cooldown"]),
    scope: z.enum(["eventId", "aggregateId", "errorCode", "source"]),
    value: z.string(),
    /** The one source it holds for; null = all sources, or the scope is a source. */
    source: nullableText,
    aggregateType: nullableText,
    reason: z.string(),
    origin: z.enum(["person", "automatic"]),
    createdBy: z.string(),
    expiresAt: nullableTime,
  }),
);

export type AppliedControl = z.infer<typeof appliedControlSchema>;
