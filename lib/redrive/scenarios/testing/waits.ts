import type { Policy } from "@/lib/retry/policy";
import { UNGUARDED, type World, worldOfEachTest } from "@/lib/testing/redrive-world";
import type { Answer } from "@/lib/testing/sink";

/** A world for each test, whose engine waits long between its sends. */
export function waitingWorld() {
  const world: World = worldOfEachTest();
  return {
    world,
    policy: (change: Partial<Policy> = {}) =>
      world.policy({
        ...UNGUARDED,
        maxAttempts: 4,
        attemptTimeoutMs: 15_000,
        deadlineMs: 200_000,
        backoff: { kind: "fixed", delayMs: 40_000, jitter: { kind: "none" } },
        ...change,
      }),
    busy: (afterS: number): Answer => ({ status: 503, headers: { "retry-after": String(afterS) } }),
    /** Attempts that have ended. */
    closed: async () => (await world.db.query("select 1 from sends where closed_at is not null")).length,
    /** Milliseconds from the first to the second arrival of the only event. */
    gapMs: () => world.sink.arrived[1]!.atMs - world.sink.arrived[0]!.atMs,
  };
}
