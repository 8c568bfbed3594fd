import type { BucketState } from "@/lib/contract/sources";

/** Every stats answer says what it is and how old: from the rollups, exact unless said otherwise. */
type Stamp = { asOf: string; kind: "exact" | "estimated" };

/** GET /api/v1/stats/size?from=&to=&bucket=&filter: dlq_size (PENDING + QUEUED) at the end of each bucket. */
export type SizeStats = Stamp & {
  bucketMs: number;
  buckets: { at: string; total: number; byErrorCode: Record<string, number> }[];
  now: number;
};

/** GET /api/v1/stats/flow: events per bucket. */
export type FlowStats = Stamp & {
  bucketMs: number;
  buckets: {
    at: string;
    parked: number;
    redriven: number;
    confirmed: number;
    failed: number;
    bounced: number;
    ignored: number;
    released: number;
  }[];
};

/** GET /api/v1/stats/age: age of what is parked now, ms; null when nothing is parked. Buckets: the same over time. */
export type AgeStats = Stamp & {
  bucketMs: number;
  p50Ms: number | null;
  p95Ms: number | null;
  oldestMs: number | null;
  buckets: { at: string; p50Ms: number | null; p95Ms: number | null; oldestMs: number | null }[];
};

/** What arrived in the window, against what usually arrives in as long a time. */
export type Arrivals = {
  /** parked + bounced. */
  count: number;
  /** For the first time. */
  parked: number;
  /** Come back after a redrive. */
  bounced: number;
  /** Mean of as long a time before the window; null when the history is shorter than the window. */
  usual: number | null;
  /** count / usual; null when `usual` is null or 0. */
  factor: number | null;
};
export type ArrivedCode = Arrivals & { errorCode: string };
export type ArrivedGroup = Omit<Arrivals, "parked" | "bounced"> & {
  fingerprint: string;
  errorCode: string;
  pattern: string;
};

/**
 * GET /api/v1/stats/top-errors: error codes, the most frequent first. Without from and to: what is parked now. With
 * them: what arrived in the window, by code and by group. `usualFrom` is where the time begins that `usual` is taken
 * over; it ends where the window begins.
 */
export type TopErrors = Stamp &
  (
    | { counts: "parked-now"; buckets: { errorCode: string; count: number }[]; total: number }
    | { counts: "arrived"; buckets: ArrivedCode[]; groups: ArrivedGroup[]; total: number; usualFrom: string | null }
  );

/** GET /api/v1/stats/redrive-success: of the events delivered in the window, how many are confirmed or came back. */
export type RedriveSuccess = Stamp & {
  delivered: number;
  confirmed: number;
  bounced: number;
  failed: number;
  /** confirmed / (confirmed + bounced + failed); null when none is settled. */
  rate: number | null;
  bucketMs: number;
  buckets: { at: string; delivered: number; confirmed: number; bounced: number; failed: number; rate: number | null }[];
};

/** GET /api/v1/stats/markers?from=&to=: what a person did, for the charts. */
export type Markers = { items: { at: string; kind: "redrive" | "control"; label: string; id: string }[] };

/** GET /api/v1/status: the strip. Polled; every part is null when it cannot be had. */
export type StatusOut = {
  asOf: string;
  lanes: { lane: "main" | "slow"; ratePerSecondNow: number | null; ratePerSecondSet: number | null }[];
  redrivesRunning: number | null;
  worker: { alive: number; lastSeenAt: string | null } | null;
  queue: { backend: "redis" | "postgres"; ok: boolean };
  store: { ok: boolean };
  /** What keeps events from going out or coming in: names of targets whose breaker is open, and of sources that fail. */
  trouble: { openBreakers: string[]; failingSources: string[] } | null;
  /** The worst of what the workers report of their token buckets; null = no worker has taken a token yet. */
  bucket: BucketState | null;
};
