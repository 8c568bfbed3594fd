import { describe, expect, test } from "vitest";
import { createTokenFeeder } from "@/lib/redrive/pace/token-feeder";
import { manualClock } from "@/lib/testing/manual-clock";
import { type BucketChange, type BucketFallback, guardBucket } from "./bucket-fallback";
import { upToAnswer, waitMsUntil } from "./bucket-spec";
import type { BucketSpec, TokenBucket } from "./port";

const SPEC: BucketSpec = { key: "target", ratePerSecond: 40, burst: 8 };

/** The shared bucket's maths on the test's clock, with a switch: up, down (rejects), or silent (never answers). */
function sharedBucket(clock: { nowMs(): number }) {
  let tokens = 0;
  let atMs = clock.nowMs();
  let weather: "up" | "down" | "silent" = "up";
  const asked: number[] = [];
  const refill = ({ ratePerSecond, burst }: BucketSpec) => {
    tokens = Math.min(burst, tokens + ((clock.nowMs() - atMs) * ratePerSecond) / 1000);
    atMs = clock.nowMs();
  };
  const answers = async () => {
    if (weather === "down") throw new Error("connection refused");
    if (weather === "silent") await new Promise(() => {});
  };
  const bucket: TokenBucket = {
    takeUpTo: async (spec, cost) => {
      asked.push(cost);
      await answers();
      refill(spec);
      const granted = Math.min(cost, Math.floor(tokens + (spec.lent ?? 0) + 1e-9));
      tokens -= granted;
      return upToAnswer(spec, granted, tokens);
    },
    take: async (spec, cost) => {
      await answers();
      refill(spec);
      if (tokens < cost) return { granted: false, waitMs: waitMsUntil(cost, tokens, spec.ratePerSecond) };
      tokens -= cost;
      return { granted: true };
    },
    level: async (spec) => {
      if (weather !== "up") return null;
      refill(spec);
      return tokens;
    },
  };
  return {
    bucket,
    asked,
    turn: (to: typeof weather) => {
      weather = to;
    },
    fill: (count: number) => {
      tokens = count;
      atMs = clock.nowMs();
    },
    tokens: () => tokens,
  };
}

function setUp(fallback: BucketFallback, workers = 1) {
  const clock = manualClock();
  const shared = sharedBucket(clock);
  const changes: BucketChange[] = [];
  let alive = workers;
  const bucket = guardBucket(shared.bucket, {
    fallback,
    workers: () => alive,
    clock,
    onChange: (change) => changes.push(change),
  });
  return {
    clock,
    shared,
    bucket,
    changes,
    setWorkers: (count: number) => {
      alive = count;
    },
    /** Asks every 10 ms for `forMs`, as a feeder with many waiters does; answers how many tokens came. */
    async drain(forMs: number, spec = SPEC): Promise<number> {
      let total = 0;
      for (let passed = 0; passed < forMs; passed += 10) {
        await clock.advance(10);
        total += (await bucket.takeUpTo(spec, 100)).granted;
      }
      return total;
    },
  };
}

describe("a shared bucket that answers", () => {
  test.each<BucketFallback>(["closed", "local"])("serves alone, whatever the choice (%s)", async (fallback) => {
    const t = setUp(fallback);
    t.shared.fill(5);
    expect(await t.bucket.takeUpTo(SPEC, 9)).toMatchObject({ granted: 5 });
    expect(await t.bucket.take(SPEC, 1)).toEqual({ granted: false, waitMs: 25 });
    expect(t.bucket.state("target")).toBe("shared");
    expect(t.changes).toEqual([]);
    expect(t.clock.pending()).toBe(0);
    await expect(t.bucket.take(SPEC, 9)).rejects.toThrow(RangeError);
    await expect(t.bucket.takeUpTo({ ...SPEC, burst: 0 }, 1)).rejects.toThrow(RangeError);
  });
});

describe("closed", () => {
  test("sends nothing while the bucket is away, says so once, and goes on when it is back", async () => {
    const t = setUp("closed");
    t.shared.turn("down");
    for (let i = 0; i < 3; i++) await expect(t.bucket.takeUpTo(SPEC, 1)).rejects.toThrow("connection refused");
    await expect(t.bucket.take(SPEC, 1)).rejects.toThrow("connection refused");
    expect(t.bucket.state("target")).toBe("unreachable");
    expect(t.bucket.worst()).toBe("unreachable");
    expect(t.changes).toEqual([
      { key: "target", state: "unreachable", ratePerSecond: null, error: expect.objectContaining({}) },
    ]);
    t.shared.turn("up");
    t.shared.fill(1);
    expect(await t.bucket.takeUpTo(SPEC, 1)).toMatchObject({ granted: 1 });
    expect(t.bucket.state("target")).toBe("shared");
    expect(t.changes.at(-1)).toEqual({ key: "target", state: "shared", ratePerSecond: null, error: null });
  });
});

