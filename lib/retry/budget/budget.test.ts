import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createBudget } from "@/lib/retry/budget/budget";
import { leakyPool, quotaPool } from "@/lib/retry/budget/pools";
import { inFlightMax, type RatioBudget } from "@/lib/retry/budget/strategies";

const RATIO: RatioBudget = {
  kind: "ratio",
  ratio: 0.5,
  windowMs: 10_000,
  floorPerSecond: 0,
  ceilingPerSecond: null,
  deposit: "request",
  cost: { transient: 1, throttled: 2 },
};

describe("a ratio budget", () => {
  it("earns per request and pays per retry, by class", () => {
    const budget = createBudget(RATIO);
    expect(budget.withdraw("transient", 0)).toBeNull();
    for (let request = 0; request < 6; request++) budget.begin(0);
    expect(budget.snapshot(0)).toEqual({ kind: "ratio", available: 3 });
    expect(budget.withdraw("throttled", 0)).toBe(2);
    expect(budget.withdraw("throttled", 0)).toBeNull();
    expect(budget.withdraw("transient", 0)).toBe(1);
    expect(budget.withdraw("transient", 0)).toBeNull();
    expect(budget.snapshot(0).available).toBe(0);
  });

  it("earns on success only, when told so", () => {
    const budget = createBudget({ ...RATIO, deposit: "success" });
    for (let request = 0; request < 10; request++) {
      budget.begin(0);
      budget.settle(false, 0, 0);
      budget.end();
    }
    expect(budget.snapshot(0).available).toBe(0);
    budget.settle(true, 0, 0);
    budget.settle(true, 0, 0);
    expect(budget.snapshot(0).available).toBe(1);
  });

  it("earns nothing on success when it earns on requests", () => {
    const budget = createBudget(RATIO);
    for (let call = 0; call < 10; call++) budget.settle(true, 0, 0);
    expect(budget.snapshot(0).available).toBe(0);
  });

  it("allows its floor over the window without any traffic", () => {
    const budget = createBudget({ ...RATIO, floorPerSecond: 0.3 });
    expect([1, 2, 3, 4].map(() => budget.withdraw("transient", 0))).toEqual([1, 1, 1, null]);
  });

  it("keeps its ceiling whatever has been earned, counted in retries", () => {
    const budget = createBudget({ ...RATIO, ceilingPerSecond: 0.2, cost: { transient: 0.5, throttled: 0 } });
    for (let request = 0; request < 100; request++) budget.begin(0);
    expect(budget.snapshot(0).available).toBe(2);
    expect(budget.withdraw("throttled", 0)).toBe(0);
    expect(budget.withdraw("transient", 0)).toBe(0.5);
    expect(budget.withdraw("transient", 0)).toBeNull();
    expect(budget.withdraw("throttled", 0)).toBeNull();
    expect(budget.snapshot(0).available).toBe(0);
  });

  it("shows what is left in retries, not in tokens", () => {
    const budget = createBudget({ ...RATIO, cost: { transient: 3, throttled: 1 } });
    for (let request = 0; request < 14; request++) budget.begin(0);
    expect(budget.snapshot(0).available).toBe(2);
  });

  it("does not touch the ceiling for a retry it cannot pay", () => {
    const budget = createBudget({ ...RATIO, ceilingPerSecond: 0.2 });
    expect(budget.withdraw("transient", 0)).toBeNull();
    for (let request = 0; request < 8; request++) budget.begin(0);
    expect(budget.snapshot(0).available).toBe(2);
  });

  it("forgets deposits and payments after the window", () => {
    const budget = createBudget({ ...RATIO, floorPerSecond: 0.1 });
    budget.withdraw("transient", 0);
    expect(budget.withdraw("transient", 10_000)).toBeNull();
    expect(budget.withdraw("transient", 11_000)).toBe(1);
    budget.begin(11_000);
    budget.begin(11_000);
    expect(budget.snapshot(11_000).available).toBe(1);
    expect(budget.snapshot(22_000).available).toBe(1);
  });

  it("never lets the retries of any window exceed floor + ratio * requests, nor the ceiling", () => {
    const event = fc.record({ advanceMs: fc.integer({ min: 0, max: 2_500 }), request: fc.boolean() });
    fc.assert(
      fc.property(fc.array(event, { maxLength: 300 }), (events) => {
        const budget = createBudget({ ...RATIO, ratio: 0.2, floorPerSecond: 0.2, ceilingPerSecond: 0.5 });
        const requests: number[] = [];
        const retries: number[] = [];
        let nowMs = 0;
        for (const { advanceMs, request } of events) {
          nowMs += advanceMs;
          if (request) {
            budget.begin(nowMs);
            requests.push(nowMs);
            continue;
          }
          if (budget.withdraw("transient", nowMs) === null) continue;
          retries.push(nowMs);
          const since = (times: number[], ms: number) => times.filter((at) => at > nowMs - ms).length;
          // A deposit may live a slot longer than the window that the payments are counted in.
          expect(since(retries, 10_000)).toBeLessThanOrEqual(2 + 0.2 * since(requests, 11_000) + 1e-9);
          expect(since(retries, 10_000)).toBeLessThanOrEqual(5);
        }
      }),
    );
  });
});

