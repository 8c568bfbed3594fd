import { describe, expect, it, vi } from "vitest";
import { takeGuarded } from "@/lib/retry/rate/guarded-bucket";
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

describe("a bucket that lives elsewhere", () => {
  it("is asked again after the wait it answers, but not later than the limit", async () => {
    const clock = manualClock({ nowMs: 0 });
    const asked: number[] = [];
    const answers = [
      { granted: false, waitMs: 30 },
      { granted: false, waitMs: Number.POSITIVE_INFINITY },
      { granted: true },
    ] as const;
    const remote = vi.fn(async (cost: number) => {
      expect(cost).toBe(2);
      asked.push(clock.nowMs());
      return answers[asked.length - 1]!;
    });
    const done = takeGuarded(remote, { kind: "closed" }, { cost: 2, clock, signal: new AbortController().signal });
    await clock.advance(10_000);
    await done;
    expect(asked).toEqual([0, 30, 1_030]);
  });

  it("that cannot be reached sends nothing when closed", async () => {
    const clock = manualClock();
    const broken = new Error("no redis");
    const take = takeGuarded(
      () => Promise.reject(broken),
      { kind: "closed" },
      { cost: 1, clock, signal: new AbortController().signal },
    );
    await expect(take).rejects.toBe(broken);
  });

  it("that cannot be reached is replaced by the local share, and the owner is told each time", async () => {
    const clock = manualClock({ nowMs: 0 });
    const broken = new Error("no redis");
    const told: unknown[] = [];
    const local = [{ granted: false, waitMs: 40 } as const, { granted: true, waitMs: 0 } as const];
    const done = takeGuarded(
      () => Promise.reject(broken),
      { kind: "local", take: () => local.shift()!, onUnreachable: (error) => void told.push(error) },
      { cost: 1, clock, signal: new AbortController().signal },
    );
    await clock.advance(40);
    await done;
    expect(told).toEqual([broken, broken]);
  });

  it("ends its wait at once when aborted, and asks nothing for an aborted signal", async () => {
    const clock = manualClock();
    const controller = new AbortController();
    const remote = vi.fn(async () => ({ granted: false as const, waitMs: 500 }));
    const done = takeGuarded(
      remote,
      { kind: "closed" },
      { cost: 1, clock, signal: controller.signal, waitMsMax: 9_000 },
    );
    await clock.advance(100);
    controller.abort("gone");
    await expect(done).rejects.toBe("gone");
    expect(clock.timers).toBe(0);
    await expect(takeGuarded(remote, { kind: "closed" }, { cost: 1, clock, signal: controller.signal })).rejects.toBe(
      "gone",
    );
    expect(remote).toHaveBeenCalledOnce();
  });
});
