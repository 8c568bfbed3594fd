import * as z from "zod/mini";
import { namedParams } from "@/lib/contract/id-page";
import { reasonSchema, selectionSchema } from "@/lib/contract/selection";
import { EARLIER_CHOICES, type Earlier } from "@/lib/core/order-gate";
import { DomainError } from "@/lib/core/problem";
import { LIVE_REDRIVE_STATES, REDRIVE_STATES, type RedriveState } from "@/lib/core/redrive-state";
import type { StallCode } from "@/lib/core/stalled";

export const laneSchema = z.enum(["main", "slow"], "must be main or slow");
const rate = z
  .number("must be a number of events per second")
  .check(z.gt(0, "must be above 0; to stop a redrive, pause it"), z.lte(100_000, "must be at most 100,000"));

export const canarySchema = z.strictObject({
  /** Cumulative sizes of the stages before everything is released. */
  steps: z._default(z.array(z.int().check(z.gt(0))).check(z.minLength(1), z.maxLength(10)), [1, 10, 100]),
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
});
export type Brake = z.infer<typeof brakeSchema>;

/** What becomes of earlier versions that are parked outside of the selection, see `core/order-gate`; absent = hold. */
const earlier = z.optional(z.enum(EARLIER_CHOICES, `must be one of ${EARLIER_CHOICES.join(", ")}`));

export const previewRequestSchema = z.strictObject({
  select: selectionSchema,
  mode: z._default(z.enum(["deliver", "verify"]), "deliver"),
  lane: z._default(laneSchema, "slow"),
  ratePerSecond: z.nullish(rate),
  /** false: only count, examine no event. */
  sample: z.optional(z.boolean("must be true or false")),
  earlier,
});
export type PreviewRequest = z.infer<typeof previewRequestSchema>;

export const redriveRequestSchema = z.strictObject({
  select: selectionSchema,
  mode: z._default(z.enum(["deliver", "verify"], "must be deliver or verify"), "deliver"),
  lane: z._default(laneSchema, "slow"),
  ratePerSecond: z.nullish(rate),
  canary: z.nullish(z.union([z.boolean(), canarySchema])),
  /** Absent = the default; null or false = none. */
  brake: z.nullish(z.union([z.boolean(), brakeSchema])),
  earlier,
  /** Nothing is sent for this long: time to take it back. Absent = 0. */
  holdMs: z.optional(
    z
      .int("must be a whole number of milliseconds")
      .check(z.gte(0, "must be at least 0"), z.lte(60_000, "must be at most 60,000")),
  ),
  reason: reasonSchema,
});
export type RedriveRequest = z.infer<typeof redriveRequestSchema>;

export const redriveChangeSchema = z.union([
  z.strictObject({ action: z.enum(["pause", "resume", "cancel"]), reason: z.optional(reasonSchema) }),
  z.strictObject({ ratePerSecond: z.nullable(rate) }),
  z.strictObject({ lane: laneSchema }),
]);
export type RedriveChange = z.infer<typeof redriveChangeSchema>;

/** POST /api/v1/redrives/preview. `kind` says what `total` is; `etaMs` null = no rate, or unknown total. */
export type PreviewOut = {
  total: number | null;
  kind: "exact" | "estimated" | "atLeast";
  eligible: number | null;
  refused: Record<string, number>;
  byErrorCode: Record<string, number>;
  ratePerSecond: number | null;
  etaMs: number | null;
  /** What would go, by source, with the rate of its target; a time to send follows from it at any rate. */
  sources: Record<string, { eligible: number; ratePerSecond: number | null }>;
  /** The dry run of some of what would go; null = not asked for, or it would have taken too long. */
  sample: SampleOut | null;
  /**
   * What is behind parked versions that the selection leaves out; null = not known in time. It says so whatever the
   * request chose; `refused` and the other counts follow the choice.
   */
  earlier: EarlierOut | null;
  cutoff: string;
};

/** POST /api/v1/redrives/preview: `bounded` = the counts are lower bounds, the selection is too large to look at all. */
export type EarlierOut = {
  /** Selected events that would go, were they not behind an earlier version. */
  heldEvents: number;
  heldAggregates: number;
  /** Versions they are behind: what `include` takes along, and `pass` strands. */
  earlierEvents: number;
  bounded: boolean;
  /** One held event of each of some aggregates, at most 5. */
  samples: EarlierSample[];
};

export type EarlierSample = {
  id: string;
  eventId: string;
  source: string;
  aggregateType: string | null;
  aggregateId: string;
  version: number | string;
  /** The first versions it is behind, in order, at most 10. */
  behind: { id: string; eventId: string; version: number | string; status: "PENDING" | "IGNORED" }[];
};

/** `refused` by reason; checked = wouldGo + refused. What a target answers is not known before a send. */
export type SampleOut = {
  checked: number;
  wouldGo: number;
  refused: Record<string, number>;
  targets: SampleTarget[];
};

