import { describe } from "vitest";
import { memoryIdempotencyStore } from "@/lib/retry/idempotency/memory-store";
import { manualClock } from "@/lib/testing/manual-clock";
import { idempotencyConformance } from "./idempotency.conformance";

/** Keys it holds at most: as many others push a key out. */
const ENTRIES_MAX = 50;

/** The store of lib/retry keeps the same contract as those that are shared. */
describe("idempotency store in memory", () => {
  idempotencyConformance(async () => {
    const clock = manualClock();
    const store = memoryIdempotencyStore<unknown>(clock, ENTRIES_MAX);
    return {
      connect: async () => ({ store, close: async () => undefined }),
      age: (_key, ms) => clock.advance(ms),
      wipe: async () => {
        const times = { windowMs: 1_000, leaseMs: 1_000 };
        for (let other = 0; other < ENTRIES_MAX; other++) await store.claim(`other ${other}`, times);
      },
      nowMs: async () => clock.nowMs(),
      slackMs: 0,
      close: async () => undefined,
    };
  });
});
