import * as z from "zod/mini";
import { approvalSchema as approvalShape, causeSchema } from "@/lib/contract/approvals";
import { idPageQuery } from "@/lib/contract/id-page";
import { queryOf, thenRead } from "@/lib/contract/query";
import {
  countsOut,
  described,
  idOut,
  listText,
  named,
  nullableNumber,
  nullableText,
  nullableTime,
  pageOut,
  timeOut,
  versionOut,
} from "@/lib/contract/schemas";
import { reasonSchema, selectionSchema } from "@/lib/contract/selection";
import { CANARY_STEPS } from "@/lib/core/canary";
import { ITEM_OUTCOMES, ITEM_STATES } from "@/lib/core/item-state";
import { EARLIER_CHOICES } from "@/lib/core/order-gate";
import { LIVE_REDRIVE_STATES, REDRIVE_STATES, type RedriveState } from "@/lib/core/redrive-state";
import { WAITS, type Wait } from "@/lib/core/redrive-wait";
import { CONFIRMABLE_REFUSALS } from "@/lib/core/refusal";
import { STALL_CODES } from "@/lib/core/stalled";

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

/** What becomes of earlier versions that are parked outside of the selection, see `core/order-gate`; absent = hold. */
const earlier = z.optional(z.enum(EARLIER_CHOICES, `must be one of ${EARLIER_CHOICES.join(", ")}`));

/** Events that admission marked: they are refused unless the redrive says that it sends them despite it. */
const despite = z.optional(
  z
    .array(z.enum(CONFIRMABLE_REFUSALS, `must be one of ${CONFIRMABLE_REFUSALS.join(", ")}`))
    .check(z.maxLength(CONFIRMABLE_REFUSALS.length, "name each once")),
);

export const previewRequestSchema = named(
  "PreviewRequest",
  z.strictObject({
    select: selectionSchema,
    mode: z._default(z.enum(["deliver", "verify"]), "deliver"),
    lane: z._default(laneSchema, "slow"),
    target: targetName,
    ratePerSecond: z.nullish(rateSchema),
    /** Its waits are part of `etaMs`. */
    canary: z.nullish(z.union([z.boolean(), canarySchema])),
    /** false: only count, examine no event. */
    sample: z.optional(z.boolean("must be true or false")),
    earlier,
    despite,
  }),
  { select: { filter: { source: ["orders"], errorCode: ["TIMEOUT"] } }, lane: "slow" },
);
export type PreviewRequest = z.infer<typeof previewRequestSchema>;

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
    earlier,
    despite,
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
      /** true or steps: what is left begins with a canary again. Absent = as it was. */
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
  ]),
  { action: "pause", reason: "watch the first ones" },
);
export type RedriveChange = z.infer<typeof redriveChangeSchema>;

const counted = z.int();

const earlierSampleSchema = z.object({
  id: idOut,
  eventId: z.string(),
  source: z.string(),
  aggregateType: nullableText,
  aggregateId: z.string(),
  version: versionOut,
  /** The first versions it is behind, in order, at most 10. */
  behind: z.array(
    z.object({ id: idOut, eventId: z.string(), version: versionOut, status: z.enum(["PENDING", "IGNORED"]) }),
  ),
});
export type EarlierSample = z.infer<typeof earlierSampleSchema>;

/** `bounded` = the counts are lower bounds, the selection is too large to look at all. */
const earlierSchema = z.object({
  /** Selected events that would go, were they not behind an earlier version. */
  heldEvents: counted,
  heldAggregates: counted,
  /** Versions they are behind: what `include` takes along, and `pass` strands. */
  earlierEvents: counted,
  bounded: z.boolean(),
  /** One held event of each of some aggregates, at most 5. */
  samples: z.array(earlierSampleSchema),
});
export type EarlierOut = z.infer<typeof earlierSchema>;

const sampleTargetSchema = z.object({
  name: z.string(),
  /** As the console's own process reaches it; null = not known. */
  reachable: z.nullable(z.boolean()),
  detail: nullableText,
  /** As the workers report it. */
  breaker: z.enum(["closed", "open", "held-open"]),
  breakerUntil: nullableTime,
});
export type SampleTarget = z.infer<typeof sampleTargetSchema>;

/** One named check of the dry run. */
const findingSchema = z.object({
  check: z.string(),
  /** null = the check was not made, and `detail` says why. */
  ok: z.nullable(z.boolean()),
  detail: z.string(),
  /** Of a failed check: what a person can do about it. */
  fix: z.optional(z.string()),
  /** JSON pointer to the place in the payload; "" = the whole payload. */
  pointer: z.optional(z.string()),
});
export type Finding = z.infer<typeof findingSchema>;

