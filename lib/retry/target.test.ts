import { describe, expect, it } from "vitest";
import type { BreakerChange } from "@/lib/retry/breaker/breaker";
import { ratesOf, zeroCounters } from "@/lib/retry/counters";
import { createTargetState } from "@/lib/retry/execute";
import { POLICY_PRESETS } from "@/lib/retry/policy";
import { manualClock } from "@/lib/retry/testing/manual-clock";
import { BARE } from "@/lib/retry/testing/vectors/operation";

describe("the state of a target", () => {
  it("shows each part the policy has", () => {
    const clock = manualClock();
    const target = createTargetState(POLICY_PRESETS["slow-lane"], clock, { bulkhead: { permits: 20, queueMax: 100 } });
    expect(target.snapshot()).toEqual({
      breaker: {
        state: "closed",
        calls: 0,
        failures: 0,
        slow: 0,
        waitMs: 0,
        openRatio: 0,
        probesInFlight: 0,
      },
      budget: { kind: "ratio", available: 30 },
      bulkhead: { permits: 20, inUse: 0, queued: 0, queueMax: 100 },
      latency: { samples: 0, p50Ms: null, p95Ms: null, p99Ms: null },
      healing: { steps: 0, backoffFactor: 1, rateFactor: 1 },
      overload: null,
      waits: { samples: 0, p50Ms: null, p95Ms: null, p99Ms: null },
      counters: { ...zeroCounters(), ...ratesOf(zeroCounters()) },
    });
  });

  it("shows null for a part the policy has not", () => {
    const target = createTargetState(BARE, manualClock());
    expect(target.snapshot()).toMatchObject({ breaker: null, bulkhead: null, healing: null });
    expect(target.heal()).toBeNull();
    expect(target.force("open")).toBe(false);
    expect(() => target.reset()).not.toThrow();
  });

  it("obeys an operator and tells of every change", () => {
    const changes: BreakerChange[] = [];
    const onBreakerChange = (change: BreakerChange) => changes.push(change);
    const target = createTargetState(POLICY_PRESETS["slow-lane"], manualClock(), { onBreakerChange });
    expect(target.force("open")).toBe(true);
    expect(target.snapshot().breaker).toMatchObject({ state: "forced-open", waitMs: null });
    target.reset();
    expect(target.snapshot().breaker).toMatchObject({ state: "closed" });
    expect(changes.map(({ to, cause }) => [to, cause])).toEqual([
      ["forced-open", "operator"],
      ["closed", "operator"],
    ]);
  });

  it("forgets latency and healing steps on reset", () => {
    const clock = manualClock();
    const target = createTargetState(POLICY_PRESETS["slow-lane"], clock);
    for (let attempt = 0; attempt < 20; attempt++)
      target.healer?.observe({ retry: true, timeout: true }, clock.nowMs());
    target.latency.record(10);
    expect(target.heal()).not.toBeNull();
    target.reset();
    expect(target.snapshot()).toMatchObject({ latency: { samples: 0 }, healing: { steps: 0 } });
  });

  it("keeps breaker, budget, latency and counters under another policy that has the same parts", () => {
    const clock = manualClock();
    const target = createTargetState(POLICY_PRESETS["slow-lane"], clock);
    const { breaker, budget, healer } = target;
    for (let call = 0; call < 10; call++) breaker!.record(breaker!.acquire(clock.nowMs()), true, 5, clock.nowMs());
    for (let retry = 0; retry < 4; retry++) budget.withdraw("transient", clock.nowMs());
    target.latency.record(70);
    target.counters.attempts = 17;
    const before = target.snapshot();
    expect(before).toMatchObject({ breaker: { state: "open" }, budget: { available: 26 }, latency: { samples: 1 } });
    target.adopt(POLICY_PRESETS.ladder);
    expect([target.breaker, target.budget, target.healer]).toEqual([breaker, budget, healer]);
    expect(target.snapshot()).toEqual(before);
  });

  it("begins anew with a budget or healing that differs, and drops what the policy has no longer", () => {
    const target = createTargetState(POLICY_PRESETS["slow-lane"], manualClock());
    target.adopt({ ...POLICY_PRESETS.ladder, budget: { kind: "unlimited" }, healing: null, breaker: null });
    expect(target.snapshot()).toMatchObject({ breaker: null, budget: { kind: "unlimited" }, healing: null });
    target.adopt(POLICY_PRESETS["slow-lane"]);
    expect(target.snapshot()).toMatchObject({ breaker: { state: "closed" }, healing: { steps: 0 } });
  });

  it("answers a copy, not the counters themselves", () => {
    const target = createTargetState(BARE, manualClock());
    const before = target.snapshot();
    target.counters.attempts++;
    expect(before.counters.attempts).toBe(0);
  });
});

describe("rates", () => {
  it("are shares of requests, of attempts where the name says so, and of operations asked for", () => {
    const counts = { attempts: 10, retries: 3, timeouts: 2, operations: 6, failed: 3, dedupDropped: 2 };
    expect(ratesOf({ ...zeroCounters(), ...counts })).toEqual({
      retryRate: 0.5,
      timeoutRate: 1 / 3,
      retryRatePerAttempt: 0.3,
      timeoutRatePerAttempt: 0.2,
      errorRatio: 0.5,
      dedupDropRate: 0.25,
    });
    expect(new Set(Object.values(ratesOf(zeroCounters())))).toEqual(new Set([0]));
  });
});
