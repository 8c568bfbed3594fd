import type { Clock } from "@/lib/platform/clock";
import type { Queryable } from "@/lib/store/db";

/** How old the difference between the two clocks may be when the wall clock is read. */
const SYNC_MS = 5_000;
/** An answer that took longer says too little about when the database read its clock. */
const ROUND_TRIP_MS_MAX = 1_000;

export type DatabaseClock = Clock & {
  /** Reads the difference to the database's clock. Rejects when the store cannot be reached; the old one holds on. */
  sync(): Promise<void>;
};

/**
 * A clock whose wall clock is the database's. Times that one process writes and another compares (cooldowns, audit
 * entries, ids, expiries) then come from one clock, whatever the machines show. Delays stay monotonic.
 *
 * The difference is read in the background when it is older than five seconds; until the first answer the machine's own
 * clock is used.
 */
export function databaseClock(machine: Clock, db: Queryable): DatabaseClock {
  let aheadMs = 0;
  let syncedAtMs = Number.NEGATIVE_INFINITY;

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
  }

  return {
    ...machine,
    wallMs: () => {
      // Best effort: while the store is away the last difference holds on, and it is read again after five seconds.
      if (machine.nowMs() - syncedAtMs > SYNC_MS) sync().catch(() => undefined);
      return Math.round(machine.wallMs() + aheadMs);
    },
    sync,
  };
}
