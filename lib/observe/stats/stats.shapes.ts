import * as z from "zod/mini";
import { arrivalsShape, verdictOut } from "@/lib/events/groups/arrivals.shapes";
import { stopSchema } from "@/lib/guard/stops/stops.shapes";
import {
  countsOut,
  hintsOut,
  idOut,
  named,
  nullableNumber,
  nullableText,
  nullableTime,
  timeOut,
} from "@/lib/platform/api/schemas.shapes";
import { bucketStateSchema } from "@/lib/sources/sources.shapes";

/** Every statistics answer has its kind and age: counted from the rollups, exact unless `kind` differs. */
const stamp = { asOf: timeOut, kind: z.enum(["exact", "estimated"]), hints: hintsOut };
const count = z.int();
const STAMP = { asOf: "2026-11-22T02:45:00.000Z", kind: "exact" } as const;
/** GET /api/v1/stats/size?from=&to=&bucket=&filter: dlq_size (PENDING + QUEUED) at the end of each bucket. */
export const sizeStatsSchema = named(
  "SizeStats",
  z.object({
    ...stamp,
    bucketMs: count,
    buckets: z.array(z.object({ at: timeOut, total: count, byErrorCode: countsOut })),
    now: count,
  }),
);
export type SizeStats = z.infer<typeof sizeStatsSchema>;

/** GET /api/v1/stats/flow: events per bucket. */
export const flowStatsSchema = named(
  "FlowStats",
  z.object({
    ...stamp,
    bucketMs: count,
    buckets: z.array(
      z.object({
        at: timeOut,
        parked: count,
        redriven: count,
        confirmed: count,
        failed: count,
        bounced: count,
        ignored: count,
        expired: count,
        released: count,
        /** Counted in a storm and not stored. */
        unstored: count,
        /** Arrivals of events that were stored already. */
        duplicate: count,
        /** Left out by a rule of admission. */
        dropped: count,
        /** The store refused a value of them. */
        rejected: count,
      }),
    ),
  }),
);
export type FlowStats = z.infer<typeof flowStatsSchema>;

/** GET /api/v1/stats/age: age of what is parked now, ms; null when nothing is parked. Buckets: the same over time. */
const age = { p50Ms: nullableNumber, p95Ms: nullableNumber, oldestMs: nullableNumber };
export const ageStatsSchema = named(
  "AgeStats",
  z.object({ ...stamp, bucketMs: count, ...age, buckets: z.array(z.object({ at: timeOut, ...age })) }),
);
export type AgeStats = z.infer<typeof ageStatsSchema>;
/** `parked`: for the first time; `bounced`: come back after a redrive; `unstored`: counted in a storm and not stored. */
const arrivals = { ...arrivalsShape, parked: count, bounced: count, unstored: count };
const arrivedCodeSchema = z.object({ ...arrivals, errorCode: z.string() });
const arrivedGroupSchema = z.object({
  ...arrivalsShape,
  verdict: verdictOut,
  fingerprint: z.string(),
  errorCode: z.string(),
  pattern: z.string(),
});
export type ArrivedCode = z.infer<typeof arrivedCodeSchema>;
export type ArrivedGroup = z.infer<typeof arrivedGroupSchema>;

/**
 * GET /api/v1/stats/top-errors: error codes, the most frequent first. Without from and to: what is parked now. With
 * them: what arrived in the window, by code and by group. `usualFrom` is where the time begins that `usual` is taken
 * over; it ends where the window begins.
 */
export const topErrorsSchema = named(
  "TopErrors",
  z.discriminatedUnion("counts", [
    z.object({
      ...stamp,
      counts: z.literal("parked-now"),
      buckets: z.array(z.object({ errorCode: z.string(), count })),
      total: count,
    }),
    z.object({
      ...stamp,
      counts: z.literal("arrived"),
      buckets: z.array(arrivedCodeSchema),
      groups: z.array(arrivedGroupSchema),
      total: count,
      usualFrom: nullableTime,
    }),
  ]),
  { ...STAMP, counts: "parked-now", buckets: [{ errorCode: "TIMEOUT", count: 12 }], total: 12 },
);
export type TopErrors = z.infer<typeof topErrorsSchema>;