/** `refused` by reason; checked = wouldGo + refused. What a target answers is not known before a send. */
const sampleSchema = z.object({
  checked: counted,
  wouldGo: counted,
  refused: countsOut,
  /** Some of the refused, with every check that did not pass. */
  samples: z.array(z.object({ id: idOut, eventId: z.string(), refusal: z.string(), findings: z.array(findingSchema) })),
  targets: z.array(sampleTargetSchema),
});
export type SampleOut = z.infer<typeof sampleSchema>;

/**
 * POST /api/v1/redrives/preview. `kind` says what `total` is. `etaMs` counts the rates, the warm-ups and the canary's waits;
 * null = nothing limits it, or the total is unknown.
 */
export const previewSchema = named(
  "RedrivePreview",
  z.object({
    total: z.nullable(counted),
    kind: z.enum(["exact", "estimated", "atLeast"]),
    eligible: z.nullable(counted),
    refused: countsOut,
    byErrorCode: countsOut,
    ratePerSecond: nullableNumber,
    etaMs: nullableNumber,
    /** The wait after each step of a canary, unless the redrive names another. */
    canaryQuietMs: z.number(),
    /** What would go, by source, with the pace of its target: with `canaryQuietMs` the time at any rate follows from it. */
    sources: z.record(z.string(), z.object({ eligible: counted, ratePerSecond: nullableNumber, warmUpMs: z.number() })),
    /** The dry run of some of what would go; null = not asked for, or it would have taken too long. */
    sample: z.nullable(sampleSchema),
    /**
     * What is behind parked versions that the selection leaves out; null = not known in time. It says so whatever the
     * request chose; `refused` and the other counts follow the choice.
     */
    earlier: z.nullable(earlierSchema),
    /** Of a selection of a redrive's events: how many have other bytes now than that redrive froze. null = another selection. */
    changedSince: z.nullable(counted),
    /** The setting: a redrive of more events needs a reason. */
    reasonRequiredAbove: counted,
    /** Why a second person must approve it; empty = nobody must, null = not known in time. */
    approvalCauses: z.nullable(z.array(causeSchema)),
    cutoff: timeOut,
  }),
  {
    total: 12,
    kind: "exact",
    eligible: 11,
    refused: { cooling: 1 },
    byErrorCode: { TIMEOUT: 12 },
    ratePerSecond: 5,
    etaMs: 2_200,
    canaryQuietMs: 60_000,
    sources: { orders: { eligible: 11, ratePerSecond: 5, warmUpMs: 0 } },
    sample: null,
    earlier: null,
    changedSince: null,
    reasonRequiredAbove: 1_000,
    approvalCauses: [{ kind: "source", name: "orders" }],
    cutoff: "2026-11-22T02:45:00.000Z",
  },
);
export type PreviewOut = z.infer<typeof previewSchema>;

/** POST /api/v1/redrives -> 202. `total` null = still being frozen. */
export const redriveAnswerSchema = named(
  "RedriveAnswer",
  z.object({
    id: idOut,
    state: z.enum(REDRIVE_STATES),
    total: z.nullable(counted),
    refused: counted,
    refusedByReason: countsOut,
    /** Nothing is sent before; null = no hold was asked for. */
    holdUntil: nullableTime,
    /** What it waits for before it starts; see GET /api/v1/redrives/{id}. */
    waitsFor: z.array(z.enum(WAITS)),
  }),
  {
    id: "019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a50",
    state: "RUNNING",
    total: 12,
    refused: 1,
    refusedByReason: { cooling: 1 },
    holdUntil: null,
    waitsFor: [],
  },
);
/** Named events that do not exist are counted as refused (`not-found`), and are not part of `total`. */
export type RedriveAnswer = z.infer<typeof redriveAnswerSchema>;

/** Why it does not move, in one sentence with the way out. */
const stalledSchema = z.object({
  code: z.enum(STALL_CODES),
  text: z.string(),
  until: nullableTime,
  /** The target whose breaker is open. */
  target: nullableText,
  /** The redrive that comes first. */
  redriveId: z.nullable(idOut),
});