describe("local", () => {
  test("goes on at this worker's share of the rate", async () => {
    const t = setUp("local", 4);
    t.shared.turn("down");
    const granted = await t.drain(2_000);
    // 40/s among four workers is 10/s: two seconds are 20, less what the empty start costs.
    expect(granted).toBeGreaterThanOrEqual(19);
    expect(granted).toBeLessThanOrEqual(20);
    expect(t.bucket.state("target")).toBe("local");
    expect(t.changes).toEqual([
      { key: "target", state: "local", ratePerSecond: 10, error: expect.objectContaining({}) },
    ]);
  });

  test("starts empty: what the shared bucket has just given is not given again", async () => {
    const t = setUp("local");
    t.shared.fill(8);
    expect((await t.bucket.takeUpTo(SPEC, 8)).granted).toBe(8);
    t.shared.turn("down");
    expect(await t.bucket.takeUpTo(SPEC, 8)).toMatchObject({ granted: 0, waitMs: 25 });
  });

  test("holds no more than its share of the burst, and at least one token", async () => {
    const t = setUp("local", 4);
    t.shared.turn("down");
    await t.bucket.takeUpTo(SPEC, 1);
    await t.clock.advance(60_000);
    expect((await t.bucket.takeUpTo(SPEC, 100)).granted).toBe(2);
    t.setWorkers(100);
    await t.clock.advance(60_000);
    expect((await t.bucket.takeUpTo(SPEC, 100)).granted).toBe(1);
  });

  test("shares anew when workers come or go, and follows a changed rate", async () => {
    const t = setUp("local", 1);
    t.shared.turn("down");
    await t.drain(500);
    expect(await t.drain(1_000)).toBeCloseTo(40, -1);
    t.setWorkers(2);
    expect(await t.drain(1_000)).toBeCloseTo(20, -1);
    expect(await t.drain(1_000, { ...SPEC, ratePerSecond: 80 })).toBeCloseTo(40, -1);
    expect(await t.drain(1_000, { ...SPEC, ratePerSecond: 0 })).toBe(0);
  });

  test("does not wait for a bucket that is silent", async () => {
    const t = setUp("local");
    t.shared.turn("silent");
    const asking = t.bucket.takeUpTo(SPEC, 1);
    await t.clock.advance(1_000);
    expect(await asking).toMatchObject({ granted: 0 });
    expect(t.bucket.state("target")).toBe("local");
    await t.clock.advance(200);
    expect((await t.bucket.takeUpTo(SPEC, 1)).granted).toBe(1);
  });

  test("returns by itself, and pays first for what it sent meanwhile", async () => {
    const t = setUp("local");
    t.shared.turn("down");
    const sent = await t.drain(3_000);
    expect(sent).toBeGreaterThan(100);
    t.shared.turn("up");
    t.shared.fill(8);
    await t.drain(3_000);
    expect(t.bucket.state("target")).toBe("shared");
    expect(t.changes.map((change) => change.state)).toEqual(["local", "shared"]);
    // The look that found it back took all that was owed, up to what was there.
    expect(Math.max(...t.shared.asked)).toBeGreaterThan(100);
  });

  test("issues no more than rate x t + burst over an outage from its beginning to its end", async () => {
    const t = setUp("local");
    t.shared.fill(8);
    const startMs = t.clock.nowMs();
    let issued = (await t.bucket.takeUpTo(SPEC, 8)).granted;
    t.shared.turn("down");
    issued += await t.drain(2_000);
    t.shared.turn("up");
    issued += await t.drain(4_000);
    const seconds = (t.clock.nowMs() - startMs) / 1_000;
    expect(issued).toBeLessThanOrEqual(SPEC.ratePerSecond * seconds + SPEC.burst);
    expect(issued).toBeGreaterThan(0.9 * SPEC.ratePerSecond * seconds);
  });

  test("looks for the shared bucket seldom", async () => {
    const t = setUp("local");
    t.shared.turn("down");
    await t.drain(20_000);
    expect(t.shared.asked.length).toBeLessThan(15);
    expect(t.clock.pending()).toBe(0);
  });

  test("keys fall back one by one", async () => {
    const t = setUp("local");
    t.shared.turn("down");
    await t.bucket.takeUpTo(SPEC, 1);
    t.shared.turn("up");
    expect(t.bucket.state("other")).toBe("shared");
    await t.bucket.takeUpTo({ ...SPEC, key: "other" }, 1);
    expect([t.bucket.state("target"), t.bucket.state("other")]).toEqual(["local", "shared"]);
  });

  test("the worst of all is told for as long as somebody asks for it", async () => {
    const t = setUp("local");
    expect(t.bucket.worst()).toBe("shared");
    t.shared.turn("down");
    await t.drain(15_000);
    expect(t.bucket.worst()).toBe("local");
    await t.clock.advance(10_001);
    expect(t.bucket.worst()).toBe("shared");
    await t.bucket.takeUpTo(SPEC, 1);
    expect(t.bucket.worst()).toBe("local");
  });

  test("a take of all or nothing falls back too", async () => {
    const t = setUp("local");
    t.shared.turn("down");
    expect(await t.bucket.take(SPEC, 2)).toEqual({ granted: false, waitMs: 50 });
    await t.clock.advance(50);
    expect(await t.bucket.take(SPEC, 2)).toEqual({ granted: true });
  });
});

describe("a feeder over it", () => {
  test("goes on at the share while the bucket is away, and at the rate when it is back", async () => {
    const t = setUp("local", 2);
    const errors: unknown[] = [];
    const feeder = createTokenFeeder({
      bucket: t.bucket,
      spec: () => SPEC,
      clock: t.clock,
      onError: (error) => errors.push(error),
    });
    let passed = 0;
    const signal = new AbortController();
    for (let i = 0; i < 500; i++)
      feeder.take(signal.signal).then(
        () => passed++,
        () => undefined,
      );
    await t.clock.advance(1_000);
    expect(passed).toBeCloseTo(40, -1);
    t.shared.turn("down");
    const before = passed;
    await t.clock.advance(2_000);
    expect(passed - before).toBeGreaterThanOrEqual(35);
    expect(passed - before).toBeLessThanOrEqual(45);
    t.shared.turn("up");
    await t.clock.advance(3_000);
    const back = passed;
    await t.clock.advance(2_000);
    expect(passed - back).toBeCloseTo(80, -1);
    expect(errors).toEqual([]);
    signal.abort();
  });
});