/** GET /api/v1/stats/redrive-success: of the events delivered in the window, how many are confirmed or came back. */
const success = {
  delivered: count,
  confirmed: count,
  bounced: count,
  failed: count,
  /** confirmed / (confirmed + bounced + failed); null when none is settled. */
  rate: nullableNumber,
};
export const redriveSuccessSchema = named(
  "RedriveSuccess",
  z.object({ ...stamp, ...success, bucketMs: count, buckets: z.array(z.object({ at: timeOut, ...success })) }),
);
export type RedriveSuccess = z.infer<typeof redriveSuccessSchema>;

/** GET /api/v1/stats/markers?from=&to=: what a person did, what was wrong, and what was marked, for the charts. */
export const markersSchema = z.object({
  items: z.array(
    z.object({
      at: timeOut,
      kind: z.enum(["redrive", "redrive-ended", "control", "alert", "alert-resolved", "deploy", "incident", "note"]),
      label: z.string(),
      id: idOut,
      /** What it is about: a path of the console, or the address that a marker was given; null = none. */
      href: nullableText,
    }),
  ),
});
export type Markers = z.infer<typeof markersSchema>;

/** GET /api/v1/status: the strip. Polled; every part is null when it cannot be had. */
export const statusSchema = named(
  "Status",
  z.object({
    asOf: timeOut,
    lanes: z.array(
      z.object({
        lane: z.enum(["main", "slow"]),
        ratePerSecondNow: nullableNumber,
        /** The sum of the rates of `targets`; null = unknown, or one of them has no limit. */
        ratePerSecondSet: nullableNumber,
        targets: z.nullable(count),
      }),
    ),
    redrivesRunning: z.nullable(count),
    /** Requests for approval that nobody has answered yet. */
    approvalsWaiting: z.nullable(count),
    /** Of these, those that the viewer may answer: not what the viewer asked for. */
    approvalsForViewer: z.nullable(count),
    /** Frozen redrives that have not started, by what they wait for. One may wait for several. */
    redrivesWaiting: z.nullable(z.object({ approval: count, time: count, breaker: count })),
    /** Bulk operations that a worker has yet to end. */
    operationsRunning: z.nullable(count),
    worker: z.nullable(z.object({ alive: count, lastSeenAt: nullableTime })),
    queue: z.object({ backend: z.enum(["redis", "postgres"]), ok: z.boolean() }),
    store: z.object({ ok: z.boolean() }),
    /** What keeps events from going out or coming in: names of targets whose breaker is open, and of sources that fail. */
    trouble: z.nullable(
      z.object({
        openBreakers: z.array(z.string()),
        failingSources: z.array(z.string()),
        /** Why removals and expiries stand still; null = none does. */
        archive: nullableText,
        /** Why alerts may be missing; null = all rules are evaluated. */
        alerts: nullableText,
        /** Channels that a restore from a backup disabled, and that nobody has enabled, edited or deleted since. */
        channelsOff: count,
      }),
    ),
    /** The worst of what the workers report of their token buckets; null = no worker has taken a token yet. */
    bucket: z.nullable(bucketStateSchema),
    /** Stops that a person has put in force; null = the store did not say. */
    stops: z.nullable(z.array(stopSchema)),
    /** Alerts that fire, those that nobody has acknowledged, and the worst of these; null = the store did not say. */
    alerts: z.nullable(
      z.object({ firing: count, unacknowledged: count, worst: z.nullable(z.enum(["critical", "warning", "info"])) }),
    ),
    /** Why no events are taken in, since when; empty while they are. null = the store did not say. */
    intakeStops: z.nullable(
      z.array(z.object({ measure: z.enum(["disk", "store"]), since: timeOut, detail: z.string() })),
    ),
    /** Differs after any change that the audit records, and after an alert began, fired or ended, of any source: a client need not read again before. null = the store did not say. */
    changes: nullableText,
  }),
);
export type StatusOut = z.infer<typeof statusSchema>;
