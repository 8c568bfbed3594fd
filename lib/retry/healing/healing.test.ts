import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createHealer } from "@/lib/retry/healing/healer";
import { type HealingPolicy, heal, healingFactors, UNTOUCHED } from "@/lib/retry/healing/healing";

const POLICY: HealingPolicy = {
  retryRatio: 0.4,
  timeoutRatio: 0.2,
  callsMin: 10,
  windowMs: 60_000,
  stepFactor: 2,
  stepsMax: 2,
  quietRatio: 0.5,
  cooldownMs: 5_000,
};

const calm = { attempts: 10, retries: 1, timeouts: 0 };

describe("a healing decision", () => {
  it.each([
    [{ attempts: 10, retries: 4, timeouts: 0 }, "retry-ratio"],
    [{ attempts: 10, retries: 0, timeouts: 2 }, "timeout-ratio"],
    [{ attempts: 10, retries: 9, timeouts: 9 }, "timeout-ratio"],
  ])("slows down at %j because of the %s", (rates, cause) => {
    expect(heal(POLICY, UNTOUCHED, rates, 7)).toEqual({
      state: { steps: 1, steppedAtMs: 7 },
      step: {
        direction: "slow-down",
        cause,
        retryRatio: rates.retries / 10,
        timeoutRatio: rates.timeouts / 10,
        queueRatio: 0,
        steps: 1,
        backoffFactor: 2,
        rateFactor: 0.5,
      },
    });
  });

  it.each([
    [{ attempts: 9, retries: 9, timeouts: 9 }],
    [{ attempts: 0, retries: 0, timeouts: 0 }],
    [{ attempts: 1_000, retries: 399, timeouts: 199 }],
    [calm],
  ])("does nothing at %j when untouched", (rates) => {
    expect(heal(POLICY, UNTOUCHED, rates, 0)).toBeNull();
  });

  it.each([
    ["slows down at the threshold, although few sends have ended", { attempts: 0, queueRatio: 3 }, "slow-down"],
    ["waits between the threshold and the quiet share", { attempts: 0, queueRatio: 1.5 }, null],
    ["steps back below it", { attempts: 0, queueRatio: 1.4 }, "speed-up"],
  ])("of the queue at the bulkhead %s", (_, rates, direction) => {
    const policy = { ...POLICY, queueRatio: 3 };
    const step = heal(policy, { steps: 1, steppedAtMs: 0 }, { retries: 0, timeouts: 0, ...rates }, 5_000)?.step;
    expect(step?.direction ?? null).toBe(direction);
    if (direction === "slow-down") expect(step).toMatchObject({ cause: "queue-ratio", queueRatio: 3 });
  });

  it("does not look at the queue without a threshold", () => {
    const rates = { attempts: 100, retries: 0, timeouts: 0, queueRatio: 900 };
    expect(heal(POLICY, UNTOUCHED, rates, 0)).toBeNull();
  });

  it("steps back only when both ratios are well below their thresholds", () => {
    const state = { steps: 2, steppedAtMs: 0 };
    const at = (retries: number, timeouts: number) => heal(POLICY, state, { attempts: 100, retries, timeouts }, 5_000);
    expect(at(19, 9)).toEqual({
      state: { steps: 1, steppedAtMs: 5_000 },
      step: expect.objectContaining({ direction: "speed-up", cause: "quiet", steps: 1, backoffFactor: 2 }),
    });
    expect(at(20, 0)).toBeNull();
    expect(at(0, 10)).toBeNull();
    expect(at(39, 19)).toBeNull();
    expect(heal(POLICY, state, { attempts: 10, retries: 3, timeouts: 0 }, 5_000)).toBeNull();
  });

  it("steps back for want of traffic, so that a slowed target is not slow for ever", () => {
    const state = { steps: 1, steppedAtMs: 0 };
    expect(heal(POLICY, state, { attempts: 9, retries: 9, timeouts: 9 }, 5_000)?.step.direction).toBe("speed-up");
    expect(heal(POLICY, state, { attempts: 0, retries: 0, timeouts: 0 }, 5_000)?.step).toMatchObject({
      direction: "speed-up",
      retryRatio: 0,
      timeoutRatio: 0,
      steps: 0,
      backoffFactor: 1,
      rateFactor: 1,
    });
  });

  it("rests between two steps", () => {
    const strain = { attempts: 10, retries: 9, timeouts: 0 };
    const state = { steps: 1, steppedAtMs: 100 };
    expect(heal(POLICY, state, strain, 5_099)).toBeNull();
    expect(heal(POLICY, state, strain, 5_100)?.state.steps).toBe(2);
  });

  it("stops at its bound", () => {
    expect(heal(POLICY, { steps: 2, steppedAtMs: null }, { attempts: 10, retries: 9, timeouts: 0 }, 0)).toBeNull();
  });

  it("keeps its steps within 0 and the bound, whatever it sees, and never moves twice within the rest", () => {
    const observation = fc.record({
      attempts: fc.integer({ min: 0, max: 50 }),
      retries: fc.integer({ min: 0, max: 50 }),
      timeouts: fc.integer({ min: 0, max: 50 }),
      advanceMs: fc.integer({ min: 0, max: 9_000 }),
    });
    fc.assert(
      fc.property(fc.array(observation), (observations) => {
        let state = UNTOUCHED;
        let nowMs = 0;
        for (const { advanceMs, ...rates } of observations) {
          nowMs += advanceMs;
          const before = state;
          const next = heal(POLICY, state, rates, nowMs);
          state = next?.state ?? state;
          expect(state.steps).toBeGreaterThanOrEqual(0);
          expect(state.steps).toBeLessThanOrEqual(POLICY.stepsMax);
          expect(Math.abs(state.steps - before.steps)).toBeLessThanOrEqual(1);
          if (next !== null && before.steppedAtMs !== null) {
            expect(nowMs - before.steppedAtMs).toBeGreaterThanOrEqual(POLICY.cooldownMs);
          }
        }
      }),
    );
  });

  it("multiplies delays by what it divides the rate by", () => {
    expect(healingFactors(POLICY, 0)).toEqual({ backoffFactor: 1, rateFactor: 1 });
    expect(healingFactors({ ...POLICY, stepFactor: 4 }, 2)).toEqual({ backoffFactor: 16, rateFactor: 1 / 16 });
  });
});

