import * as z from "zod/mini";
import { EARLIER_CHOICES } from "@/lib/order/order-gate.pure";
import { countOut, countsOut, idOut, named, nullableTime, reasonSchema } from "@/lib/platform/api/schemas.shapes";
import { tellSchema } from "@/lib/platform/api/tell.shapes";
import { CANARY_STEPS } from "@/lib/redrive/pace/canary.pure";
import { selectionSchema } from "@/lib/selection/selection.shapes";
import { REDRIVE_STATES } from "@/lib/states/redrive-state.pure";
import { WAITS } from "@/lib/states/redrive-wait.pure";
import { CONFIRMABLE_REFUSALS } from "@/lib/states/refusal.pure";

export const laneSchema = z.enum(["main", "slow"], "must be main or slow");
export const rateSchema = z
  .number("must be a number of events per second")
  .check(z.gt(0, "must be above 0; to stop a redrive, pause it"), z.lte(100_000, "must be at most 100,000"));

export const canarySchema = z.strictObject({
  /** Cumulative sizes of the stages before everything is released. */
  steps: z._default(z.array(z.int().check(z.gt(0))).check(z.minLength(1), z.maxLength(10)), [...CANARY_STEPS]),
  /** The brake's ratio and window, for a redrive that names no brake of its own. */
  stopAtFailureRatio: z._default(z.number().check(z.gt(0), z.lte(1)), 0.2),
  window: z._default(z.int().check(z.gte(1), z.lte(1_000)), 50),
  /** How long a step must stay without a bounce before the next one is taken; absent = the setting `canaryQuietMs`. */
  quietMs: z.optional(z.int().check(z.gte(100), z.lte(86_400_000))),
});
export type Canary = z.infer<typeof canarySchema> & { quietMs: number };

export const brakeSchema = z.strictObject({
  /** Share of failures and bounces among the last `window` outcomes above which the redrive pauses. */
  ratio: z._default(z.number().check(z.gt(0), z.lte(1)), 0.2),
  /** At least `minSample`: a smaller one is taken for that. */
  window: z._default(z.int().check(z.gte(10), z.lte(1_000)), 50),
  /** Outcomes below which nothing is decided, counted anew after each resume. */
  minSample: z._default(z.int().check(z.gte(10), z.lte(1_000)), 10),
  /** The redrive pauses, too, when the p95 of the last `window` sends is above this; null = no bound. */
  latencyMsMax: z._default(
    z.nullable(
      z
        .int("must be a whole number of milliseconds")
        .check(z.gte(1, "must be at least 1"), z.lte(600_000, "must be at most 600,000")),
    ),
    null,
  ),
});
export type Brake = z.infer<typeof brakeSchema>;

/** Where it delivers: the name of a target of the events' kind; absent = the target of each event's source on the lane. */
export const targetName = z.nullish(z.string("must be the name of a target").check(z.minLength(1), z.maxLength(256)));

/** What to do with earlier versions that are parked outside of the selection, see `order/order-gate.pure`; absent = hold. */
export const earlierChoice = z.optional(z.enum(EARLIER_CHOICES, `must be one of ${EARLIER_CHOICES.join(", ")}`));

/** Marks of admission, and payloads that do not parse: such events are refused unless the redrive says that it sends them despite it. */
export const despiteChoice = z.optional(
  z
    .array(z.enum(CONFIRMABLE_REFUSALS, `must be one of ${CONFIRMABLE_REFUSALS.join(", ")}`))
    .check(z.maxLength(CONFIRMABLE_REFUSALS.length, "name each once")),
);

const time = z.iso.datetime({ offset: true, error: "must be a time, such as 2026-11-22T14:05:00Z" });

export const redriveRequestSchema = named(
  "RedriveRequest",
  z.strictObject({
    select: selectionSchema,
    mode: z._default(z.enum(["deliver", "verify"], "must be deliver or verify"), "deliver"),
    lane: z._default(laneSchema, "slow"),
    target: targetName,
    ratePerSecond: z.nullish(rateSchema),
    /** auto: one with the default steps for a set of more than CANARY_ABOVE events. */
    canary: z.nullish(z.union([z.boolean(), z.literal("auto"), canarySchema])),
    /** Absent = the default; null or false = none. */
    brake: z.nullish(z.union([z.boolean(), brakeSchema])),
    earlier: earlierChoice,
    despite: despiteChoice,
    /** Nothing is sent for this long: time to take it back. Absent = 0. */
    holdMs: z.optional(
      z
        .int("must be a whole number of milliseconds")
        .check(z.gte(0, "must be at least 0"), z.lte(60_000, "must be at most 60,000")),
    ),
    /** Nothing is sent before; absent = at once. Its events are frozen and QUEUED meanwhile. */
    startAt: z.optional(time),
    /** It starts when the breakers of its targets let events through; not closed by `until` = it is cancelled. */
    startWhen: z.optional(z.strictObject({ breakerCloses: z.literal(true), until: z.optional(time) })),
    /** Absent = Parkade writes what was selected; a deliver redrive above the setting `reasonRequiredAbove` needs one. */
    reason: z.optional(reasonSchema),
    /** Channels that get a message when it ends or is stuck. */
    tell: z.optional(tellSchema),
  }),
  { select: { filter: { source: ["orders"], errorCode: ["TIMEOUT"] } }, lane: "slow", reason: "stock service is back" },
);
export type RedriveRequest = z.infer<typeof redriveRequestSchema>;

export const redriveChangeSchema = named(
  "RedriveChange",
  z.union([
    /** undo: a cancel that is refused unless nothing can have been sent, which the hold's end decides. */
    z.strictObject({ action: z.enum(["pause", "cancel", "undo"]), reason: z.optional(reasonSchema) }),
    /** It no longer waits for a time or a breaker. */
    z.strictObject({ action: z.literal("start"), reason: z.optional(reasonSchema) }),
    z.strictObject({
      action: z.literal("resume"),
      /** The rate from now on; absent = as it was. */
      ratePerSecond: z.optional(z.nullable(rateSchema)),
      /** true or steps: the rest starts with a canary again. Absent = as it was. */
      canary: z.optional(z.union([z.literal(true), canarySchema])),
      reason: z.optional(reasonSchema),
    }),
    /** At most what its targets take together. */
    z.strictObject({ ratePerSecond: z.nullable(rateSchema) }),
    /** Sends at once for each worker, at most the places of its targets; null = all of these. */
    z.strictObject({
      concurrency: z.nullable(
        z.int("must be a whole number").check(z.gte(1, "must be at least 1: to send nothing, pause"), z.lte(100_000)),
      ),
    }),
    z.strictObject({ lane: laneSchema }),
    /** The channels that are notified when it ends or stalls, instead of those before. */
    z.strictObject({ tell: tellSchema }),
  ]),
  { action: "pause", reason: "watch the first ones" },
);
export type RedriveChange = z.infer<typeof redriveChangeSchema>;

/** POST /api/v1/redrives -> 202. `total` null = still being frozen. */
export const redriveAnswerSchema = named(
  "RedriveAnswer",
  z.object({
    id: idOut,
    state: z.enum(REDRIVE_STATES),
    total: z.nullable(countOut),
    refused: countOut,
    refusedByReason: countsOut,
    /** Nothing is sent before; null = no hold was asked for. */
    holdUntil: nullableTime,
    /** What it waits for before it starts; see GET /api/v1/redrives/{id}. */
    waitsFor: z.array(z.enum(WAITS)),
  }),
);
/** Named events that do not exist are counted as refused (`not-found`), and are not part of `total`. */
export type RedriveAnswer = z.infer<typeof redriveAnswerSchema>;
