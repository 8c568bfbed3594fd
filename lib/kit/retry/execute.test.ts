import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type AttemptEvent, retry, type Send } from "@/lib/kit/retry/bare";
import { classifyAny } from "@/lib/kit/retry/classify";
import { execute, type Runner, tryExecute } from "@/lib/kit/retry/execute";
import type { RetryPolicy } from "@/lib/kit/retry/policy";
import { PRESETS } from "@/lib/kit/retry/presets";
import { createTarget } from "@/lib/kit/retry/target";
import type { Outcome } from "@/lib/retry/call";
import { OperationError } from "@/lib/retry/errors";
import { PolicyError } from "@/lib/retry/policy-error";
import { type ManualClock, manualClock } from "@/lib/retry/testing/manual-clock";
import { countListeners } from "@/lib/retry/testing/scripted-call";
import { seeded } from "@/lib/retry/testing/seeded";

type Step = { afterMs: number; end: "ok" | "hang" | "throw" | object };

const STEP: fc.Arbitrary<Step> = fc.record({
  afterMs: fc.integer({ min: 0, max: 1_500 }),
  end: fc.oneof(
    fc.constantFrom<Step["end"]>("ok", "hang", "throw"),
    fc.record({ code: fc.constantFrom("ECONNREFUSED", "ECONNRESET", "ENOTFOUND", "ABORT_ERR", "NONSENSE") }),
    fc.record({
      status: fc.constantFrom(400, 408, 429, 500, 503),
      retryAfter: fc.constantFrom("0", "1", "2", "90", "soon"),
    }),
    fc.record({ status: fc.constant(503), retryAfterMs: fc.constantFrom("0", "700", "100000") }),
    fc.record({ status: fc.constant(503), pushback: fc.constantFrom("0", "800", "-1") }),
  ),
});

const JITTER = fc.constantFrom<{ kind: "none" | "full" | "equal" }>(
  { kind: "none" },
  { kind: "full" },
  { kind: "equal" },
);
const BACKOFF = fc.oneof(
  fc.record({ kind: fc.constant("fixed" as const), delayMs: fc.integer({ min: 0, max: 900 }), jitter: JITTER }),
  fc.record({
    kind: fc.constant("exponential" as const),
    baseMs: fc.integer({ min: 0, max: 300 }),
    factor: fc.constantFrom(1, 2, 3),
    capMs: fc.integer({ min: 300, max: 2_000 }),
    jitter: fc.oneof(JITTER, fc.constant({ kind: "decorrelated" as const })),
  }),
);

const CASE = fc.record({
  steps: fc.array(STEP, { minLength: 1, maxLength: 6 }),
  policy: fc.record({
    maxAttempts: fc.integer({ min: 1, max: 5 }),
    attemptTimeoutMs: fc.integer({ min: 1, max: 1_200 }),
    marginMs: fc.constantFrom(0, 150),
    backoff: BACKOFF,
    throttledBackoff: fc.option(BACKOFF),
    retryAfterMsMax: fc.constantFrom(500, 86_400_000),
    hintSpread: fc.constantFrom(0, 0.5),
  }),
  idempotent: fc.boolean(),
  cancelMs: fc.option(fc.integer({ min: 0, max: 4_000 })),
  incomingRetryCount: fc.constantFrom(0, 0, 1, 9),
  seed: fc.integer(),
});

/** Sends by a script, and keeps when each send began. */
function scripted(clock: ManualClock, steps: readonly Step[]) {
  const sentAtMs: number[] = [];
  const retryCounts: number[] = [];
  const send: Send<string> = ({ attempt, retryCount, signal }) => {
    sentAtMs.push(clock.nowMs());
    retryCounts.push(retryCount);
    const { afterMs, end } = steps[(attempt - 1) % steps.length]!;
    if (end === "throw") throw Object.assign(new Error("at once"), { code: "ECONNREFUSED" });
    return new Promise((resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
      if (end === "hang") return;
      clock.timer(afterMs, () => (end === "ok" ? resolve(`answer ${attempt}`) : reject(end)));
    });
  };
  return { send, sentAtMs, retryCounts };
}

async function toEnd<T>(clock: ManualClock, running: Promise<T>): Promise<T> {
  let done = false;
  const mark = () => {
    done = true;
  };
  running.then(mark, mark);
  while (!done && (await clock.next()));
  return running;
}

type Case = {
  policy: RetryPolicy;
  steps: Step[];
  idempotent: boolean;
  cancelMs: number | null;
  incomingRetryCount?: number;
  seed: number;
};

