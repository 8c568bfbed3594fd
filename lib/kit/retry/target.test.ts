import { describe, expect, it } from "vitest";
import { execute, tryExecute } from "@/lib/kit/retry/execute";
import { withFallback } from "@/lib/kit/retry/fallback";
import { ensureOk, HttpError } from "@/lib/kit/retry/http-error";
import { createLeakyBucket, createSlidingWindow, createTokenBucket } from "@/lib/kit/retry/limiters";
import { GUARDS, PRESETS } from "@/lib/kit/retry/presets";
import { createResponseCache } from "@/lib/kit/retry/sharing";
import { createTarget, type TargetOptions, type TargetPolicy } from "@/lib/kit/retry/target";
import { PolicyError } from "@/lib/retry/policy-error";
import { manualClock, settle } from "@/lib/retry/testing/manual-clock";

const refused = () => Promise.reject(Object.assign(new Error("x"), { code: "ECONNREFUSED" }));
const ONCE: TargetPolicy = { maxAttempts: 1 };

describe("a target", () => {
  it("shares its breaker among all calls", async () => {
    const clock = manualClock();
    const changes: string[] = [];
    const breaker = { ...GUARDS.breaker, trip: { kind: "consecutive", failures: 2 } } as const;
    const target = createTarget({ ...ONCE, breaker }, { clock, onBreakerChange: ({ to }) => void changes.push(to) });
    await target.run(refused);
    await target.run(refused);
    expect(await tryExecute(target, async () => "sent")).toMatchObject({
      kind: "failed",
      reason: "breaker-open",
      attempts: 0,
      untilMs: clock.wallMs() + 30_000,
    });
    await clock.advance(30_000);
    expect(await execute(target, async () => "sent")).toBe("sent");
    // The preset decides by one probe.
    expect(changes).toEqual(["open", "half-open", "closed"]);
    expect(target.snapshot().counters).toMatchObject({ operations: 4, attempts: 3, breakerDenied: 1 });
  });

  it("shares its budget, its bulkhead and its limiter", async () => {
    const clock = manualClock();
    const limiter = createTokenBucket({ ratePerSecond: 10, capacity: 2 }, { clock });
    const budget = { kind: "quota", capacity: 1, cost: { transient: 1, throttled: 1 }, reward: 0 } as const;
    const target = createTarget(
      { maxAttempts: 3, budget, backoff: { kind: "fixed", delayMs: 0, jitter: { kind: "none" } } },
      { clock, bulkhead: { permits: 1, queueMax: 1 }, limiter },
    );
    const end = target.run(refused);
    await clock.advance(100);
    // Attempt 1 and the only repeat that the budget pays for.
    expect(await end).toMatchObject({ kind: "failed", reason: "budget", attempts: 2 });
    const runs = [1, 2, 3].map((n) => target.run(() => clock.sleep(50).then(() => n)));
    expect(await runs[2]).toMatchObject({ kind: "failed", reason: "bulkhead-full" });
    await clock.advance(400);
    expect(await Promise.all(runs.slice(0, 2))).toMatchObject([{ value: 1 }, { value: 2 }]);
    expect(limiter.snapshot()).toEqual({ tokens: 2, waiting: 0 });
  });

  it("hedges a silent send of an idempotent call, and no other", async () => {
    const clock = manualClock();
    const target = createTarget({ attemptTimeoutMs: 2_000, hedge: { delayMs: 100, sendsMax: 2 } }, { clock });
    const sends: number[] = [];
    const send = async ({ attempt, signal }: { attempt: number; signal: AbortSignal }) => {
      sends.push(attempt);
      await clock.sleep(attempt === 1 ? 1_000 : 10, signal);
      return attempt;
    };
    const hedged = target.run(send, { idempotent: true });
    await clock.advance(200);
    expect(await hedged).toMatchObject({ kind: "ok", value: 2, elapsedMs: 110 });
    const plain = target.run(send);
    await clock.advance(1_000);
    expect(await plain).toMatchObject({ kind: "ok", value: 1 });
    expect(sends).toEqual([1, 2, 1]);
  });

  it("goes on under another policy, and says each attempt", async () => {
    const target = createTarget(ONCE);
    target.adopt({ maxAttempts: 2, backoff: { kind: "fixed", delayMs: 1, jitter: { kind: "none" } } });
    const results: string[] = [];
    const outcome = await target.run(refused, {
      onAttempt: ({ attempt, verdict }) => void results.push(`${attempt} ${verdict?.code}`),
    });
    expect(outcome).toMatchObject({ reason: "exhausted", attempts: 2 });
    expect(results).toEqual(["1 ECONNREFUSED", "2 ECONNREFUSED"]);
  });

  it("repeats nothing for a caller that has repeated already", async () => {
    const outcome = await createTarget(PRESETS.httpCall).run(refused, { incomingRetryCount: 2 });
    expect(outcome).toMatchObject({ kind: "failed", reason: "amplified", attempts: 1 });
  });

  it.each<[TargetPolicy, TargetOptions, string]>([
    [{ maxAttempts: 0 }, {}, "maxAttempts = 0"],
    [{ breaker: { ...GUARDS.breaker, probes: 0 } }, {}, "breaker.probes = 0"],
    [{ hedge: { delayMs: 100, sendsMax: 1 } }, {}, "hedge.sendsMax = 1"],
    [{ phases: { connectMs: 200, firstByteMs: 100 } }, {}, "phases.connectMs = 200, <= phases.firstByteMs (100)"],
    [{}, { bulkhead: { permits: 0, queueMax: 1 } }, "bulkhead.permits = 0"],
  ])("%j %j is refused by name", (policy, options, message) => {
    expect(() => createTarget(policy, options)).toThrow(PolicyError);
    expect(() => createTarget(policy, options)).toThrow(message);
  });
});

