import type { Log } from "@/lib/platform/log";
import { DomainError } from "@/lib/platform/plain/problem.pure";

/** Removed rows never report that their faults have ended. */
const FAULTS_MAX = 1_000;

/** Faults that were logged and have not ended, so that a round which runs every second logs each of them once. */
const faults = new WeakMap<Log, Set<string>>();

/**
 * Works each redrive (or other row with an id) alone: one whose work the store refuses holds none of the others up, and
 * each fault is logged. Rejects at once when the store is away: then none of the others can be worked either.
 */
export async function eachAlone<T extends { id: string }>(
  log: Log,
  rows: readonly T[],
  what: string,
  work: (row: T) => Promise<void>,
): Promise<void> {
  const known = faults.get(log) ?? new Set();
  faults.set(log, known);
  for (const row of rows) {
    const fault = `${what} ${row.id}`;
    try {
      await work(row);
      known.delete(fault);
    } catch (error) {
      if (error instanceof DomainError && error.code === "store-unavailable") throw error;
      if (!known.has(fault)) log.error({ id: row.id, err: error }, `${what} failed, it is tried again`);
      known.add(fault);
      if (known.size > FAULTS_MAX) known.delete(known.keys().next().value!);
    }
  }
}