async function history(given: Case, on: (clock: ManualClock, random: () => number) => Runner | RetryPolicy) {
  const clock = manualClock();
  const random = seeded(given.seed);
  const { send, sentAtMs, retryCounts } = scripted(clock, given.steps);
  const controller = new AbortController();
  const cancelling =
    given.cancelMs === null ? null : clock.timer(given.cancelMs + 0.5, () => controller.abort("enough"));
  const events: Omit<AttemptEvent, "inputs">[] = [];
  const options = {
    idempotent: given.idempotent,
    ...(given.incomingRetryCount !== undefined && { incomingRetryCount: given.incomingRetryCount }),
    signal: controller.signal,
    // The engine's record has the inputs of the decision beside it.
    onAttempt: ({ inputs: _, ...event }: AttemptEvent & { inputs?: unknown }) => void events.push(event),
  };
  const target = on(clock, random);
  const running =
    "run" in target ? tryExecute(target, send, options) : tryExecute(target, send, { ...options, clock, random });
  const outcome = await toEnd(clock, running);
  cancelling?.(); // the test's own: what is left is the call's
  return { outcome, events, sentAtMs, retryCounts, timersLeft: clock.timers };
}

describe("a call without a target", () => {
  it("goes like the engine under the same script, clock and chance", async () => {
    await fc.assert(
      fc.asyncProperty(CASE, async (given) => {
        const alone = await history(given, () => given.policy);
        const engine = await history(given, (clock, random) => createTarget(given.policy, { clock, random }));
        expect(alone).toEqual(engine);
      }),
      { numRuns: 300 },
    );
  });

  it("repeats up to the limit, at the delays of the policy, and leaves no timer", async () => {
    const clock = manualClock({ nowMs: 0 });
    const { send, sentAtMs } = scripted(clock, [{ afterMs: 10, end: { code: "ECONNREFUSED" } }]);
    // Half of each longest delay, since the draw is half.
    const outcome = await toEnd(clock, tryExecute(PRESETS.redrive, send, { clock, random: () => 0.5 }));
    expect(sentAtMs).toEqual([0, 110, 370, 980, 2_240]);
    expect(outcome).toMatchObject({
      kind: "failed",
      reason: "exhausted",
      code: "ECONNREFUSED",
      sent: "no",
      attempts: 5,
    });
    expect(clock.timers).toBe(0);
  });

  it("repeats a name that does not resolve three times in a row, not as often as the policy allows", async () => {
    const clock = manualClock();
    const unknown = [{ afterMs: 0, end: { code: "ENOTFOUND" } }];
    const ends = [unknown, [...unknown, ...unknown, { afterMs: 0, end: { code: "ECONNREFUSED" } }]].map((steps) =>
      toEnd(clock, tryExecute({ maxAttempts: 8 }, scripted(clock, steps).send, { clock })),
    );
    expect(await Promise.all(ends)).toMatchObject([
      { reason: "permanent", attempts: 4 },
      { reason: "exhausted", attempts: 8 },
    ]);
  });

  it("spreads a hint when asked to, and never comes earlier", async () => {
    const steps: Step[] = [
      { afterMs: 0, end: { status: 429, retryAfter: "2" } },
      { afterMs: 0, end: "ok" },
    ];
    const delays = async (policy: RetryPolicy) => {
      const waits: number[] = [];
      for (let seed = 0; seed < 200; seed++) {
        const { sentAtMs } = await history({ steps, idempotent: true, cancelMs: null, policy, seed }, () => policy);
        waits.push(sentAtMs[1]! - sentAtMs[0]!);
      }
      return waits;
    };
    expect(new Set(await delays({}))).toEqual(new Set([2_000]));
    const spread = await delays({ hintSpread: 0.5 });
    expect(Math.min(...spread)).toBeGreaterThanOrEqual(2_000);
    expect(Math.max(...spread)).toBeLessThan(3_000);
    expect(Math.max(...spread) - Math.min(...spread)).toBeGreaterThan(900);
  });

  it("waits out a timer that fires before its time", async () => {
    const clock = manualClock({ nowMs: 0 });
    const hasty = { ...clock, timer: (ms: number, fire: () => void) => clock.timer(ms > 1 ? ms - 0.7 : ms, fire) };
    const steps: Step[] = [
      { afterMs: 0, end: { status: 429, retryAfter: "1" } },
      { afterMs: 0, end: "ok" },
    ];
    const { send, sentAtMs } = scripted(clock, steps);
    await toEnd(clock, tryExecute({}, send, { clock: hasty }));
    expect(sentAtMs[1]).toBeGreaterThanOrEqual(1_000);
  });

  it("leaves no listener on the caller's signal", async () => {
    const { signal } = new AbortController();
    const listeners = countListeners(signal);
    await tryExecute(
      { backoff: { kind: "fixed", delayMs: 1, jitter: { kind: "none" } } },
      async ({ attempt }) => {
        if (attempt < 3) throw Object.assign(new Error("x"), { code: "ECONNREFUSED" });
      },
      { signal },
    );
    expect(listeners()).toBe(0);
  });

  it("sends nothing when it was cancelled before it began", async () => {
    const outcome = await tryExecute({}, async () => "sent", { signal: AbortSignal.abort("late") });
    expect(outcome).toMatchObject({ kind: "cancelled", reason: "late", attempts: 0, sent: "no" });
  });

  it("ends with the error of onAttempt", async () => {
    const onAttempt = async () => {
      throw new Error("no log");
    };
    await expect(execute({}, async () => 1, { onAttempt })).rejects.toThrow("no log");
  });

  it("takes a whole policy as it is when no bundle may hold the checks", async () => {
    const run = async (call: (clock: ManualClock, random: () => number, send: Send<string>) => Promise<unknown>) => {
      const clock = manualClock();
      const { send, sentAtMs } = scripted(clock, [{ afterMs: 10, end: { code: "40P01" } }]);
      return [await toEnd(clock, call(clock, seeded(7), send)), sentAtMs, clock.timers];
    };
    for (const preset of Object.values(PRESETS)) {
      const bare = await run((clock, random, send) => retry(preset, send, { clock, random, classify: classifyAny }));
      expect(bare).toEqual(
        await run((clock, random, send) => tryExecute(preset, send, { clock, random, classify: classifyAny })),
      );
      expect(bare).toMatchObject([{ reason: "exhausted", attempts: preset.maxAttempts }, {}, 0]);
    }
  });

  it("resolves with the value, or rejects around the last error", async () => {
    expect(await execute({}, async () => 7)).toBe(7);
    const cause = Object.assign(new Error("x"), { code: "ERR_INVALID_URL" });
    const thrown = await execute({}, () => Promise.reject(cause)).catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(OperationError);
    expect(thrown).toMatchObject({ code: "ERR_INVALID_URL", cause, outcome: { reason: "permanent", attempts: 1 } });
  });

  it("judges by the function that it is given", async () => {
    const deadlock = () => Promise.reject(Object.assign(new Error("deadlock"), { code: "40P01" }));
    const runs = [
      tryExecute(PRESETS.database, deadlock),
      tryExecute(PRESETS.database, deadlock, { classify: classifyAny }),
    ];
    const [unknown, known] = (await Promise.all(runs)) as Extract<Outcome<never>, { kind: "failed" }>[];
    expect([unknown!.reason, unknown!.attempts, known!.reason, known!.attempts]).toEqual([
      "permanent",
      1,
      "exhausted",
      5,
    ]);
  });
});