const redriveShape = {
  id: idOut,
  state: z.enum(REDRIVE_STATES),
  mode: z.enum(["deliver", "verify"]),
  /** On which its work runs; where it delivers, too, when it names no target. */
  lane: laneSchema,
  /** null = the target of each event's source on the lane. */
  target: nullableText,
  /** What it does about earlier versions that are parked. */
  earlier: z.enum(EARLIER_CHOICES),
  /** Refusals by admission that its requester set aside. */
  despite: z.array(z.enum(CONFIRMABLE_REFUSALS)),
  /** As asked; null = the target's own rate. */
  ratePerSecond: nullableNumber,
  /** What holds now: the redrive's rate, at most the sum of its targets' rates; null = unlimited. */
  effectiveRatePerSecond: nullableNumber,
  /** What its own sources' targets take together on its lane; null = unlimited. */
  laneRatePerSecond: nullableNumber,
  /** The same for each lane: what a switch of the lane would change. null = unlimited, or it names its target. */
  laneRates: z.object({ main: nullableNumber, slow: nullableNumber }),
  /** Sends at once for each worker, as asked; null = the places of its targets. */
  concurrency: z.nullable(counted),
  /** The places of its targets for each worker, together; null = not known. */
  places: z.nullable(counted),
  total: counted,
  /** Taken by their target: sent + deduplicated = confirmed + bounced + unknown. */
  delivered: counted,
  /** The target took them, and has not said that it knew them. */
  sent: counted,
  /** Their target knew them: its inbox held them, so nothing was sent, or its answer said so. */
  deduplicated: counted,
  /** Delivered, neither confirmed nor back yet. */
  unknown: counted,
  /** When the last of them is confirmed by its quiet window; null = none is unknown. */
  unknownUntil: nullableTime,
  /** Verify runs only: events the dry run found nothing against. A deliver run has none. */
  passed: counted,
  confirmed: counted,
  failed: counted,
  refused: counted,
  cancelled: counted,
  bounced: counted,
  open: counted,
  refusedByReason: countsOut,
  failedByReason: countsOut,
  /** `released`: the step it is at, null = all; `waitingUntil`: the step is sent and waits for what comes back. */
  canary: z.nullable(
    z.object({
      steps: z.array(counted),
      stopAtFailureRatio: z.number(),
      window: counted,
      quietMs: z.number(),
      released: z.nullable(counted),
      waitingUntil: nullableTime,
    }),
  ),
  /** null = nothing pauses it but a person. */
  brake: z.nullable(z.object({ ratio: z.number(), window: counted, minSample: counted, latencyMsMax: nullableNumber })),
  /** What the brake saw when it paused the redrive; null = it has not, or the redrive was resumed since. */
  brakeSeen: z.nullable(
    z.object({
      at: timeOut,
      cause: z.enum(["failures", "latency"]),
      outcomes: counted,
      failed: counted,
      bounced: counted,
      /** Of the last sends; null = the brake has no bound on the latency. */
      p95Ms: nullableNumber,
      /** Sends per second over the last 30 s before it. */
      ratePerSecond: z.number(),
    }),
  ),
  pauseReason: nullableText,
  createdBy: z.string(),
  reason: z.string(),
  selection: z.unknown(),
  createdAt: timeOut,
  plannedAt: nullableTime,
  startedAt: nullableTime,
  finishedAt: nullableTime,
  /** Nothing is sent before; null = no hold was asked for. */
  holdUntil: nullableTime,
  /** What is left of the hold at this answer, by the store's clock; null = no hold, or it is over. */
  holdLeftMs: nullableNumber,
  /** What a frozen redrive waits for before it starts; empty = nothing. */
  waitsFor: z.array(z.enum(WAITS)),
  /** It starts at this time; null = no time was asked for. */
  startAt: nullableTime,
  /** It waits until the breakers of its targets close, and is cancelled at this time; null = it does not wait for them. */
  breakerUntil: nullableTime,
  /** The latest approval that was asked for; null = it needed none. */
  approval: z.nullable(approvalShape),
  /** Sends per second over the last 30 s; null when nothing ran. */
  rateNow: nullableNumber,
  /** Until the last open event is sent, what is left of the hold included. */
  etaMs: nullableNumber,
  /** null = it moves, is over or has just begun. */
  stalled: z.nullable(stalledSchema),
};
const REDRIVE_EXAMPLE = {
  id: "019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a50",
  state: "RUNNING",
  mode: "deliver",
  lane: "slow",
  target: null,
  earlier: "hold",
  ratePerSecond: null,
  effectiveRatePerSecond: 5,
  laneRatePerSecond: 5,
  laneRates: { main: 50, slow: 5 },
  concurrency: null,
  places: 20,
  total: 12,
  delivered: 7,
  sent: 6,
  deduplicated: 1,
  unknown: 5,
  unknownUntil: "2026-11-22T02:55:01.000Z",
  passed: 0,
  confirmed: 2,
  failed: 0,
  refused: 1,
  cancelled: 0,
  bounced: 0,
  open: 4,
  refusedByReason: { cooling: 1 },
  failedByReason: {},
  canary: null,
  brake: { ratio: 0.2, window: 50, minSample: 10, latencyMsMax: null },
  brakeSeen: null,
  pauseReason: null,
  createdBy: "maria",
  reason: "stock service is back",
  selection: { filter: { errorCode: ["TIMEOUT"] } },
  createdAt: "2026-11-22T02:45:00.000Z",
  plannedAt: "2026-11-22T02:45:00.000Z",
  startedAt: "2026-11-22T02:45:00.200Z",
  finishedAt: null,
  holdUntil: null,
  holdLeftMs: null,
  startAt: null,
  breakerUntil: null,
  approval: null,
  rateNow: 4.8,
  etaMs: 800,
  stalled: null,
} as const;
export const redriveSchema = named("Redrive", z.object(redriveShape), {
  ...REDRIVE_EXAMPLE,
  despite: [],
  waitsFor: [],
  brake: { ...REDRIVE_EXAMPLE.brake },
});
export type RedriveOut = z.infer<typeof redriveSchema>;
export const redriveListSchema = pageOut(redriveSchema);
export type RedriveList = z.infer<typeof redriveListSchema>;

