import type { Publisher } from "@/lib/brokers/port";
import type { TargetHealth } from "@/lib/redrive/targets/target-health";
import type { Policy } from "@/lib/retry/policy";
import type { TargetState } from "@/lib/retry/target";
import type { TargetRow } from "@/lib/sources/targets/targets.read";

/**
 * Sources whose target takes no send now because of its breaker, because it cannot be reached, or because a person has
 * stopped it.
 */
export type HeldSources = {
  sourceIds: string[];
  /** When to look again: the shortest of their waits. Infinity = only stops hold them: resuming enqueues their slices. */
  waitMs: number;
};

/** One target as this worker holds it: shared by all slices that send to it. */
export type SliceTarget = {
  readonly row: TargetRow;
  readonly publisher: Publisher;
  /** The version that the redrive has frozen: attempts, timeouts, backoff and deadline of each of its operations. */
  policy: Policy;
  policyVersion: { name: string; version: number };
  /** Shared by all redrives, and under the policy in force: breaker, budget, latency, bulkhead, healing. */
  state: TargetState;
  /** Aborts when a person stops the sends to it. */
  readonly stopped: AbortSignal;
  takeToken(signal: AbortSignal): Promise<void>;
  health(): Promise<TargetHealth>;
  /** By a probe of this moment. */
  reachedNow(): Promise<boolean>;
  /** A send has found no target: from now on it counts as away, until a probe reaches it. */
  markUnreachable(detail: string): void;
};

/** A target that cannot be sent to, and why: nothing configured on this lane, or a configuration that cannot be used. */
export type NoTarget = { fault: string };