describe("a policy", () => {
  it.each<[RetryPolicy, string]>([
    [{ maxAttempts: 0 }, "maxAttempts = 0, a whole number >= 1 and <= 1000"],
    [{ deadlineMs: 5_000 }, "deadlineMs = 5000, >= 9300 (all attempts, their longest delays and the margin)"],
    [{ maxAttempts: 1_000, attemptTimeoutMs: 1e9 }, "deadlineMs = 1000000996500, a number > 0 and <= 2147483647"],
    [{ hintSpread: -0.1 }, "hintSpread = -0.1, a number >= 0 and <= 10"],
    [
      { backoff: { kind: "fibonacci" } as never },
      'backoff.kind = "fibonacci", one of fixed, linear, exponential, ladder',
    ],
    [{ retries: 3 } as never, "retries = 3, not a field"],
    [{ breaker: null } as never, "breaker = null, not a field"],
  ])("%j is refused by name, before anything is sent", async (policy, message) => {
    let sends = 0;
    const refused = await execute(policy, async () => ++sends).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(PolicyError);
    expect(String(refused)).toContain(message);
    expect(sends).toBe(0);
  });

  it.each([
    [undefined, async () => 1, "policy = nothing, an object"],
    [async () => 1, {}, "an object"],
    [{}, undefined, "send = nothing, a function"],
  ])("%# in the wrong place is refused by name", async (policy, send, message) => {
    await expect(execute(policy as never, send as never)).rejects.toThrow(message);
  });

  it("has a default for each field, and the least deadline that fits", async () => {
    const { wholePolicy } = await import("@/lib/kit/retry/policy");
    expect(wholePolicy({ maxAttempts: undefined as never })).toMatchObject({ maxAttempts: 3, deadlineMs: 9_300 });
    expect(wholePolicy({ marginMs: 50, maxAttempts: 1 })).toMatchObject({ deadlineMs: 3_050, hintSpread: 0 });
  });

  it.each(Object.entries(PRESETS))("preset %s runs", async (_, preset) => {
    expect(await execute(preset, async () => "ok")).toBe("ok");
    expect(await execute(createTarget(preset), async () => "ok")).toBe("ok");
  });
});