/** PATCH /api/v1/redrives/{id}: `underWay` = sends that a stop did not reach; null = the store did not say. */
export const changedRedriveSchema = z.object({ ...redriveShape, underWay: z.nullable(counted) });

const outcomeOfItems = {
  outcome: described(
    z.optional(listText(ITEM_OUTCOMES)),
    "What became of them, with commas between them: delivered ones are sent, deduplicated, confirmed or bounced",
  ),
  result: described(z.optional(z.string()), "Reason of a refusal, or code of a failure or a bounce"),
};

export const redriveItemsQuery = idPageQuery({
  state: described(z.optional(z.enum(ITEM_STATES, `must be one of ${ITEM_STATES.join(", ")}`)), "State"),
  ...outcomeOfItems,
});

/** GET /api/v1/redrives/{id}/export */
export const redriveItemsExportQuery = queryOf({
  format: z._default(z.enum(["ndjson", "csv"], "must be ndjson or csv"), "ndjson"),
  ...outcomeOfItems,
});

/** GET /api/v1/redrives/{id}/items?state=&result= */
const redriveItemSchema = named(
  "RedriveItem",
  z.object({
    eventId: z.string(),
    id: idOut,
    source: z.string(),
    aggregateId: nullableText,
    version: z.nullable(versionOut),
    errorCode: z.string(),
    /** The revision that the redrive has frozen: what it sends. */
    revision: z.int(),
    state: z.enum(ITEM_STATES),
    outcome: z.enum(ITEM_OUTCOMES),
    result: nullableText,
    detail: nullableText,
    attempts: counted,
    /** Of a failed one: why it was not tried again, a reason of the retry engine (`exhausted`, `budget`, `deadline` ...). */
    stopped: nullableText,
    findings: z.array(findingSchema),
    finishedAt: nullableTime,
  }),
  {
    eventId: "order-77-v3",
    id: "019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b00",
    source: "orders",
    aggregateId: "order-77",
    version: 3,
    errorCode: "TIMEOUT",
    revision: 1,
    state: "delivered",
    outcome: "confirmed",
    result: "HTTP 200",
    detail: null,
    attempts: 1,
    stopped: null,
    findings: [],
    finishedAt: "2026-11-22T02:45:01.000Z",
  },
);
export type RedriveItemOut = z.infer<typeof redriveItemSchema>;
export const redriveItemListSchema = pageOut(redriveItemSchema);
export type RedriveItemList = z.infer<typeof redriveItemListSchema>;

/** GET /api/v1/redrives/{id}/rate -> sends over time, 5 s buckets */
export const redriveRateSchema = z.object({
  buckets: z.array(z.object({ at: timeOut, delivered: counted, failed: counted, refused: counted })),
  bucketMs: counted,
  asOf: timeOut,
});
export type RedriveRate = z.infer<typeof redriveRateSchema>;

/** GET /api/v1/redrives/{id}/causes -> failures, bounces and refusals grouped by cause, with samples */
export const redriveCausesSchema = z.object({
  causes: z.array(
    z.object({
      outcome: z.enum(["failed", "bounced", "refused"]),
      result: z.string(),
      count: counted,
      samples: z.array(redriveItemSchema),
    }),
  ),
});
export type RedriveCauses = z.infer<typeof redriveCausesSchema>;

export const redrivesQuery = thenRead(
  idPageQuery({
    state: described(
      z.optional(listText(REDRIVE_STATES, "live")),
      "States with commas between them, or live: not yet final",
    ),
    waitsFor: described(
      z.optional(listText(WAITS, "any")),
      "Of those that are frozen and not started: what they wait for, with commas between them, or any",
    ),
  }),
  [],
  ({ state, waitsFor, ...page }) => ({
    ...page,
    waitsFor: waitsFor === "any" ? WAITS : ((waitsFor?.split(",") ?? null) as Wait["for"][] | null),
    states: state === "live" ? LIVE_REDRIVE_STATES : ((state?.split(",") ?? null) as RedriveState[] | null),
  }),
);
