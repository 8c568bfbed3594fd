import { describe, expect, it } from "vitest";
import { Throttle } from "@/lib/retry/rate/throttle";
import { manualClock, settle } from "@/lib/retry/testing/manual-clock";
import { countListeners } from "@/lib/retry/testing/scripted-call";

const POLICY = { ratePerSecond: 10, capacity: 4, warmUpMs: 0 };

function setUp(policy = POLICY) {
  const clock = manualClock({ nowMs: 0 });
  const throttle = new Throttle(policy, clock);
  const served: string[] = [];
  const take = (name: string, cost = 1, signal?: AbortSignal) =>
    throttle.take(cost, signal).then(
      () => void served.push(`${name}@${Math.round(clock.nowMs())}`),
      (reason: unknown) => void served.push(`${name} ${reason}`),
    );
  return { clock, throttle, served, take };
}

describe("a throttle", () => {
  it("takes without waiting as long as there are tokens", () => {
    const { throttle } = setUp();
    expect([throttle.tryTake(3), throttle.tryTake(), throttle.tryTake()]).toEqual([true, true, false]);
    expect(throttle.snapshot()).toEqual({ tokens: 0, waiting: 0 });
  });

  it("serves waiters in order of arrival, a dear one before the cheap ones behind it", async () => {
    const { clock, throttle, served, take } = setUp();
    throttle.tryTake(4);
    void take("dear", 3);
    void take("cheap", 1);
    await settle();
    expect(throttle.snapshot()).toEqual({ tokens: 0, waiting: 2 });
    expect(throttle.tryTake(1)).toBe(false);
    await clock.advance(299);
    expect(throttle.tryTake(1)).toBe(false);
    expect(served).toEqual([]);
    await clock.advance(1_000);
    expect(served).toEqual(["dear@300", "cheap@400"]);
    expect(clock.timers).toBe(0);
  });

  it("serves several at once when the tokens reach", async () => {
    const { clock, throttle, served, take } = setUp();
    throttle.tryTake(4);
    void take("a");
    void take("b");
    await settle();
    throttle.change({ ...POLICY, ratePerSecond: 0 });
    await clock.advance(500);
    expect(clock.timers).toBe(0);
    throttle.change({ ...POLICY, ratePerSecond: 1_000 });
    await clock.advance(2);
    expect(served).toEqual(["a@501", "b@502"]);
  });

  it("rejects an aborted waiter at once and serves the ones behind it", async () => {
    const { clock, throttle, served, take } = setUp();
    throttle.tryTake(4);
    const controller = new AbortController();
    const listeners = countListeners(controller.signal);
    void take("dear", 4, controller.signal);
    void take("cheap", 1);
    await clock.advance(50);
    expect(listeners()).toBe(1);
    controller.abort("gone");
    await clock.advance(50);
    expect(served).toEqual(["dear gone", "cheap@100"]);
    expect(clock.timers).toBe(0);
  });

  it("takes its listener back when served, and adds none when it need not wait", async () => {
    const { clock, throttle, served, take } = setUp();
    const controller = new AbortController();
    const listeners = countListeners(controller.signal);
    await take("now", 4, controller.signal);
    expect(listeners()).toBe(0);
    void take("later", 1, controller.signal);
    await settle();
    expect(listeners()).toBe(1);
    await clock.advance(100);
    expect(served).toEqual(["now@0", "later@100"]);
    expect(listeners()).toBe(0);
    expect(throttle.snapshot().waiting).toBe(0);
  });

  it("does not begin for a signal that is aborted already, and refuses a cost it can never hold", async () => {
    const { throttle } = setUp();
    await expect(throttle.take(1, AbortSignal.abort("gone"))).rejects.toBe("gone");
    expect(throttle.snapshot().tokens).toBe(4);
    await expect(throttle.take(5)).rejects.toThrow(RangeError);
    expect(() => throttle.tryTake(5)).toThrow(RangeError);
  });

  it("follows a rate that is changed while somebody waits, keeping what was minted before", async () => {
    const { clock, throttle, served, take } = setUp();
    throttle.tryTake(4);
    void take("a", 2);
    await clock.advance(100);
    throttle.change({ ...POLICY, ratePerSecond: 2 });
    await clock.advance(499);
    expect(served).toEqual([]);
    await clock.advance(1.001);
    expect(served).toEqual(["a@600"]);
  });

  it("serves a waiter that needs all it can hold", async () => {
    const { clock, throttle, served, take } = setUp();
    throttle.tryTake(4);
    void take("all", 4);
    await clock.advance(400.001);
    expect(served).toEqual(["all@400"]);
  });

  it("keeps a waiter whose cost no longer fits, until it fits again", async () => {
    const { clock, throttle, served, take } = setUp();
    throttle.tryTake(4);
    void take("dear", 3);
    await settle();
    throttle.change({ ...POLICY, capacity: 2 });
    await clock.advance(5_000);
    expect(served).toEqual([]);
    expect(clock.timers).toBe(0);
    throttle.change(POLICY);
    await clock.advance(100);
    expect(served).toEqual(["dear@5100"]);
  });
});
