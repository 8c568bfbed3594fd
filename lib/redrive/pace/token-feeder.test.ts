import { describe, expect, test } from "vitest";
import { upToAnswer } from "@/lib/lane/bucket-spec";
import type { BucketSpec, TokenBucket } from "@/lib/lane/port";
import { createTokenFeeder } from "@/lib/redrive/pace/token-feeder";
import { manualClock } from "@/lib/testing/manual-clock";

/** The bucket's maths on the test's clock: no round trip, so that only the feeder is under test. */
function scriptedBucket(clock: { nowMs(): number }) {
  let tokens = 0;
  let atMs = clock.nowMs();
  const asked: number[] = [];
  let down: Error | null = null;
  /** What the bucket does between the question and the answer. */
  let meanwhile: () => void = () => {};
  const takeUpTo: TokenBucket["takeUpTo"] = async (spec, cost) => {
    asked.push(cost);
    if (down) throw down;
    tokens = Math.min(spec.burst, tokens + ((clock.nowMs() - atMs) * spec.ratePerSecond) / 1000);
    atMs = clock.nowMs();
    const granted = spec.ratePerSecond === 0 ? 0 : Math.min(cost, Math.floor(tokens + (spec.lent ?? 0) + 1e-9));
    tokens -= granted;
    meanwhile();
    return upToAnswer(spec, granted, tokens);
  };
  const bucket: TokenBucket = {
    takeUpTo,
    take: () => Promise.reject(new Error("the feeder takes in batches")),
    level: async () => tokens,
  };
  return {
    bucket,
    asked,
    fill: (count: number) => {
      tokens = count;
    },
    breakWith: (error: Error | null) => {
      down = error;
    },
    onAsk: (action: () => void) => {
      meanwhile = action;
    },
  };
}

function setUp(initial: BucketSpec | null = { key: "target", ratePerSecond: 40, burst: 8 }) {
  const clock = manualClock();
  const scripted = scriptedBucket(clock);
  let spec = initial;
  const errors: unknown[] = [];
  const feeder = createTokenFeeder({
    bucket: scripted.bucket,
    spec: () => spec,
    clock,
    onError: (error) => errors.push(error),
  });
  const passed: { name: string; atMs: number }[] = [];
  const refused: { name: string; reason: unknown }[] = [];
  const startMs = clock.nowMs();
  const ask = (name: string, signal: AbortSignal = new AbortController().signal) => {
    feeder.take(signal).then(
      () => passed.push({ name, atMs: clock.nowMs() - startMs }),
      (reason) => refused.push({ name, reason }),
    );
  };
  return {
    clock,
    feeder,
    scripted,
    errors,
    passed,
    refused,
    ask,
    askMany: (count: number) => {
      for (let i = 0; i < count; i++) ask(`w${i}`);
    },
    setSpec: (next: BucketSpec | null) => {
      spec = next;
    },
  };
}

