import * as z from "zod/mini";
import { approvalSchema as approvalShape } from "@/lib/guard/approvals/approvals.shapes";
import { EARLIER_CHOICES } from "@/lib/order/order-gate.pure";
import { idPageQuery } from "@/lib/platform/api/id-page.shapes";
import { thenRead } from "@/lib/platform/api/query.shapes";
import {
  countOut,
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
} from "@/lib/platform/api/schemas.shapes";
import { STALL_CODES } from "@/lib/redrive/life/stalled.pure";
import { laneSchema } from "@/lib/redrive/request/redrive-request.shapes";
import { LIVE_REDRIVE_STATES, REDRIVE_STATES, type RedriveState } from "@/lib/states/redrive-state.pure";
import { WAITS, type Wait } from "@/lib/states/redrive-wait.pure";
import { CONFIRMABLE_REFUSALS } from "@/lib/states/refusal.pure";

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
  /** Lane the redrive runs on. It also selects the target unless one is named. */
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
  concurrency: z.nullable(countOut),
  /** The places of its targets for each worker, together; null = not known. */
  places: z.nullable(countOut),
  total: countOut,
  /** Taken by their target: sent + deduplicated = confirmed + bounced + unknown. */
  delivered: countOut,
  /** The target took them, and has not said that it knew them. */
  sent: countOut,
  /** Their target knew them: its inbox held them, so nothing was sent, or its answer said so. */
  deduplicated: countOut,
  /** Delivered, neither confirmed nor back yet. */
  unknown: countOut,
  /** When the last of them is confirmed by its quiet window; null = none is unknown. */
  unknownUntil: nullableTime,
  /** Verify runs only: events the dry run found nothing against. A deliver run has none. */
  passed: countOut,
  confirmed: countOut,
  failed: countOut,
  refused: countOut,
  cancelled: countOut,
  bounced: countOut,
  open: countOut,
  refusedByReason: countsOut,
  failedByReason: countsOut,
  /** `released`: the step it is at, null = all; `waitingUntil`: the step is sent and waits for bounces. */
  canary: z.nullable(
    z.object({
      steps: z.array(countOut),
      stopAtFailureRatio: z.number(),
      window: countOut,
      quietMs: z.number(),
      released: z.nullable(countOut),
      waitingUntil: nullableTime,
    }),
  ),
  /** null = nothing pauses it but a person. */
  brake: z.nullable(
    z.object({ ratio: z.number(), window: countOut, minSample: countOut, latencyMsMax: nullableNumber }),
  ),
  /** What the brake saw when it paused the redrive; null = it has not, or the redrive was resumed since. */
  brakeSeen: z.nullable(
    z.object({
      at: timeOut,
      cause: z.enum(["failures", "latency"]),
      outcomes: countOut,
      failed: countOut,
      bounced: countOut,
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
  /** Names of the channels that are notified when it ends or stalls. */
  tell: z.array(z.string()),
  /** null = it moves, is over or has just begun. */
  stalled: z.nullable(stalledSchema),
};
export const redriveSchema = named("Redrive", z.object(redriveShape));
export type RedriveOut = z.infer<typeof redriveSchema>;
export const redriveListSchema = pageOut(redriveSchema);
export type RedriveList = z.infer<typeof redriveListSchema>;

/** PATCH /api/v1/redrives/{id}: `underWay` = sends that a stop did not reach; null = the store did not say. */
export const changedRedriveSchema = z.object({ ...redriveShape, underWay: z.nullable(countOut) });

/** GET /api/v1/redrives/{id}/rate -> sends over time, 5 s buckets */
export const redriveRateSchema = z.object({
  buckets: z.array(z.object({ at: timeOut, delivered: countOut, failed: countOut, refused: countOut })),
  bucketMs: countOut,
  asOf: timeOut,
});
export type RedriveRate = z.infer<typeof redriveRateSchema>;

export const redrivesQuery = thenRead(
  idPageQuery({
    state: described(z.optional(listText(REDRIVE_STATES, "live")), "Comma-separated states, or live: not yet final"),
    waitsFor: described(
      z.optional(listText(WAITS, "any")),
      "What redrives that have not started wait for, comma-separated, or any",
    ),
  }),
  [],
  ({ state, waitsFor, ...page }) => ({
    ...page,
    waitsFor: waitsFor === "any" ? WAITS : ((waitsFor?.split(",") ?? null) as Wait["for"][] | null),
    states: state === "live" ? LIVE_REDRIVE_STATES : ((state?.split(",") ?? null) as RedriveState[] | null),
  }),
);
