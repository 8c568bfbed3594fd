import * as z from "zod/mini";
import { causeSchema } from "@/lib/guard/approvals/approvals.shapes";
import { appliedControlSchema } from "@/lib/order/controls/controls.shapes";
import {
  countOut,
  countsOut,
  hintsOut,
  idOut,
  named,
  nullableNumber,
  nullableText,
  nullableTime,
  timeOut,
  versionOut,
} from "@/lib/platform/api/schemas.shapes";
import { findingSchema } from "@/lib/redrive/list/redrive-items.shapes";
import {
  canarySchema,
  despiteChoice,
  earlierChoice,
  laneSchema,
  rateSchema,
  targetName,
} from "@/lib/redrive/request/redrive-request.shapes";
import { selectionSchema } from "@/lib/selection/selection.shapes";

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
    earlier: earlierChoice,
    despite: despiteChoice,
  }),
  { select: { filter: { source: ["orders"], errorCode: ["TIMEOUT"] } }, lane: "slow" },
);
export type PreviewRequest = z.infer<typeof previewRequestSchema>;

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

/** `bounded` = the counts are lower bounds: of a selection of more than 20,000 events its newest are looked at. */
const earlierSchema = z.object({
  /** Selected events that would go, were they not behind an earlier version. */
  heldEvents: countOut,
  heldAggregates: countOut,
  /** Versions they are behind, which `pass` strands. */
  earlierEvents: countOut,
  /** Those of them that are not selected: `include` takes them along. */
  takenAlong: countOut,
  bounded: z.boolean(),
  /** One held event of each of some aggregates, at most 5. */
  samples: z.array(earlierSampleSchema),
  /** The first version that holds each of these aggregates, at most 1,000: mended and sent, they hold nothing. */
  headIds: z.array(idOut),
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

/** `refused` by reason; checked = wouldGo + refused. What a target answers is not known before a send. */
const sampleSchema = z.object({
  checked: countOut,
  /** Every event that the controls and the order let go was checked; `eligible` then counts what the checks let go, too. */
  whole: z.boolean(),
  wouldGo: countOut,
  refused: countsOut,
  /** What a person should know of events that are sent, the most frequent first, at most 5: headers that are left out. */
  warnings: z.array(z.object({ check: z.string(), detail: z.string(), events: countOut })),
  /** Some of the refused, with every check that did not pass. */
  samples: z.array(
    z.object({
      id: idOut,
      eventId: z.string(),
      version: z.nullable(versionOut),
      refusal: z.string(),
      findings: z.array(findingSchema),
    }),
  ),
  targets: z.array(sampleTargetSchema),
});
export type SampleOut = z.infer<typeof sampleSchema>;

/** GET /api/v1/redrives/{id}/check */
export const frozenSampleSchema = named("FrozenSample", sampleSchema);

const unknownPartSchema = z.object({
  part: z.enum(["total", "earlier", "sample", "changedSince", "controls"]),
  detail: z.string(),
});
export type UnknownPart = z.infer<typeof unknownPartSchema>;

/**
 * POST /api/v1/redrives/preview. `kind` says what the counts are: those of more than 20,000 events are estimated from the newest
 * of them. `etaMs` counts the rates, the warm-ups and the canary's waits;
 * null = nothing limits it, or the total is unknown.
 */
export const previewSchema = named(
  "RedrivePreview",
  z.object({
    total: z.nullable(countOut),
    kind: z.enum(["exact", "estimated", "atLeast"]),
    /** What goes: null = not known, `unknown` says which part is missing. */
    eligible: z.nullable(countOut),
    refused: countsOut,
    byErrorCode: countsOut,
    /**
     * The blacklists and cooldowns that refuse events, the one that refuses most first, of at most CONTROLLED_MAX events that
     * were looked at; null = not looked for (`sample: false`), or not known in time. `refuses` null = there are more, and how many
     * of them it refuses is not known.
     */
    controls: z.nullable(z.array(z.object({ refuses: z.nullable(countOut), control: appliedControlSchema }))),
    ratePerSecond: nullableNumber,
    etaMs: nullableNumber,
    /** The wait after each step of a canary, unless the redrive names another. */
    canaryQuietMs: z.number(),
    /** What would go, by source, with the pace of its target: with `canaryQuietMs` the time at any rate follows from it. */
    sources: z.record(
      z.string(),
      z.object({ eligible: countOut, ratePerSecond: nullableNumber, warmUpMs: z.number() }),
    ),
    /** The dry run of some of what would go; null = not asked for, or it would have taken too long. */
    sample: z.nullable(sampleSchema),
    /**
     * What is behind parked versions that the selection leaves out; null = not known in time. It says so whatever the
     * request chose; `refused` and the other counts follow the choice.
     */
    earlier: z.nullable(earlierSchema),
    /** Of a selection of a redrive's events: how many have other bytes now than that redrive froze. null = another selection. */
    changedSince: z.nullable(countOut),
    /** The setting: a redrive of more events needs a reason. */
    reasonRequiredAbove: countOut,
    /** Why a second person must approve it; empty = nobody must, null = not known in time. */
    approvalCauses: z.nullable(z.array(causeSchema)),
    /** The parts that the store did not answer in time, in words; the other parts are as they say. */
    unknown: z.array(unknownPartSchema),
    hints: hintsOut,
    cutoff: timeOut,
  }),
);
/** Refused events whose controls a preview looks up. */
export const CONTROLLED_MAX = 200;
export type PreviewOut = z.infer<typeof previewSchema>;