export type SampleTarget = {
  name: string;
  /** As the console's own process reaches it; null = not known. */
  reachable: boolean | null;
  detail: string | null;
  /** As the workers report it. */
  breaker: "closed" | "open" | "held-open";
  breakerUntil: string | null;
};

export type RedriveOut = {
  id: string;
  state: RedriveState;
  mode: "deliver" | "verify";
  lane: "main" | "slow";
  /** What it does about earlier versions that are parked. */
  earlier: Earlier;
  /** As asked; null = the target's own rate. */
  ratePerSecond: number | null;
  /** What holds now: the smaller of the redrive's and the slowest target's rate; null = unlimited. */
  effectiveRatePerSecond: number | null;
  /** What its own sources' targets take together on its lane; null = unlimited. */
  laneRatePerSecond: number | null;
  total: number;
  delivered: number;
  /** Verify runs only: events the dry run found nothing against. A deliver run has none. */
  passed: number;
  confirmed: number;
  failed: number;
  refused: number;
  cancelled: number;
  bounced: number;
  open: number;
  refusedByReason: Record<string, number>;
  failedByReason: Record<string, number>;
  /** `released`: the step it is at, null = all; `waitingUntil`: the step is sent and waits for what comes back. */
  canary: (Canary & { released: number | null; waitingUntil: string | null }) | null;
  /** null = nothing pauses it but a person. */
  brake: Brake | null;
  pauseReason: string | null;
  createdBy: string;
  reason: string;
  selection: unknown;
  createdAt: string;
  plannedAt: string | null;
  startedAt: string | null;
  finishedAt: string | null;
  /** Nothing is sent before; null = no hold was asked for. */
  holdUntil: string | null;
  /** Sends per second over the last 30 s; null when nothing ran. */
  rateNow: number | null;
  /** Until the last open event is sent, what is left of the hold included. */
  etaMs: number | null;
  /** Why it does not move, in one sentence with the way out; null = it moves, is over or has just begun. */
  stalled: {
    code: StallCode;
    text: string;
    until: string | null;
    /** The target whose breaker is open. */
    target: string | null;
    /** The redrive that comes first. */
    redriveId: string | null;
  } | null;
};
export type RedriveList = { items: RedriveOut[]; nextCursor: string | null };

export const ITEM_STATES = ["open", "delivered", "passed", "failed", "refused", "cancelled"] as const;

/** Reads `?state=&result=`, absent = any. Throws DomainError `invalid-request`. */
export function redriveItemsFrom(params: URLSearchParams): { state: string | null; result: string | null } {
  const { state = null, result = null } = namedParams(params, ["state", "result"]);
  const detail = `must be one of ${ITEM_STATES.join(", ")}`;
  if (state === null || (ITEM_STATES as readonly string[]).includes(state)) return { state, result };
  throw new DomainError("invalid-request", `state: ${detail}`, { fields: [{ field: "state", detail }] });
}

/** GET /api/v1/redrives/{id}/items?state=&result= */
export type RedriveItemOut = {
  eventId: string;
  id: string;
  source: string;
  aggregateId: string | null;
  version: number | string | null;
  errorCode: string;
  state: (typeof ITEM_STATES)[number];
  result: string | null;
  detail: string | null;
  attempts: number;
  /** Of a failed one: why it was not tried again, a reason of the retry engine (`exhausted`, `budget`, `deadline` ...). */
  stopped: string | null;
  findings: Finding[];
  finishedAt: string | null;
};
export type RedriveItemList = { items: RedriveItemOut[]; nextCursor: string | null };

/** One named check of the dry run. */
export type Finding = { check: string; ok: boolean; detail: string };

/** GET /api/v1/redrives/{id}/rate -> sends over time, 5 s buckets */
export type RedriveRate = {
  buckets: { at: string; delivered: number; failed: number; refused: number }[];
  bucketMs: number;
  asOf: string;
};

/** GET /api/v1/redrives/{id}/causes -> failures and refusals grouped by cause, with samples */
export type RedriveCauses = {
  causes: { outcome: "failed" | "refused"; result: string; count: number; samples: RedriveItemOut[] }[];
};

/** `?state=RUNNING` or `?state=live` (not yet final), comma-separated; absent = all. Throws DomainError. */
export function redriveStatesFrom(value: string | undefined): RedriveState[] | null {
  if (value === undefined) return null;
  if (value === "live") return [...LIVE_REDRIVE_STATES];
  const states = value
    .split(",")
    .filter((state): state is RedriveState => REDRIVE_STATES.includes(state as RedriveState));
  if (states.length === value.split(",").length) return states;
  const detail = `must be live, or one or more of ${REDRIVE_STATES.join(", ")}`;
  throw new DomainError("invalid-request", `state: ${detail}`, { fields: [{ field: "state", detail }] });
}
