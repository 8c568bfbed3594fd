import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Breaker, type BreakerChange, type BreakerPolicy, DENIED } from "@/lib/retry/breaker/breaker";
import { isSlow, shouldTrip, type Trip, tripGauge } from "@/lib/retry/breaker/trip";

const POLICY: BreakerPolicy = {
  trip: { kind: "consecutive", failures: 3 },
  openMs: 1_000,
  openMsMax: 3_000,
  probes: 2,
  probeMsMax: 400,
};

const COUNT: Trip = { kind: "count", size: 4, callsMin: 3, failureRatio: 0.5, slowCallMs: 100, slowRatio: 0.75 };
const TIME: Trip = { kind: "time", windowMs: 5_000, callsMin: 3, failureRatio: 0.5, slowCallMs: null, slowRatio: 1 };

function call(breaker: Breaker, failed: boolean, nowMs: number, elapsedMs = 1): boolean {
  const permit = breaker.acquire(nowMs);
  if (permit === DENIED) return false;
  breaker.record(permit, failed, elapsedMs, nowMs);
  return true;
}

function trip(breaker: Breaker, nowMs: number): void {
  for (let failures = 0; failures < 3; failures++) call(breaker, true, nowMs);
}

function state(breaker: Breaker, nowMs: number): string {
  return breaker.snapshot(nowMs).state;
}

describe("a closed breaker", () => {
  it("opens at the threshold of consecutive failures, not before", () => {
    const breaker = new Breaker(POLICY, 0);
    call(breaker, true, 0);
    call(breaker, true, 0);
    expect(breaker.snapshot(0)).toMatchObject({ state: "closed", calls: 2, failures: 2, slow: 0, waitMs: 0 });
    call(breaker, false, 0);
    call(breaker, true, 0);
    call(breaker, true, 0);
    expect(state(breaker, 0)).toBe("closed");
    call(breaker, true, 0);
    expect(state(breaker, 0)).toBe("open");
  });

  it("opens on a rate over the last calls, once the minimum is reached", () => {
    const breaker = new Breaker({ ...POLICY, trip: COUNT }, 0);
    call(breaker, true, 0);
    call(breaker, true, 0);
    expect(state(breaker, 0)).toBe("closed");
    call(breaker, false, 0);
    expect(state(breaker, 0)).toBe("open");
  });

  it("forgets what has left the count window", () => {
    const breaker = new Breaker({ ...POLICY, trip: { ...COUNT, callsMin: 4 } as Trip }, 0);
    for (const failed of [true, false, false, false, false, false, true]) call(breaker, failed, 0);
    expect(breaker.snapshot(0)).toMatchObject({ state: "closed", calls: 4, failures: 1 });
    call(breaker, true, 0);
    expect(state(breaker, 0)).toBe("open");
  });

  it("opens on slow calls although none has failed", () => {
    const breaker = new Breaker({ ...POLICY, trip: COUNT }, 0);
    call(breaker, false, 0, 100);
    call(breaker, false, 0, 99);
    call(breaker, false, 0, 100);
    expect(breaker.snapshot(0)).toMatchObject({ state: "closed", slow: 2 });
    call(breaker, false, 0, 250);
    expect(state(breaker, 0)).toBe("open");
  });

  it("forgets what has left the time window", () => {
    const breaker = new Breaker({ ...POLICY, trip: TIME }, 0);
    call(breaker, true, 0);
    call(breaker, true, 0);
    call(breaker, false, 5_000);
    expect(breaker.snapshot(5_000)).toMatchObject({ state: "closed", calls: 1, failures: 0 });
    call(breaker, false, 5_500);
    call(breaker, true, 5_600);
    expect(state(breaker, 5_600)).toBe("closed");
    call(breaker, true, 5_700);
    expect(state(breaker, 5_700)).toBe("open");
  });
});

