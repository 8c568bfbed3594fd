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

/** GET /api/v1/stats/top-errors: error codes by parked count, largest first. */
export type TopErrors = Stamp & { buckets: { errorCode: string; count: number }[]; total: number };

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
  /** The worst of what the workers report of their token buckets; null = no worker has taken a token yet. */
  bucket: BucketState | null;
};