describe("a limiter", () => {
  it("that leaks lets calls out evenly, and refuses one more than may wait", async () => {
    const clock = manualClock({ nowMs: 0 });
    const bucket = createLeakyBucket({ ratePerSecond: 4, queueMax: 2 }, { clock });
    const outMs: number[] = [];
    const take = () => bucket.take().then(() => outMs.push(clock.nowMs()));
    const calls = [take(), take(), take()];
    await expect(bucket.take()).rejects.toMatchObject({ name: "QueueFullError", code: "RATE_QUEUE_FULL", sent: "no" });
    await clock.advance(1_000);
    await Promise.all(calls);
    expect(outMs).toEqual([0, 250, 500]);
  });

  it("with a window says when there is room", async () => {
    const clock = manualClock({ nowMs: 0 });
    const window = createSlidingWindow({ limit: 2, windowMs: 1_000 }, { clock });
    expect([window.tryTake(), window.tryTake(), window.tryTake()].map(({ granted }) => granted)).toEqual([
      true,
      true,
      false,
    ]);
    const { waitMs } = window.tryTake();
    await clock.advance(waitMs);
    expect(window.tryTake()).toEqual({ granted: true, waitMs: 0 });
  });

  it.each([
    [() => createTokenBucket({ ratePerSecond: 0, capacity: 1 }), "ratePerSecond = 0, a number > 0"],
    [() => createTokenBucket({ ratePerSecond: 1, capacity: 0.5 }), "capacity = 0.5"],
    [() => createLeakyBucket({ ratePerSecond: 1, queueMax: -1 }), "queueMax = -1"],
    [() => createSlidingWindow({ limit: 1.5, windowMs: 10 }), "limit = 1.5"],
    [() => createResponseCache({ entriesMax: 0, ttlMs: 1, staleMs: 0 }), "entriesMax = 0"],
  ])("%# is refused by name", (make, message) => {
    expect(make).toThrow(message);
  });
});

describe("a fallback", () => {
  it("stands in for a failure, but not for a cancellation or what it was not made for", async () => {
    expect(await withFallback(refused, () => "stored")).toBe("stored");
    const cancelled = () => execute({}, refused, { signal: AbortSignal.abort() });
    await expect(withFallback(cancelled, () => "stored")).rejects.toMatchObject({ code: "CANCELLED" });
    await expect(
      withFallback(
        refused,
        () => "stored",
        () => false,
      ),
    ).rejects.toMatchObject({ code: "ECONNREFUSED" });
  });

  it("that fails as well leaves both errors", async () => {
    const both = withFallback(refused, () => Promise.reject(new Error("no copy"))).catch((error: unknown) => error);
    expect(await both).toMatchObject({ errors: [{ message: "no copy" }, { code: "ECONNREFUSED" }] });
  });
});

describe("an HTTP answer that is no success", () => {
  it("is thrown with what the engine reads, and the beginning of its body", async () => {
    const headers = { "retry-after": "7", "x-amz-retry-after": "250" };
    const response = new Response("x".repeat(100_000), { status: 503, headers });
    const error = await ensureOk(response).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(HttpError);
    expect(error).toMatchObject({ status: 503, retryAfter: "7", retryAfterMs: "250" });
    expect((error as HttpError).body).toHaveLength(4_096);
    const bare = await ensureOk(new Response(null, { status: 404 })).catch((thrown: unknown) => thrown);
    expect(bare).toMatchObject({ status: 404, retryAfter: null, retryAfterMs: null, body: "" });
  });

  it("keeps its status when its body breaks off", async () => {
    const body = new ReadableStream({
      pull: (controller) => controller.error(new Error("terminated")),
      start: (controller) => controller.enqueue(new TextEncoder().encode("bus")),
    });
    const error = ensureOk(new Response(body, { status: 503 }));
    await expect(error).rejects.toMatchObject({ name: "HttpError", status: 503 });
  });

  it("is repeated after the delay that it asks for", async () => {
    const clock = manualClock({ nowMs: 0 });
    const answers = [new Response(null, { status: 429, headers: { "retry-after": "3" } }), new Response("done")];
    const running = execute({}, async ({ attempt }) => ensureOk(answers[attempt - 1]!), { clock });
    await settle();
    // Reading the answer's body takes turns of the event loop.
    await new Promise(setImmediate);
    await clock.advance(2_999);
    expect(clock.timers).toBe(1);
    await clock.advance(1);
    expect(await (await running).text()).toBe("done");
  });
});
