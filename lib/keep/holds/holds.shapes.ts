import * as z from "zod/mini";
import { reasonSchema } from "@/lib/events/selection/selection.shapes";
import { idPageQuery } from "@/lib/platform/api/id-page.shapes";
import {
  boundedText,
  described,
  idOut,
  named,
  nullableText,
  nullableTime,
  pageOut,
  timeOut,
} from "@/lib/platform/api/schemas.shapes";
import { TEXT_MAX } from "@/lib/platform/plain/storable.pure";

const source = z.optional(boundedText(TEXT_MAX.sourceName));

/**
 * What a legal hold covers: an event, an aggregate, a tag with its value, an error code, or a source. A source beside one of
 * the others narrows it to that source; without one it holds over all of them.
 */
const holdScopeSchema = z.union(
  [
    z.strictObject({ eventId: boundedText(TEXT_MAX.eventId), source }),
    z.strictObject({
      aggregateId: boundedText(TEXT_MAX.aggregateId),
      aggregateType: z.optional(boundedText(TEXT_MAX.aggregateType)),
      source,
    }),
    z.strictObject({
      tag: z.strictObject({ name: boundedText(TEXT_MAX.tagKey), value: boundedText(TEXT_MAX.tagValue) }),
      source,
    }),
    z.strictObject({ errorCode: boundedText(TEXT_MAX.errorCode), source }),
    z.strictObject({ source: boundedText(TEXT_MAX.sourceName) }),
  ],
  "must name exactly one of eventId, aggregateId (with an aggregateType if you like), tag { name, value }, errorCode, and may " +
    "name a source beside it; or a source alone",
);

const instant = z.nullish(z.iso.datetime({ offset: true, error: "must be an ISO 8601 time with an offset" }));

/** POST /api/v1/holds */
export const holdRequestSchema = named(
  "HoldRequest",
  z.strictObject({
    scope: holdScopeSchema,
    /** Events that were first seen at or after this time; absent = since ever. */
    from: instant,
    /** Events that were first seen before this time; absent = also those that come. */
    to: instant,
    reason: reasonSchema,
  }),
  { scope: { aggregateId: "order-77", source: "orders" }, reason: "claim 2026/118, ask legal before it is lifted" },
);
export type HoldRequest = z.infer<typeof holdRequestSchema>;

export const holdSchema = named(
  "LegalHold",
  z.object({
    id: idOut,
    scope: z.object({
      eventId: z.optional(z.string()),
      aggregateId: z.optional(z.string()),
      aggregateType: z.optional(z.string()),
      tag: z.optional(z.object({ name: z.string(), value: z.string() })),
      errorCode: z.optional(z.string()),
      source: z.optional(z.string()),
    }),
    from: nullableTime,
    to: nullableTime,
    reason: z.string(),
    createdBy: z.string(),
    createdAt: timeOut,
    /** null = it is in force. */
    liftedAt: nullableTime,
    liftedBy: nullableText,
    liftReason: nullableText,
  }),
  {
    id: "019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b30",
    scope: { aggregateId: "order-77", source: "orders" },
    from: null,
    to: null,
    reason: "claim 2026/118, ask legal before it is lifted",
    createdBy: "maria",
    createdAt: "2026-11-22T02:44:59.120Z",
    liftedAt: null,
    liftedBy: null,
    liftReason: null,
  },
);
export type HoldOut = z.infer<typeof holdSchema>;
export const holdListSchema = pageOut(holdSchema);
export type HoldList = z.infer<typeof holdListSchema>;

/** DELETE /api/v1/holds/{id} */
export const holdLiftSchema = named("HoldLift", z.strictObject({ reason: reasonSchema }), {
  reason: "claim 2026/118 is settled",
});

export const holdsQuery = idPageQuery({
  state: described(
    z.optional(z.enum(["live", "ended"], "must be live or ended")),
    "In force, or lifted; absent = both",
  ),
});
