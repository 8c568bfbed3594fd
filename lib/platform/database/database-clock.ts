import type { Clock } from "@/lib/platform/clock";
import type { Queryable } from "@/lib/platform/database/db";

/** Maximum age of the measured difference between the two clocks. */
const SYNC_MS = 5_000;
/** A slower answer does not say exactly enough when the database read its clock. */
const ROUND_TRIP_MS_MAX = 1_000;

export type DatabaseClock = Clock & {
  /**
   * Measures the difference to the database's clock. Rejects when the store cannot be reached; the last difference
   * stays in use.
   */
  sync(): Promise<void>;
  /** Resolves when the difference was measured once; after a second at the latest, also while the store is away. */
  measured(): Promise<void>;
};

/**
 * A clock whose wall clock is the database's. Times that one process writes and another compares (cooldowns, audit
 * entries, ids, expiries) then come from one clock, even when the clocks of the machines differ. Delays stay monotonic.
 *
 * The difference is measured in the background when it is older than five seconds; until the first answer the machine's
 * own clock is used.
 */
export function databaseClock(machine: Clock, db: Pick<Queryable, "query">): DatabaseClock {
  let aheadMs = 0;
  let syncedAtMs = Number.NEGATIVE_INFINITY;
  let known = false;
  let first: Promise<void> | null = null;
  let lastMs = Number.NEGATIVE_INFINITY;

  async function sync(): Promise<void> {
    const startedMs = machine.nowMs();
    syncedAtMs = startedMs;
    const [row] = await db.query<{ ms: number }>(
      "select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms",
      [],
      { name: "database-clock" },
    );
    const roundTripMs = machine.nowMs() - startedMs;
    if (roundTripMs > ROUND_TRIP_MS_MAX) return;
    aheadMs = row!.ms + roundTripMs / 2 - machine.wallMs();
    known = true;
  }

  async function measure(): Promise<void> {
    const measured = new AbortController();
    await Promise.race([sync(), machine.sleep(ROUND_TRIP_MS_MAX, measured.signal)]).catch(() => undefined);
    measured.abort();
    first = null;
  }

  return {
    ...machine,
    wallMs: () => {
      // While the store cannot be reached the last difference stays in use, and it is measured again after five
      // seconds.
      if (machine.nowMs() - syncedAtMs > SYNC_MS) sync().catch(() => undefined);
      const wallMs = Math.round(machine.wallMs() + aheadMs);
      // A measurement is off by less than this: it stops the clock, and does not set it back behind what was written a moment ago.
      if (wallMs < lastMs && lastMs - wallMs <= ROUND_TRIP_MS_MAX) return lastMs;
      lastMs = wallMs;
      return wallMs;
    },
    sync,
    measured: async () => {
      if (known) return;
      first ??= measure();
      await first;
    },
  };
}