describe("an open breaker", () => {
  it("lets nothing pass until its time is over", () => {
    const breaker = new Breaker(POLICY, 0);
    trip(breaker, 10);
    expect(breaker.acquire(1_009)).toBe(DENIED);
    expect(breaker.waitMs(10)).toBe(1_000);
    expect(breaker.waitMs(1_009)).toBe(1);
    expect(breaker.waitMs(5_000)).toBe(0);
    expect(breaker.acquire(1_010)).not.toBe(DENIED);
    expect(state(breaker, 1_010)).toBe("half-open");
  });

  it("ignores a call that began before it opened", () => {
    const breaker = new Breaker(POLICY, 0);
    const late = breaker.acquire(0);
    trip(breaker, 0);
    expect(breaker.holds(late, 0)).toBe(false);
    breaker.record(late, false, 1, 500);
    expect(breaker.snapshot(500)).toMatchObject({ state: "open", calls: 0 });
    const probe = breaker.acquire(1_000);
    breaker.record(late, true, 1, 1_000);
    expect(state(breaker, 1_000)).toBe("half-open");
    expect(breaker.holds(probe, 1_000)).toBe(true);
  });

  it("stays open twice as long after each failed probe, up to the maximum", () => {
    const breaker = new Breaker(POLICY, 0);
    trip(breaker, 0);
    const waits: (number | null)[] = [breaker.waitMs(0)];
    let nowMs = 0;
    for (let round = 0; round < 3; round++) {
      nowMs += breaker.waitMs(nowMs)!;
      call(breaker, true, nowMs);
      waits.push(breaker.waitMs(nowMs));
    }
    expect(waits).toEqual([1_000, 2_000, 3_000, 3_000]);
  });

  it("starts again with the short time once it has closed", () => {
    const breaker = new Breaker(POLICY, 0);
    trip(breaker, 0);
    call(breaker, true, 1_000);
    call(breaker, false, 3_000);
    call(breaker, false, 3_000);
    expect(state(breaker, 3_000)).toBe("closed");
    trip(breaker, 3_000);
    expect(breaker.waitMs(3_000)).toBe(1_000);
  });
});

