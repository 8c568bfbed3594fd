/**
 * The promises of the engine as executable assertions, each at its edges: the longest a call may take, how likely it
 * succeeds, and that an effect happens once.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Backoff } from "@/lib/retry/backoff/backoff";
import { expectedAttempts, successProbability, upperBoundMs } from "@/lib/retry/bounds";
import { createTargetState, execute } from "@/lib/retry/execute";
import type { Policy } from "@/lib/retry/policy";
import { type ManualClock, manualClock } from "@/lib/retry/testing/manual-clock";
import { coded } from "@/lib/retry/testing/scripted-call";
import { normal, seeded } from "@/lib/retry/testing/seeded";
import { BARE, finish } from "@/lib/retry/testing/vectors/operation";

const backoffs: fc.Arbitrary<Backoff> = fc.record({
  kind: fc.constant("exponential" as const),
  baseMs: fc.integer({ min: 0, max: 500 }),
  factor: fc.integer({ min: 1, max: 4 }),
  capMs: fc.integer({ min: 500, max: 3_000 }),
  jitter: fc.constantFrom(
    { kind: "none" } as const,
    { kind: "full" } as const,
    { kind: "equal" } as const,
    { kind: "decorrelated" } as const,
    { kind: "fraction", fraction: 0.5 } as const,
  ),
});

/** What the network does to one send. `slow` answers after the latency; `cut` drops the answer after the effect. */
type Weather = "ok" | "refused" | "cut" | "hangs";

/** A sink that applies an effect once per key, and a link in front of it that may lose the answer. */
function sink(clock: ManualClock, weather: () => Weather, latencyMs: () => number) {
  const seen = new Set<string>();
  const effects: string[] = [];
  return {
    effects,
    async send(key: string, signal: AbortSignal): Promise<string> {
      const now = weather();
      if (now === "refused") throw coded("ECONNREFUSED");
      if (!seen.has(key)) effects.push(key);
      seen.add(key);
      await clock.sleep(now === "hangs" ? 1e9 : latencyMs(), signal);
      if (now === "cut") throw coded("ECONNRESET");
      return key;
    },
  };
}

function run(policy: Policy, seed: number, weather: () => Weather, latencyMs: () => number) {
  const clock = manualClock();
  const random = seeded(seed);
  const target = createTargetState(policy, clock);
  const server = sink(clock, weather, latencyMs);
  const done = execute(
    { idempotencyKey: "key", retryable: true, attempt: ({ signal }) => server.send("key", signal) },
    { policy, target, clock, random },
  );
  return { clock, server, done: finish(clock, done) };
}

describe("timeout upper bound", () => {
  it("no call takes longer than W, whatever hangs, fails or answers late, and leaves no timer", async () => {
    await fc.assert(
      fc.asyncProperty(
        backoffs,
        fc.integer({ min: 1, max: 6 }),
        fc.integer({ min: 1, max: 800 }),
        fc.integer(),
        fc.array(fc.constantFrom<Weather>("ok", "refused", "cut", "hangs"), { minLength: 6, maxLength: 6 }),
        async (backoff, maxAttempts, attemptTimeoutMs, seed, weathers) => {
          const timing = { ...BARE, backoff, maxAttempts, attemptTimeoutMs };
          const policy = { ...timing, deadlineMs: Math.ceil(upperBoundMs(timing)) + 5, marginMs: 5 };
          let send = 0;
          const { clock, done } = run(
            policy,
            seed,
            () => weathers[send++]!,
            () => attemptTimeoutMs - 1,
          );
          const outcome = await done;
          expect(outcome.elapsedMs).toBeLessThanOrEqual(upperBoundMs(policy) + 1e-6);
          expect(outcome.attempts).toBeLessThanOrEqual(maxAttempts);
          expect(clock.timers).toBe(0);
        },
      ),
    );
  });

  it("W is reached exactly when every attempt hangs and every delay is drawn at its top", async () => {
    const backoff: Backoff = { kind: "exponential", baseMs: 100, factor: 2, capMs: 300, jitter: { kind: "none" } };
    const policy = { ...BARE, backoff, maxAttempts: 4, attemptTimeoutMs: 250, deadlineMs: 1_700, marginMs: 100 };
    const { done } = run(
      policy,
      1,
      () => "hangs",
      () => 0,
    );
    expect(upperBoundMs(policy)).toBe(1_600);
    expect(await done).toMatchObject({ kind: "failed", reason: "exhausted", elapsedMs: 1_600, attempts: 4 });
  });
});