describe("a quota budget", () => {
  const policy = { kind: "quota", capacity: 20, cost: { transient: 7, throttled: 2 }, reward: 3 } as const;

  it("runs dry without success", () => {
    const budget = createBudget(policy);
    expect(budget.snapshot(0)).toEqual({ kind: "quota", available: 2 });
    expect(["transient", "transient", "transient"].map(() => budget.withdraw("transient", 0))).toEqual([7, 7, null]);
    budget.settle(false, 7, 0);
    expect(budget.withdraw("throttled", 0)).toBe(2);
    expect(budget.snapshot(0).available).toBe(0);
  });

  it("returns to a success what its retry took, and the reward to one that needed none", () => {
    const budget = createBudget(policy);
    budget.withdraw("transient", 0);
    budget.withdraw("transient", 0);
    budget.settle(true, 0, 0);
    expect(budget.withdraw("transient", 0)).toBe(7);
    budget.settle(true, 7, 0);
    budget.settle(true, 7, 0);
    budget.settle(true, 7, 0);
    expect(budget.snapshot(0).available).toBe(2);
  });
});

describe("an in-flight budget", () => {
  it("bounds the retries under way by the operations under way", () => {
    const budget = createBudget({ kind: "in-flight", ratio: 0.5, retriesMin: 1 });
    for (let operation = 0; operation < 4; operation++) budget.begin(0);
    expect(budget.snapshot(0)).toEqual({ kind: "in-flight", available: 2 });
    expect([1, 2, 3].map(() => budget.withdraw("transient", 0))).toEqual([1, 1, null]);
    budget.settle(true, 0, 0);
    expect(budget.withdraw("transient", 0)).toBeNull();
    budget.settle(false, 1, 0);
    expect(budget.withdraw("transient", 0)).toBe(1);
    for (let operation = 0; operation < 4; operation++) budget.end();
    expect(budget.snapshot(0).available).toBe(0);
    budget.settle(false, 1, 0);
    budget.settle(false, 1, 0);
    expect(budget.snapshot(0).available).toBe(1);
  });

  it("has its minimum when nothing is under way", () => {
    expect(inFlightMax({ ratio: 0.2, retriesMin: 3 }, 0)).toBe(3);
    expect(inFlightMax({ ratio: 0.2, retriesMin: 3 }, 24)).toBe(4);
  });
});

describe("no budget", () => {
  it("allows every retry and says so", () => {
    const budget = createBudget({ kind: "unlimited" });
    budget.begin(0);
    budget.settle(false, 0, 0);
    budget.end();
    expect(budget.withdraw("transient", 0)).toBe(0);
    expect(budget.snapshot(0)).toEqual({ kind: "unlimited", available: Number.POSITIVE_INFINITY });
  });
});

describe("pools", () => {
  it("a leaky pool takes all or nothing and never goes below zero", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 0, max: 30 }), fc.integer({ min: 0, max: 400 }))),
        (operations) => {
          const pool = leakyPool(1_000, 50);
          let nowMs = 0;
          for (const [put, amount, advanceMs] of operations) {
            nowMs += advanceMs;
            const before = pool.balance(nowMs);
            if (put) pool.put(amount, nowMs);
            else expect(pool.take(amount, nowMs)).toBe(before >= amount);
          }
          expect(pool.balance(nowMs + 10_000)).toBe(50);
        },
      ),
    );
  });

  it("a leaky pool remembers a debit for its window, and at most a tenth longer", () => {
    const pool = leakyPool(1_000, 5);
    pool.take(2, 100);
    expect(pool.balance(1_100)).toBe(3);
    expect(pool.balance(1_199)).toBe(3);
    expect(pool.balance(1_200)).toBe(5);
  });

  it("a leaky pool forgives a rounding error and no more", () => {
    const pool = leakyPool(1_000, 0);
    for (let tenth = 0; tenth < 10; tenth++) pool.put(0.1, 0);
    expect(pool.take(1 + 1e-6, 0)).toBe(false);
    expect(pool.take(1, 0)).toBe(true);
  });

  it("a quota pool is bounded on both sides", () => {
    const pool = quotaPool(10, 4);
    expect(pool.take(5)).toBe(false);
    expect(pool.take(4)).toBe(true);
    expect(pool.left).toBe(0);
    pool.give(25);
    expect(pool.left).toBe(10);
    expect(quotaPool(10).left).toBe(10);
  });
});
