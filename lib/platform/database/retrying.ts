import type { Clock } from "@/lib/platform/clock";
import type { Db, TransactionOptions, Tx } from "@/lib/platform/database/db";
import { DomainError } from "@/lib/platform/plain/problem.pure";

/** More collisions in a row than this have another cause. */
const TRIES_MAX = 5;
/** True for an error that a repeat of the transaction may avoid: a collision, or a store that is away or too slow. */
export function isPassing(error: unknown): boolean {
  return error instanceof DomainError && ["store-unavailable", "read-timeout", "events-busy"].includes(error.code);
}

function isCollision(error: unknown): boolean {
  return error instanceof DomainError && error.code === "events-busy";
}

/** True when the server ended a statement that took too long. */
export function isReadTimeout(error: unknown): boolean {
  return error instanceof DomainError && error.code === "read-timeout";
}

export type Patience = {
  clock: Clock;
  /** How long after the first try it waits for a lost store, and the pause between two tries. */
  forMs: number;
  everyMs: number;
  /** When aborted, the next error is passed on. */
  signal?: AbortSignal;
  onRetry?: (error: unknown) => void;
};

/**
 * Runs a transaction again when the server aborted it because of another one: a deadlock, or a serialization failure.
 * `pause` waits before the repeat, see `Db.pause`. `repair` may fix another fault; it returns true when the transaction
 * can run again.
 *
 * With `patience` it also waits for a store that is away or too slow. Only for work that may run twice: when the
 * connection is lost during the commit, the first run may have been committed.
 */
export async function retrying<T>(
  work: () => Promise<T>,
  options: {
    repair?: (error: unknown) => Promise<boolean>;
    patience?: Patience;
    pause?: (tries: number) => Promise<void>;
  } = {},
): Promise<T> {
  const { repair, patience, pause } = options;
  const untilMs = patience ? patience.clock.nowMs() + patience.forMs : 0;
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (tries < TRIES_MAX && isCollision(error)) {
        await pause?.(tries);
        continue;
      }
      if (tries < TRIES_MAX && (await repair?.(error))) continue;
      if (!patience || !isPassing(error) || patience.signal?.aborted || patience.clock.nowMs() > untilMs) throw error;
      patience.onRetry?.(error);
      tries = 0;
    }
    await patience.clock.sleep(patience.everyMs);
  }
}

/**
 * Retries the transaction after a short random pause when the server aborted it because of another one. For every
 * change of rows that others change too, in any order, so that nobody gets an error because of a conflict. `work` may
 * run several times, so it must change nothing outside the store.
 */
export function inTransaction<T>(
  db: Pick<Db, "transaction" | "pause">,
  work: (tx: Tx) => Promise<T>,
  options?: TransactionOptions,
): Promise<T> {
  return retrying(() => db.transaction(work, options), { pause: db.pause });
}
