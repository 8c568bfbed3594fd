import * as z from "zod/mini";
import { idOut, named, nullableTime, reasonSchema, timeOut, versionOut } from "@/lib/platform/api/schemas.shapes";
import { HOLDING_STATUSES } from "@/lib/states/event-state.pure";

/** Held events named in one answer, so that one redrive can release them. */
export const TAIL_MAX = 1_000;

const place = { id: idOut, eventId: z.string(), version: versionOut, errorCode: z.string() };
const headSchema = z.object({
  ...place,
  status: z.enum(HOLDING_STATUSES),
  bounces: z.int(),
  failures: z.int(),
  cooldownUntil: nullableTime,
});
const skippedSchema = z.object({
  ...place,
  status: z.enum(HOLDING_STATUSES),
  reason: z.string(),
  createdBy: z.string(),
  createdAt: timeOut,
});

/** GET /api/v1/events/{id}/tail: the head of the event's aggregate, and the events that it holds. */
export const tailSchema = named(
  "Tail",
  z.object({
    /** The first parked version that holds the later ones; null = none does. */
    head: z.nullable(headSchema),
    why: z.nullable(z.string()),
    /** Parked versions that hold nothing, because somebody skipped them. */
    skipped: z.array(skippedSchema),
    /**
     * The PENDING versions behind the head, else behind the first skipped one, in the order in which they are sent: the
     * first TAIL_MAX of them.
     */
    held: z.object({ count: z.int(), events: z.array(z.object(place)) }),
  }),
);
export type TailOut = z.infer<typeof tailSchema>;

/** PUT /api/v1/events/{id}/skip */
export const skipRequestSchema = named("SkipRequest", z.strictObject({ reason: reasonSchema }), {
  reason: "order-77 was corrected by hand",
});
/** DELETE /api/v1/events/{id}/skip. Without a body the reason is "undone". */
export const unskipRequestSchema = named(
  "UnskipRequest",
  z.strictObject({ reason: z._default(reasonSchema, "undone") }),
  { reason: "it is needed after all" },
);

/**
 * The event that a redrive of this one alone would wait for, by the rule of the redrive itself; null = none, or it is not
 * PENDING. `version` null: it cools down and has none.
 */
export const heldBehindSchema = z.object({ id: idOut, eventId: z.string(), version: z.nullable(versionOut) });

export type HeldBehind = z.infer<typeof heldBehindSchema>;
