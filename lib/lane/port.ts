import type { LaneJob } from "@/lib/lane/jobs.shapes";

export type LaneName = "main" | "slow";

/** One queue per lane, and one for jobs that walk a large set, so that redrives waiting for their rate do not delay those. */
export const QUEUES = ["main", "slow", "sets"] as const;
export type QueueName = (typeof QUEUES)[number];

export type JobState = "delayed" | "waiting" | "active";

/** Producer side, for the web process. */
export interface LaneQueue {
  readonly backend: "redis" | "postgres";
  /**
   * Enqueues jobs. Idempotent in effect: a job that is enqueued twice may start twice, and the owner in Postgres
   * makes the second find nothing. `delayMs` holds the job back.
   */
  enqueue(queue: QueueName, jobs: readonly LaneJob[], options?: { delayMs?: number }): Promise<void>;
  /**
   * Jobs in these states, by default in any; null when the queue cannot answer. Only `waiting` ones can begin now on any
   * worker: an active one may belong to a lost worker, and a delayed one may wait by the clock of a lost worker.
   */
  jobs(queue: QueueName, states?: readonly JobState[]): Promise<LaneJob[] | null>;
  /** Rejects when the queue cannot be reached, or refuses to write. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** How the run of a job ended. `again` puts the same job back after `delayMs`. */
export type JobOutcome = { kind: "done" } | { kind: "again"; delayMs: number };

/** Runs one job. Aborted when the job's lock is lost or the worker shuts down; must then stop and hand back. */
export type RunJob = (job: LaneJob, signal: AbortSignal) => Promise<JobOutcome>;

/** Consumer side, for the worker process. */
export interface LaneWorker {
  /** Stops taking jobs, aborts running jobs after `graceMs`, resolves when nothing runs. */
  stop(graceMs: number): Promise<void>;
  running(): number;
}

/** Bucket of one target: refills `ratePerSecond`, holds at most `burst` tokens. Both may change with every take. */
export type BucketSpec = {
  key: string;
  ratePerSecond: number;
  burst: number;
  /**
   * Tokens that `takeUpTo` may lend: each is granted before it is there, and is due when it would have come. With a burst of
   * 1 that is a leaky bucket: its queue leaves at an even rate, and asking ahead loses nothing of it. Absent = 0.
   */
  lent?: number;
};

/** Shared by all workers, on the server's clock. Invariant: tokens issued in any window of t seconds <= ratePerSecond * t + burst. */
export interface TokenBucket {
  /**
   * Takes `cost` tokens or none. `{ granted: true }`, or how many milliseconds until they could be there.
   * A rate of 0 never grants and answers waitMs = Infinity. `cost` above `burst` rejects with RangeError.
   */
  take(spec: BucketSpec, cost: number): Promise<{ granted: true } | { granted: false; waitMs: number }>;
  /**
   * Takes up to `cost` tokens, whatever is there: `granted` is 0..cost, waitMs until one more. One round trip feeds
   * many attempts. Of lent tokens the first is due after `dueMs`, each other one 1 / ratePerSecond after the one before.
   */
  takeUpTo(spec: BucketSpec, cost: number): Promise<{ granted: number; waitMs: number; dueMs: number }>;
  /** Tokens now in the bucket, for display. null = unknown. */
  level(spec: BucketSpec): Promise<number | null>;
}