describe("the token feeder", () => {
  test("spaces the sends evenly, in order of arrival", async () => {
    const t = setUp();
    t.askMany(6);
    await t.clock.advance(150);
    expect(t.passed).toEqual([25, 50, 75, 100, 125, 150].map((atMs, i) => ({ name: `w${i}`, atMs })));
    expect(t.clock.pending()).toBe(0);
  });

  test("sends what was lent each at its own time, without a gust after a rest, and keeps the rate", async () => {
    const t = setUp({ key: "target", ratePerSecond: 100, burst: 1, lent: 5 });
    t.scripted.fill(1);
    t.askMany(12);
    await t.clock.advance(110);
    expect(t.passed.map(({ atMs }) => atMs)).toEqual([0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110]);
    expect(t.scripted.asked).toEqual([12, 6, 1]);
    await t.clock.advance(5_000);
    t.askMany(3);
    await t.clock.advance(20);
    expect(t.passed.slice(12).map(({ atMs }) => atMs)).toEqual([5_110, 5_120, 5_130]);
  });

  test("gives up what was lent when the rate changes before it is due", async () => {
    const t = setUp({ key: "target", ratePerSecond: 0.5, burst: 1, lent: 1 });
    t.ask("one");
    await t.clock.advance(400);
    t.setSpec({ key: "target", ratePerSecond: 10, burst: 1, lent: 1 });
    await t.clock.advance(400);
    expect(t.passed.map(({ name }) => name)).toEqual(["one"]);
  });

  test("serves many waiters with one round trip, and never asks for more tokens than there are waiters", async () => {
    const t = setUp();
    t.scripted.fill(8);
    t.askMany(5);
    await t.clock.advance(0);
    expect(t.passed.map((one) => one.atMs)).toEqual([0, 0, 0, 0, 0]);
    expect(t.scripted.asked).toEqual([5]);
  });

  test("keeps the rate when it is far above one token per round trip", async () => {
    const t = setUp({ key: "target", ratePerSecond: 4_000, burst: 40 });
    t.askMany(1_000);
    await t.clock.advance(250);
    expect(t.passed).toHaveLength(1_000);
    expect(t.scripted.asked.length).toBeLessThan(60);
  });

  test("loses no rate to a bucket that overflows while it collects", async () => {
    const t = setUp({ key: "target", ratePerSecond: 1_000, burst: 2 });
    t.askMany(600);
    await t.clock.advance(500);
    expect(t.passed.length).toBeGreaterThanOrEqual(499);
  });

  test("lets an aborted waiter go at once, with the reason of its signal", async () => {
    const t = setUp();
    const abort = new AbortController();
    t.ask("leaver", abort.signal);
    t.ask("stayer");
    await t.clock.advance(10);
    abort.abort("cancelled");
    await t.clock.advance(0);
    expect(t.refused).toEqual([{ name: "leaver", reason: "cancelled" }]);
    await t.clock.advance(15);
    expect(t.passed).toEqual([{ name: "stayer", atMs: 25 }]);
  });

  test("refuses a signal that is aborted already, without a round trip", async () => {
    const t = setUp();
    t.ask("late", AbortSignal.abort("too late"));
    await t.clock.advance(0);
    expect(t.refused).toEqual([{ name: "late", reason: "too late" }]);
    expect(t.scripted.asked).toEqual([]);
  });

  test("hands the token of a waiter that left during the round trip to the next one", async () => {
    const t = setUp();
    const abort = new AbortController();
    t.scripted.fill(1);
    t.ask("leaver", abort.signal);
    t.scripted.onAsk(() => {
      abort.abort("cancelled");
      t.ask("next");
      t.scripted.onAsk(() => {});
    });
    await t.clock.advance(0);
    expect(t.refused.map((one) => one.name)).toEqual(["leaver"]);
    expect(t.passed).toEqual([{ name: "next", atMs: 0 }]);
    expect(t.scripted.asked).toEqual([1]);
  });

  test("gives a token up when nobody is left, and hoards none for later", async () => {
    const t = setUp();
    const abort = new AbortController();
    t.scripted.fill(1);
    t.ask("leaver", abort.signal);
    t.scripted.onAsk(() => {
      abort.abort("cancelled");
      t.scripted.onAsk(() => {});
    });
    await t.clock.advance(0);
    t.ask("next");
    await t.clock.advance(24);
    expect(t.passed).toEqual([]);
    await t.clock.advance(1);
    expect(t.passed.map((one) => one.name)).toEqual(["next"]);
  });

  test("leaves no timer behind when the last waiter leaves", async () => {
    const t = setUp({ key: "target", ratePerSecond: 0.01, burst: 1 });
    const abort = new AbortController();
    t.ask("only", abort.signal);
    await t.clock.advance(5);
    expect(t.clock.pending()).toBe(1);
    abort.abort("stop");
    await t.clock.advance(0);
    expect(t.clock.pending()).toBe(0);
    expect(t.feeder.waiting()).toBe(0);
  });

  test("passes at once when the rate is unlimited, without a round trip", async () => {
    const t = setUp(null);
    t.askMany(3);
    await t.clock.advance(0);
    expect(t.passed).toHaveLength(3);
    expect(t.scripted.asked).toEqual([]);
  });

  test("notices a raised rate in the middle of a long wait", async () => {
    const t = setUp({ key: "target", ratePerSecond: 0.01, burst: 4 });
    t.askMany(1);
    await t.clock.advance(1_000);
    t.setSpec({ key: "target", ratePerSecond: 100, burst: 4 });
    await t.clock.advance(230);
    expect(t.passed).toHaveLength(1);
  });

  test("notices that the limit was lifted in the middle of a long wait", async () => {
    const t = setUp({ key: "target", ratePerSecond: 0, burst: 4 });
    t.askMany(3);
    await t.clock.advance(60_000);
    expect(t.passed).toEqual([]);
    t.setSpec(null);
    await t.clock.advance(200);
    expect(t.passed).toHaveLength(3);
  });

  test("a lowered rate holds from the next token on", async () => {
    const t = setUp({ key: "target", ratePerSecond: 40, burst: 8 });
    t.askMany(10);
    await t.clock.advance(50);
    t.setSpec({ key: "target", ratePerSecond: 4, burst: 8 });
    await t.clock.advance(500);
    expect(t.passed.length).toBeLessThanOrEqual(4);
    expect(t.passed.length).toBeGreaterThanOrEqual(3);
  });

  test("keeps everyone waiting while the bucket is away, says so once, and goes on by itself", async () => {
    const t = setUp();
    const away = new Error("connection refused");
    t.scripted.breakWith(away);
    t.askMany(3);
    await t.clock.advance(10_000);
    expect(t.passed).toEqual([]);
    expect(t.errors).toEqual([away]);
    expect(t.scripted.asked.length).toBeLessThan(15);
    t.scripted.breakWith(null);
    await t.clock.advance(3_000);
    expect(t.passed).toHaveLength(3);
  });

  test("refuses everyone when the bucket can never serve them", async () => {
    const t = setUp();
    t.scripted.breakWith(new RangeError("burst must be 1 or more"));
    t.askMany(2);
    await t.clock.advance(0);
    expect(t.refused.map((one) => one.reason)).toEqual([expect.any(RangeError), expect.any(RangeError)]);
    expect(t.clock.pending()).toBe(0);
  });
});
