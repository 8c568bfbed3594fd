import * as z from "zod/mini";
import { reasonSchema } from "@/lib/contract/selection";

/** A name stands in URLs, target names and Idempotency-Keys, and never changes. */
const name = z.string("must be text").check(
  z.regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, "must be 1 to 100 letters, digits, dots, underscores or hyphens"),
  // `<name>.slow` is the name of the slow lane's target, `probe` a path of its own.
  z.refine((text) => !text.endsWith(".slow") && text !== "probe", "is reserved: choose another"),
);
const object = z.record(z.string(), z.unknown(), "must be an object");

/** POST /api/v1/sources. `config` is checked by kind, see `source-config.ts`. */
export const sourceRequestSchema = z.strictObject({
  name,
  kind: z.string("must be text"),
  config: z._default(object, {}),
  /** JSON Schema (2020-12) that payloads must match to be redriven; null = they only have to parse. */
  payloadSchema: z.nullish(object),
  enabled: z._default(z.boolean("must be true or false"), true),
});
export type SourceRequest = z.infer<typeof sourceRequestSchema>;

/** PATCH /api/v1/sources/{name}: absent = unchanged. Masked values sent back as they were shown stay as stored. */
export const sourceChangeSchema = z.strictObject({
  config: z.optional(object),
  payloadSchema: z.optional(z.nullable(object)),
  enabled: z.optional(z.boolean("must be true or false")),
  reason: z.optional(reasonSchema),
});
export type SourceChange = z.infer<typeof sourceChangeSchema>;

/** POST /api/v1/sources/probe */
export const probeRequestSchema = z.strictObject({ kind: z.string("must be text"), config: z._default(object, {}) });
export type ProbeRequest = z.infer<typeof probeRequestSchema>;

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
  /**
   * `waitMs` until the next probe may pass; null when it is not open, or held open by an operator. `openRatio`: share of
   * its life it was open, 0..1. null = no breaker.
   */
  breaker: {
    state: "closed" | "open" | "half-open";
    forced: boolean;
    waitMs: number | null;
    openRatio?: number;
  } | null;
  /** Retries the budget still allows now, and the share of attempts that were repeats, 0..1. */
  budget: { left: number; retryRatio: number };
  bulkhead: { inUse: number; queued: number; permits: number };
  latency: { p50Ms: number | null; p95Ms: number | null; p99Ms: number | null; samples: number };
  counters: Record<string, number>;
  /** Steps that self-healing has taken, and what they multiply; null = the policy has none. */
  healing?: { steps: number; backoffFactor: number; rateFactor: number } | null;
  /** The policy in use for the latest redrive. */
  policy?: { name: string; version: number };
  /** How its rate tokens are served: by the bucket all workers share, at this worker's share, or not at all. */
  bucket?: BucketState;
  asOf: string;
};

export type BucketState = "shared" | "local" | "unreachable";

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