describe("a half-open breaker", () => {
  function halfOpen(policy: Partial<BreakerPolicy> = {}): Breaker {
    const breaker = new Breaker({ ...POLICY, ...policy }, 0);
    while (state(breaker, 0) === "closed") call(breaker, true, 0);
    return breaker;
  }

  it("lets exactly its probes pass and closes when all have passed", () => {
    const breaker = halfOpen();
    const [first, second, third] = [0, 1, 2].map(() => breaker.acquire(1_000));
    expect(third).toBe(DENIED);
    expect(first).not.toBe(second);
    expect(breaker.snapshot(1_000)).toMatchObject({ probesInFlight: 2, waitMs: 400 });
    expect(breaker.waitMs(1_150)).toBe(250);
    breaker.record(first!, false, 1, 1_100);
    expect(breaker.snapshot(1_100)).toMatchObject({ state: "half-open", probesInFlight: 1, waitMs: 300 });
    expect(breaker.acquire(1_100)).toBe(DENIED);
    breaker.record(second!, false, 1, 1_100);
    expect(breaker.snapshot(1_100)).toMatchObject({ state: "closed", calls: 0, probesInFlight: 0 });
  });

  it("lets one probe pass in each interval, whatever became of the one before", () => {
    const breaker = halfOpen({ probes: 3, probeEveryMs: 1_000, probeMsMax: 5_000 });
    breaker.record(breaker.acquire(1_000), false, 1, 1_000);
    expect(breaker.acquire(1_999)).toBe(DENIED);
    expect(breaker.waitMs(1_999)).toBe(1);
    breaker.release(breaker.acquire(2_000));
    expect(breaker.acquire(2_500)).toBe(DENIED);
    breaker.record(breaker.acquire(3_000), false, 1, 3_000);
    breaker.record(breaker.acquire(4_000), false, 1, 4_000);
    expect(state(breaker, 4_000)).toBe("closed");
  });

  it("never lets more than one probe pass in an interval, over any course of failures and successes", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.integer({ min: 1, max: 700 }), fc.boolean()), { maxLength: 300 }), (steps) => {
        const policy = {
          ...POLICY,
          trip: { kind: "consecutive", failures: 3 } as const,
          probes: 3,
          probeEveryMs: 1_000,
        };
        const breaker = new Breaker(policy, 0);
        let nowMs = 0;
        let probedMs = Number.NEGATIVE_INFINITY;
        for (const [advanceMs, failed] of steps) {
          nowMs += advanceMs;
          const permit = breaker.acquire(nowMs);
          if (permit === DENIED) continue;
          if (state(breaker, nowMs) === "half-open") {
            expect(nowMs - probedMs).toBeGreaterThanOrEqual(1_000);
            probedMs = nowMs;
          }
          breaker.record(permit, failed, 1, nowMs);
        }
      }),
    );
  });

  it("opens at the first failed probe of a consecutive trip", () => {
    const breaker = halfOpen();
    const probes = [breaker.acquire(1_000), breaker.acquire(1_000)];
    breaker.record(probes[0]!, true, 1, 1_000);
    expect(state(breaker, 1_000)).toBe("open");
    breaker.record(probes[1]!, false, 1, 1_000);
    expect(state(breaker, 1_000)).toBe("open");
  });

  it("waits for every probe before it judges a rate", () => {
    const breaker = halfOpen({ trip: COUNT, probes: 4 });
    const probes = [1, 2, 3, 4].map(() => breaker.acquire(1_000));
    for (const probe of probes.slice(0, 2)) breaker.record(probe, true, 1, 1_000);
    expect(state(breaker, 1_000)).toBe("half-open");
    breaker.record(probes[2]!, false, 1, 1_000);
    breaker.record(probes[3]!, false, 1, 1_000);
    expect(state(breaker, 1_000)).toBe("open");
  });

  it("counts a result once, however often it is reported", () => {
    const breaker = halfOpen();
    const probe = breaker.acquire(1_000);
    breaker.record(probe, false, 1, 1_000);
    breaker.record(probe, false, 1, 1_000);
    expect(state(breaker, 1_000)).toBe("half-open");
  });

  it("gives a released probe's place to another", () => {
    const breaker = halfOpen();
    const probe = breaker.acquire(1_000);
    breaker.acquire(1_000);
    breaker.release(probe);
    expect(breaker.waitMs(1_000)).toBe(0);
    expect(breaker.acquire(1_000)).not.toBe(DENIED);
    expect(breaker.acquire(1_000)).toBe(DENIED);
  });

  it("opens again at the moment a probe is lost, not when somebody looks", () => {
    const breaker = halfOpen();
    breaker.acquire(1_000);
    const later = breaker.acquire(1_100);
    expect(state(breaker, 1_399)).toBe("half-open");
    expect(breaker.holds(later, 1_400)).toBe(false);
    expect(breaker.snapshot(2_000)).toMatchObject({ state: "open", waitMs: 1_400 });
    breaker.record(later, false, 1, 2_000);
    expect(state(breaker, 2_000)).toBe("open");
  });

  it("tells of a lost probe as of a failed one, to whoever asks first", () => {
    const changes: BreakerChange[] = [];
    const breaker = new Breaker(POLICY, 0, (change) => changes.push(change));
    trip(breaker, 0);
    breaker.acquire(1_000);
    expect(breaker.waitMs(1_500)).toBe(1_900);
    expect(changes.at(-1)).toEqual({ from: "half-open", to: "open", cause: "probe" });
  });

  it("has all its probes again after it was open", () => {
    const breaker = halfOpen();
    const [first] = [breaker.acquire(1_000), breaker.acquire(1_000)];
    breaker.record(first!, true, 1, 1_100);
    expect([1, 2, 3].map(() => breaker.acquire(3_100) !== DENIED)).toEqual([true, true, false]);
  });

  it("takes no new probe from a lost one's round", () => {
    const breaker = halfOpen();
    breaker.acquire(1_000);
    expect(breaker.acquire(1_400)).toBe(DENIED);
  });
});

