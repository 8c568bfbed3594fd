import type { Clock } from "@/lib/platform/clock";

/** Why a running slice must stop. `lock-lost`: another worker may run it already. `stopping`: this worker stops. */
type AbortCause = "lock-lost" | "stopping";

/** Reason of a slice's AbortSignal. */
export class SliceAborted extends Error {
  readonly why: AbortCause;

  constructor(why: AbortCause) {
    super(why === "lock-lost" ? "the lock of the slice was lost" : "the worker stops");
    this.name = "SliceAborted";
    this.why = why;
  }
}

/** One slice while it runs here. */
export type SliceHold = { signal: AbortSignal; aborted(): AbortCause | null; end(): void };

export type SliceHolds = {
  begin(jobId: string): SliceHold;
  /** The server extended these locks. */
  renewed(jobIds: string[]): void;
  /** The server says that these locks have expired, or that another worker holds them. */
  lost(jobIds: string[]): void;
  /** From now on a slice that begins is aborted at once: it was fetched before the stop and starts after it. */
  refuse(): void;
  stopAll(): void;
  count(): number;
  /** Resolves when nothing is held. */
  idle(): Promise<void>;
};

type Held = { abort: AbortController; cancelExpiry: () => void };

/**
 * The slices that run in this process and their locks. A lock lasts `lockMs` on the server; when no renewal was
 * confirmed for that long (the server is unreachable or silent), it may have expired and another worker may have
 * started the slice, so the run here is aborted although no answer of the server says so.
 */
export function createSliceHolds(clock: Clock, lockMs: number): SliceHolds {
  /** The run that holds each job's lock, by the last answer of the server. */
  const held = new Map<string, Held>();
  /** The runs that have not ended, aborted ones too. */
  const running = new Set<Held>();
  let whenIdle: (() => void)[] = [];
  let refusing = false;

  const abort = (jobId: string, cause: AbortCause) => held.get(jobId)?.abort.abort(new SliceAborted(cause));
  const armExpiry = (jobId: string) => clock.timer(lockMs, () => abort(jobId, "lock-lost"));

  return {
    begin: (jobId) => {
      // The queue has given the same job again: the earlier run has lost its lock.
      abort(jobId, "lock-lost");
      held.get(jobId)?.cancelExpiry();
      const mine: Held = { abort: new AbortController(), cancelExpiry: armExpiry(jobId) };
      held.set(jobId, mine);
      running.add(mine);
      if (refusing) abort(jobId, "stopping");
      return {
        signal: mine.abort.signal,
        aborted: () => (mine.abort.signal.reason as SliceAborted | undefined)?.why ?? null,
        end: () => {
          mine.cancelExpiry();
          if (held.get(jobId) === mine) held.delete(jobId);
          running.delete(mine);
          if (running.size > 0) return;
          for (const resolve of whenIdle) resolve();
          whenIdle = [];
        },
      };
    },
    renewed: (jobIds) => {
      for (const jobId of jobIds) {
        const mine = held.get(jobId);
        if (!mine) continue;
        mine.cancelExpiry();
        mine.cancelExpiry = armExpiry(jobId);
      }
    },
    lost: (jobIds) => {
      for (const jobId of jobIds) abort(jobId, "lock-lost");
    },
    refuse: () => {
      refusing = true;
    },
    stopAll: () => {
      for (const jobId of held.keys()) abort(jobId, "stopping");
    },
    count: () => running.size,
    idle: () => (running.size === 0 ? Promise.resolve() : new Promise((resolve) => whenIdle.push(resolve))),
  };
}
