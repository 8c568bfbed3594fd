/** BullMQ job payload: ids only, Postgres holds everything else. */
export type SliceJob = { redriveId: string; slice: number };

export type LaneName = "main" | "slow";

/** Producer side: what the web process needs. */
export interface LaneQueue {
  readonly backend: "redis" | "postgres";
  /**
   * Enqueues slices on a lane. Idempotent in effect: ringing a slice twice may start it twice, and the claim in
   * Postgres makes the second find nothing. `delayMs` holds the slice back.
   */
  ring(lane: LaneName, jobs: SliceJob[], options?: { delayMs?: number }): Promise<void>;
  /**
   * Slices that are waiting, delayed or active; null when the queue cannot answer. `due`: only those that any worker can
   * begin now. Of the others some may belong to a worker that is lost, or wait by its clock.
   */
  waiting(lane: LaneName, options?: { due?: boolean }): Promise<SliceJob[] | null>;
  /** Rejects when the queue cannot be reached, or refuses to write. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** What a slice's run ended in. `again` puts the same slice back after `delayMs`. */
export type SliceOutcome = { kind: "done" } | { kind: "again"; delayMs: number };

/** Runs one slice. Aborted when the job's lock is lost or the worker shuts down; must then stop and hand back. */
export type RunSlice = (job: SliceJob, signal: AbortSignal) => Promise<SliceOutcome>;

/** Consumer side: what the worker process needs. */
export interface LaneWorker {
  /** Stops taking jobs, aborts running slices after `graceMs`, resolves when nothing runs. */
  stop(graceMs: number): Promise<void>;
  running(): number;
}

/** Bucket of one target: refills `ratePerSecond`, holds at most `burst` tokens. Both may change with every take. */
export type BucketSpec = { key: string; ratePerSecond: number; burst: number };

/**
 * Distributed token bucket, shared by all workers, on the server's clock. Invariant: tokens issued in any window
 * of t seconds <= ratePerSecond * t + burst.
 */
export interface TokenBucket {
  /**
   * Takes `cost` tokens or none. `{ granted: true }`, or how many milliseconds until they could be there.
   * A rate of 0 never grants and answers waitMs = Infinity. `cost` above `burst` rejects with RangeError.
   */
  take(spec: BucketSpec, cost: number): Promise<{ granted: true } | { granted: false; waitMs: number }>;
  /**
   * Takes up to `cost` tokens, whatever is there: `granted` is 0..cost, waitMs until one more. One round trip feeds
   * many attempts.
   */
  takeUpTo(spec: BucketSpec, cost: number): Promise<{ granted: number; waitMs: number }>;
  /** Tokens now in the bucket, for display. null = unknown. */
  level(spec: BucketSpec): Promise<number | null>;
}