describe("an operator's order", () => {
  it("holds the breaker open until it is lifted", () => {
    const breaker = new Breaker(POLICY, 0);
    const before = breaker.acquire(0);
    breaker.force("open", 0);
    expect(breaker.acquire(1e9)).toBe(DENIED);
    expect(breaker.holds(before, 0)).toBe(false);
    expect(breaker.snapshot(1e9)).toMatchObject({ state: "forced-open", waitMs: null });
    breaker.force("auto", 1e9);
    expect(breaker.acquire(1e9)).not.toBe(DENIED);
    expect(state(breaker, 1e9)).toBe("closed");
  });

  it("holds the breaker closed whatever fails", () => {
    const breaker = new Breaker(POLICY, 0);
    breaker.force("closed", 0);
    for (let failures = 0; failures < 10; failures++) expect(call(breaker, true, 0)).toBe(true);
    expect(breaker.snapshot(0)).toMatchObject({ state: "forced-closed", calls: 0, waitMs: 0 });
    breaker.force("auto", 0);
    trip(breaker, 0);
    expect(state(breaker, 0)).toBe("open");
  });

  it("and a reset end the growth of the open time", () => {
    const breaker = new Breaker(POLICY, 0);
    trip(breaker, 0);
    call(breaker, true, 1_000);
    breaker.reset(1_000);
    trip(breaker, 1_000);
    expect(breaker.waitMs(1_000)).toBe(1_000);
  });

  it("that closes an open breaker lets calls pass at once", () => {
    const breaker = new Breaker(POLICY, 0);
    trip(breaker, 0);
    breaker.force("closed", 0);
    expect(breaker.waitMs(0)).toBe(0);
    expect(breaker.acquire(0)).not.toBe(DENIED);
  });

  it("that is given again, or lifted when none is in force, changes nothing", () => {
    const breaker = new Breaker(POLICY, 0);
    trip(breaker, 0);
    breaker.force("auto", 500);
    expect(breaker.snapshot(500)).toMatchObject({ state: "open", waitMs: 500 });
    breaker.force("closed", 500);
    const permit = breaker.acquire(500);
    breaker.force("closed", 600);
    expect(breaker.holds(permit, 600)).toBe(true);
    breaker.force("auto", 700);
    expect(breaker.holds(permit, 700)).toBe(false);
    call(breaker, true, 700);
    breaker.force("auto", 800);
    expect(breaker.snapshot(800)).toMatchObject({ state: "closed", failures: 1 });
    breaker.reset(800);
    expect(breaker.snapshot(800)).toMatchObject({ state: "closed", failures: 0 });
  });
});

describe("what the breaker tells", () => {
  it("names every change with its cause, and nothing else", () => {
    const changes: BreakerChange[] = [];
    const breaker = new Breaker(POLICY, 0, (change) => changes.push(change));
    trip(breaker, 0);
    breaker.acquire(500);
    const probe = breaker.acquire(1_000);
    breaker.record(probe, true, 1, 1_000);
    call(breaker, false, 3_000);
    call(breaker, false, 3_000);
    breaker.reset(3_000);
    breaker.force("open", 3_000);
    breaker.force("closed", 3_000);
    expect(changes).toEqual([
      { from: "closed", to: "open", cause: "trip" },
      { from: "open", to: "half-open", cause: "timer" },
      { from: "half-open", to: "open", cause: "probe" },
      { from: "open", to: "half-open", cause: "timer" },
      { from: "half-open", to: "closed", cause: "probe" },
      { from: "closed", to: "forced-open", cause: "operator" },
      { from: "forced-open", to: "forced-closed", cause: "operator" },
    ]);
  });

  it("counts the share of its life spent open", () => {
    const breaker = new Breaker(POLICY, 100);
    expect(breaker.snapshot(100).openRatio).toBe(0);
    trip(breaker, 600);
    expect(breaker.snapshot(1_100).openRatio).toBe(0.5);
    breaker.force("open", 1_100);
    expect(breaker.snapshot(1_600).openRatio).toBeCloseTo(2 / 3);
    breaker.force("auto", 1_600);
    expect(breaker.snapshot(2_100).openRatio).toBe(0.5);
    trip(breaker, 2_100);
    expect(breaker.snapshot(4_100).openRatio).toBe(0.75);
  });
});