describe("a healer", () => {
  function strained() {
    const healer = createHealer(POLICY);
    for (let attempt = 0; attempt < 10; attempt++) healer.observe({ retry: attempt < 4, timeout: attempt < 1 }, 1_000);
    return healer;
  }

  it("watches, steps, and steps back when the window has passed", () => {
    const healer = strained();
    expect(healer.snapshot()).toEqual({ steps: 0, backoffFactor: 1, rateFactor: 1 });
    expect(healer.step(1_000)).toMatchObject({ direction: "slow-down", retryRatio: 0.4, timeoutRatio: 0.1, steps: 1 });
    expect([healer.backoffFactor, healer.rateFactor]).toEqual([2, 0.5]);
    expect(healer.step(1_000)).toBeNull();
    expect(healer.step(62_000)).toMatchObject({ direction: "speed-up", cause: "quiet", steps: 0 });
    expect(healer.step(68_000)).toBeNull();
    expect([healer.backoffFactor, healer.rateFactor]).toEqual([1, 1]);
  });

  it("counts timeouts apart from retries", () => {
    const healer = createHealer(POLICY);
    for (let attempt = 0; attempt < 10; attempt++) healer.observe({ retry: false, timeout: attempt < 2 }, 0);
    expect(healer.step(0)).toMatchObject({ cause: "timeout-ratio", retryRatio: 0, timeoutRatio: 0.2 });
  });

  it("forgets everything on reset", () => {
    const healer = strained();
    healer.step(1_000);
    healer.reset();
    expect(healer.snapshot()).toEqual({ steps: 0, backoffFactor: 1, rateFactor: 1 });
    expect(healer.step(1_000)).toBeNull();
  });
});