describe("retry success probability", () => {
  it.each([
    [0.1, 1],
    [0.3, 3],
    [0.5, 4],
    [0.8, 5],
  ])("a drop rate of %d over %d attempts: simulation and formula agree", async (pDrop, maxAttempts) => {
    const calls = 2_000;
    const random = seeded(7);
    const clock = manualClock();
    const policy: Policy = { ...BARE, maxAttempts };
    const target = createTargetState(policy, clock);
    const attempt = async () => {
      if (random() < pDrop) throw coded("ECONNREFUSED");
    };
    let succeeded = 0;
    for (let call = 0; call < calls; call++) {
      const options = { policy, target, clock, random };
      const outcome = await finish(clock, execute({ idempotencyKey: "key", retryable: true, attempt }, options));
      if (outcome.kind === "ok") succeeded++;
    }
    const pOk = successProbability(pDrop, maxAttempts);
    // Three standard deviations of a binomial share.
    const tolerance = 3 * Math.sqrt((pOk * (1 - pOk)) / calls) + 1e-9;
    expect(Math.abs(succeeded / calls - pOk)).toBeLessThanOrEqual(tolerance);
    const expected = expectedAttempts(pDrop, maxAttempts);
    expect(Math.abs(target.counters.attempts / calls - expected)).toBeLessThanOrEqual(0.05 * expected);
  });
});

describe("no duplicate side effect", () => {
  it("at a sink that honours the key, under cut connections, hangs and injected jitter", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer(), fc.integer({ min: 1, max: 5 }), async (seed, hedges) => {
        const random = seeded(seed);
        const clock = manualClock();
        const policy: Policy = {
          ...BARE,
          maxAttempts: 6,
          attemptTimeoutMs: 400,
          backoff: { kind: "exponential", baseMs: 50, factor: 2, capMs: 500, jitter: { kind: "full" } },
          hedge: hedges > 1 ? { delayMs: 100, sendsMax: hedges } : null,
        };
        const target = createTargetState(policy, clock);
        const weathers: Weather[] = ["ok", "refused", "cut", "hangs"];
        const server = sink(
          clock,
          () => weathers[Math.floor(random() * 4)]!,
          () => Math.abs(normal(random, 100, 80)),
        );
        for (let call = 0; call < 5; call++) {
          const attempt = ({ signal }: { signal: AbortSignal }) => server.send(`key ${call}`, signal);
          const options = { policy, target, clock, random };
          await finish(clock, execute({ idempotencyKey: `key ${call}`, retryable: true, attempt }, options));
        }
        expect(server.effects).toHaveLength(new Set(server.effects).size);
        expect(clock.timers).toBe(0);
      }),
      { numRuns: 60 },
    );
  });

  it("at a sink that knows no keys, because nothing that may have arrived is resent", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer(), async (seed) => {
        const random = seeded(seed);
        const clock = manualClock();
        const policy: Policy = { ...BARE, maxAttempts: 6, attemptTimeoutMs: 400 };
        const target = createTargetState(policy, clock);
        const weathers: Weather[] = ["ok", "refused", "cut", "hangs"];
        let effects = 0;
        const attempt = async ({ signal }: { signal: AbortSignal }) => {
          const now = weathers[Math.floor(random() * 4)]!;
          if (now === "refused") throw coded("ECONNREFUSED");
          effects++;
          if (now === "hangs") await clock.sleep(1e9, signal);
          if (now === "cut") throw coded("ECONNRESET");
        };
        const call = { idempotencyKey: null, retryable: true, attempt };
        const outcome = await finish(clock, execute(call, { policy, target, clock, random }));
        expect(effects).toBeLessThanOrEqual(1);
        // The outcome never claims more certainty than there is.
        if (outcome.kind !== "ok") expect(outcome.sent).toBe(effects > 0 ? "maybe" : "no");
      }),
    );
  });
});