describe("thresholds", () => {
  const rates = { callsMin: 4, failureRatio: 0.5, slowCallMs: 100, slowRatio: 0.25 };

  it.each([
    [{ calls: 3, failures: 3, slow: 3 }, false],
    [{ calls: 4, failures: 2, slow: 0 }, true],
    [{ calls: 4, failures: 1, slow: 0 }, false],
    [{ calls: 4, failures: 0, slow: 1 }, true],
    [{ calls: 5, failures: 2, slow: 1 }, false],
  ])("%j trips: %j", (counts, expected) => {
    expect(shouldTrip(counts, rates)).toBe(expected);
  });

  it("does not judge slowness unless told what is slow", () => {
    expect(shouldTrip({ calls: 4, failures: 0, slow: 4 }, { ...rates, slowCallMs: null })).toBe(false);
    expect(isSlow(COUNT, 100)).toBe(true);
    expect(isSlow(COUNT, 99)).toBe(false);
    expect(isSlow(TIME, 1e9)).toBe(false);
    expect(isSlow({ kind: "consecutive", failures: 1 }, 1e9)).toBe(false);
  });

  it.each([COUNT, TIME, { kind: "consecutive", failures: 3 } as Trip])("%j counts and clears", (policy) => {
    const gauge = tripGauge(policy);
    gauge.record(true, true, 0);
    gauge.record(true, false, 0);
    expect(gauge.counts(0)).toEqual({ calls: 2, failures: 2, slow: policy.kind === "consecutive" ? 0 : 1 });
    gauge.clear();
    expect(gauge.counts(0)).toEqual({ calls: 0, failures: 0, slow: 0 });
    expect(gauge.record(true, false, 0)).toBe(false);
  });
});

describe("any sequence of calls", () => {
  it("never lets more probes pass than it has, and never hands a stale permit any weight", () => {
    const step = fc.record({
      advanceMs: fc.integer({ min: 0, max: 700 }),
      act: fc.constantFrom("acquire", "ok", "fail", "release"),
      which: fc.nat(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const breaker = new Breaker(POLICY, 0);
        const permits: number[] = [];
        let nowMs = 0;
        for (const { advanceMs, act, which } of steps) {
          nowMs += advanceMs;
          if (act === "acquire" || permits.length === 0) {
            const before = state(breaker, nowMs);
            const permit = breaker.acquire(nowMs);
            if (before === "closed") expect(permit).not.toBe(DENIED);
            if (permit !== DENIED) {
              expect(breaker.holds(permit, nowMs)).toBe(true);
              permits.push(permit);
            }
          } else {
            const permit = permits.splice(which % permits.length, 1)[0]!;
            if (act === "release") breaker.release(permit);
            else breaker.record(permit, act === "fail", 1, nowMs);
          }
          const now = breaker.snapshot(nowMs);
          expect(now.probesInFlight).toBeLessThanOrEqual(POLICY.probes);
          expect(now.openRatio).toBeGreaterThanOrEqual(0);
          expect(now.openRatio).toBeLessThanOrEqual(1);
        }
      }),
    );
  });
});

describe("a breaker under another policy", () => {
  const OTHER: BreakerPolicy = { trip: COUNT, openMs: 7_000, openMsMax: 9_000, probes: 3, probeMsMax: 400 };

  it("stays open until its time is over, and decides by the new policy from then on", () => {
    const breaker = new Breaker(POLICY, 0);
    trip(breaker, 0);
    breaker.adopt(OTHER);
    expect(breaker.waitMs(0)).toBe(1_000);
    for (let probe = 0; probe < 2; probe++) call(breaker, false, 1_000);
    expect(state(breaker, 1_000)).toBe("half-open");
    call(breaker, false, 1_000);
    expect(state(breaker, 1_000)).toBe("closed");
  });

  it("that is half-open decides by the probes it began with", () => {
    const breaker = new Breaker(POLICY, 0);
    trip(breaker, 0);
    const probes = [breaker.acquire(1_000), breaker.acquire(1_000)];
    breaker.adopt(OTHER);
    expect(breaker.acquire(1_000)).toBe(DENIED);
    for (const permit of probes) breaker.record(permit, false, 1, 1_100);
    expect(state(breaker, 1_100)).toBe("closed");
  });

  it("keeps its window when the trip is the same, and empties it when it differs", () => {
    const breaker = new Breaker(POLICY, 0);
    call(breaker, true, 0);
    breaker.adopt({ ...POLICY, openMs: 2_000 });
    expect(breaker.snapshot(0)).toMatchObject({ failures: 1 });
    breaker.adopt(OTHER);
    expect(breaker.snapshot(0)).toMatchObject({ state: "closed", failures: 0 });
    for (let failure = 0; failure < 3; failure++) call(breaker, true, 0);
    expect(breaker.waitMs(0)).toBe(7_000);
  });
});
