import { describe, expect, test } from "vitest";
import { manualClock } from "@/lib/testing/manual-clock";
import { createSliceHolds } from "./slice-holds";

const LOCK_MS = 700;

describe("held slices", () => {
  test("abort when no renewal was heard of for as long as the lock lasts", async () => {
    const clock = manualClock();
    const hold = createSliceHolds(clock, LOCK_MS).begin("a");
    await clock.advance(LOCK_MS - 1);
    expect(hold.aborted()).toBeNull();
    await clock.advance(1);
    expect(hold.aborted()).toBe("lock-lost");
    expect(hold.signal.aborted).toBe(true);
  });

  test("run on as long as renewals come, each of its own job only", async () => {
    const clock = manualClock();
    const holds = createSliceHolds(clock, LOCK_MS);
    const [a, b] = [holds.begin("a"), holds.begin("b")];
    for (let i = 0; i < 10; i++) {
      await clock.advance(LOCK_MS - 1);
      holds.renewed(["a"]);
    }
    expect(a.aborted()).toBeNull();
    expect(b.aborted()).toBe("lock-lost");
  });

  test("the server's word that a lock is gone aborts that slice alone", () => {
    const holds = createSliceHolds(manualClock(), LOCK_MS);
    const [a, b] = [holds.begin("a"), holds.begin("b")];
    holds.lost(["b", "unknown"]);
    expect([a.aborted(), b.aborted()]).toEqual([null, "lock-lost"]);
  });

  test("the first cause stands: a lost lock is not handed back", () => {
    const holds = createSliceHolds(manualClock(), LOCK_MS);
    const hold = holds.begin("a");
    holds.lost(["a"]);
    holds.stopAll();
    expect(hold.aborted()).toBe("lock-lost");
  });

  test("the same job given out again aborts the earlier run, which still counts until it ends", async () => {
    const clock = manualClock();
    const holds = createSliceHolds(clock, LOCK_MS);
    const earlier = holds.begin("a");
    const later = holds.begin("a");
    expect([earlier.aborted(), later.aborted()]).toEqual(["lock-lost", null]);
    expect(holds.count()).toBe(2);
    earlier.end();
    expect(holds.count()).toBe(1);
    holds.lost(["a"]);
    expect(later.aborted()).toBe("lock-lost");
  });

  test("after a stop was asked for, what runs goes on and what begins is aborted", () => {
    const holds = createSliceHolds(manualClock(), LOCK_MS);
    const before = holds.begin("a");
    holds.refuse();
    const after = holds.begin("b");
    expect([before.aborted(), after.aborted()]).toEqual([null, "stopping"]);
    holds.stopAll();
    expect(before.aborted()).toBe("stopping");
  });

  test("idle waits for the last one, and no timer is left", async () => {
    const clock = manualClock();
    const holds = createSliceHolds(clock, LOCK_MS);
    const [a, b] = [holds.begin("a"), holds.begin("b")];
    let idle = false;
    const whenIdle = holds.idle().then(() => {
      idle = true;
    });
    a.end();
    await clock.advance(0);
    expect(idle).toBe(false);
    b.end();
    await whenIdle;
    expect(clock.pending()).toBe(0);
  });
});
