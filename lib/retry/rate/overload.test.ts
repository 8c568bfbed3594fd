import { describe, expect, it } from "vitest";
import { execute } from "@/lib/retry/execute";
import { POLICY_PRESETS } from "@/lib/retry/policy";
import { overloadGate } from "@/lib/retry/rate/overload";
import { createTargetState } from "@/lib/retry/target";
import { manualClock } from "@/lib/retry/testing/manual-clock";

const POLICY = { k: 2, windowMs: 120_000 };

describe("the limit on sends to an overloaded target", () => {
  it("draws nothing and rejects nothing while one in k is accepted", () => {
    const gate = overloadGate(POLICY);
    const never = () => {
      throw new Error("drew");
    };
    for (let call = 0; call < 100; call++) {
      expect(gate.admits(never, call)).toBe(true);
      if (call % 2 === 0) gate.accept(call);
    }
    expect(gate.snapshot(99)).toEqual({ requests: 100, accepts: 50, rejectionProbability: 0 });
  });

  it("rejects by the share of the formula, its own rejections counted as requests", () => {
    const gate = overloadGate(POLICY);
    expect(gate.admits(() => 0, 0)).toBe(true);
    // (1 - 0) / 2: the first send was not accepted.
    expect(gate.admits(() => 0.49, 1)).toBe(false);
    expect(gate.admits(() => 0.67, 2)).toBe(true);
    expect(gate.snapshot(3)).toEqual({ requests: 3, accepts: 0, rejectionProbability: 0.75 });
  });

  it("forgets what has left its window, and what was withdrawn", () => {
    const gate = overloadGate(POLICY);
    gate.admits(() => 1, 0);
    gate.admits(() => 1, 1);
    gate.withdraw(2);
    expect(gate.snapshot(3).requests).toBe(1);
    expect(gate.snapshot(120_001)).toEqual({ requests: 0, accepts: 0, rejectionProbability: 0 });
  });
});

describe("an operation on an overloaded target", () => {
  const policy = { ...POLICY_PRESETS["slow-lane"], maxAttempts: 1, stopOnOverload: POLICY };
  const call = {
    idempotencyKey: "k",
    retryable: true,
    attempt: () => Promise.reject(Object.assign(new Error("busy"), { code: "HTTP_429" })),
  };

  it("fails unsent, and is put off when nobody waits for it", async () => {
    const clock = manualClock();
    const target = createTargetState(policy, clock);
    const run = (random: () => number, patient = false) => execute(call, { policy, target, clock, random, patient });
    expect(await run(() => 0)).toMatchObject({ reason: "exhausted", attempts: 1 });
    expect(await run(() => 0)).toMatchObject({
      kind: "failed",
      reason: "overload",
      code: "OVERLOAD",
      attempts: 0,
      sent: "no",
    });
    expect(await run(() => 0, true)).toMatchObject({ kind: "deferred", cause: "overload", attempts: 0 });
    expect(await run(() => 0.99)).toMatchObject({ reason: "exhausted", attempts: 1 });
    expect(target.snapshot()).toMatchObject({
      overload: { requests: 4, accepts: 0 },
      counters: { operations: 3, overloadDenied: 2, deferred: 0 },
    });
  });

  it("counts an answer as accepted, a permanent refusal too, and nothing for a call that was cancelled", async () => {
    const clock = manualClock();
    const target = createTargetState(policy, clock);
    const run = (attempt: () => Promise<unknown>) =>
      execute({ ...call, attempt }, { policy, target, clock, random: () => 1 });
    await run(async () => "ok");
    await run(() => Promise.reject(Object.assign(new Error("gone"), { code: "HTTP_404" })));
    await run(() => Promise.reject(Object.assign(new Error("ended"), { name: "AbortError" })));
    expect(target.snapshot().overload).toEqual({ requests: 2, accepts: 2, rejectionProbability: 0 });
  });

  it("keeps its counts under another policy with the same limit, and begins anew under another limit", () => {
    const target = createTargetState(policy, manualClock());
    const before = target.overload;
    target.adopt({ ...policy, healing: null });
    expect(target.overload).toBe(before);
    target.adopt({ ...policy, stopOnOverload: null });
    expect(target.overload).toBeNull();
  });
});
