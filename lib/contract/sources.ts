/** GET /api/v1/sources[/{name}]. Secrets are references (env:NAME) or masked, never values. */
export type SourceOut = {
  id: string;
  name: string;
  kind: string;
  config: Record<string, unknown>;
  payloadSchema: Record<string, unknown> | null;
  enabled: boolean;
  createdAt: string;
  updatedAt: string;
  state: { state: string; lag: number | null; lastError: string | null; at: string } | null;
  parked: number | null;
};
export type SourceList = { items: SourceOut[]; nextCursor: string | null };

/** POST /api/v1/sources/{name}/probe and POST /api/v1/sources/probe { kind, config } */
export type ProbeOut = {
  reachable: boolean;
  detail: string;
  depth: number | null;
  sample: { eventId: string; errorCode: string; convention: string; payloadBytes: number }[];
};

/** Live engine state of one target as the workers last reported it; null = no worker has used it yet. */
export type TargetEngine = {
  /** `waitMs` until the next probe may pass; null when it is not open, or held open by an operator. null = no breaker. */
  breaker: { state: "closed" | "open" | "half-open"; forced: boolean; waitMs: number | null } | null;
  /** Retries the budget still allows now, and the share of attempts that were repeats, 0..1. */
  budget: { left: number; retryRatio: number };
  bulkhead: { inUse: number; queued: number; permits: number };
  latency: { p50Ms: number | null; p95Ms: number | null; p99Ms: number | null; samples: number };
  counters: Record<string, number>;
  asOf: string;
};

/** GET /api/v1/targets, PATCH /api/v1/targets/{name} { ratePerSecond?, burst?, bulkhead?, policyName?, retryable?, breaker?, reason } */
export type TargetOut = {
  id: string;
  name: string;
  source: string;
  lane: "main" | "slow";
  address: string | null;
  ratePerSecond: number | null;
  burst: number | null;
  bulkhead: number;
  policyName: string;
  retryable: boolean;
  breakerForce: "open" | "closed" | null;
  engine: TargetEngine[];
  sentPerSecondNow: number | null;
};
export type TargetList = { items: TargetOut[]; nextCursor: string | null };
