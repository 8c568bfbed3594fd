import { describe, expect, it, vi } from "vitest";
import type { Call } from "@/lib/retry/call";
import { zeroCounters } from "@/lib/retry/counters";
import { OperationError, TimeoutError, unwrap } from "@/lib/retry/errors";
import { execute } from "@/lib/retry/execute";
import { POLICY_PRESETS } from "@/lib/retry/policy";
import { PolicyError } from "@/lib/retry/policy-error";
import { Throttle } from "@/lib/retry/rate/throttle";
import { settle } from "@/lib/retry/testing/manual-clock";
import { type Bench, bench, coded, countListeners } from "@/lib/retry/testing/scripted-call";

const FIXED = { kind: "fixed", delayMs: 1_000, jitter: { kind: "none" } } as const;
const patient = { patient: true } as const;
const FULL = { kind: "exponential", baseMs: 400, factor: 2, capMs: 9_000, jitter: { kind: "full" } } as const;

/** Fails the send that is open and lets everything settle. */
async function fail(on: Bench, error: unknown): Promise<void> {
  on.sends.at(-1)!.reject(error);
  await settle();
}

async function succeed(on: Bench, value = "done"): Promise<void> {
  on.sends.at(-1)!.resolve(value);
  await settle();
}

describe("attempts", () => {
  it("counts the first one: maxAttempts 3 sends three times and no more", async () => {
    const on = bench({ maxAttempts: 3, backoff: FIXED });
    const done = on.start();
    for (let attempt = 0; attempt < 3; attempt++) {
      await on.clock.advance(attempt === 0 ? 0 : 1_000);
      await fail(on, coded("ECONNRESET"));
    }
    await on.clock.advance(60_000);
    expect(await done).toMatchObject({
      kind: "failed",
      reason: "exhausted",
      code: "ECONNRESET",
      error: expect.objectContaining({ code: "ECONNRESET" }),
      sent: "maybe",
      untilMs: null,
      attempts: 3,
      elapsedMs: 2_000,
    });
    expect(on.sends.map(({ atMs }) => atMs)).toEqual([0, 1_000, 2_000]);
    expect(on.sends.map(({ context }) => context.attempt)).toEqual([1, 2, 3]);
  });

  it("waits what backoff and random say, and answers the first success", async () => {
    const on = bench({ backoff: FULL });
    const done = on.start();
    await settle();
    await fail(on, coded("ECONNRESET"));
    await on.clock.advance(199);
    expect(on.sends).toHaveLength(1);
    await on.clock.advance(1);
    await fail(on, coded("ECONNREFUSED"));
    await on.clock.advance(400);
    await succeed(on, "third");
    expect(await done).toEqual({ kind: "ok", value: "third", attempts: 3, elapsedMs: 600 });
    expect(unwrap(await done)).toBe("third");
  });

  it("goes on numbering where an earlier run stopped, within the same limit", async () => {
    const on = bench({ maxAttempts: 4, backoff: FULL });
    const opened: number[] = [];
    const done = on.start({ firstAttempt: 3, onOpen: async (attempt) => void opened.push(attempt) });
    await settle();
    await fail(on, coded("ECONNRESET"));
    await on.clock.advance(799);
    expect(on.sends).toHaveLength(1);
    await on.clock.advance(1);
    await fail(on, coded("ECONNRESET"));
    expect(await done).toMatchObject({ reason: "exhausted", attempts: 2 });
    expect(opened).toEqual([3, 4]);
  });

  it("makes one more attempt even when the numbering is past the limit", async () => {
    const on = bench({ maxAttempts: 2 });
    const end = await on.play([coded("ECONNRESET")], { firstAttempt: 9 });
    expect(end).toMatchObject({ reason: "exhausted", attempts: 1 });
  });

  it("treats a synchronous throw like a rejection", async () => {
    const on = bench({ maxAttempts: 1 });
    const attempt = () => {
      throw coded("ECONNREFUSED");
    };
    expect(await on.start({ attempt })).toMatchObject({ reason: "exhausted", code: "ECONNREFUSED", sent: "no" });
  });
});

describe("whether a failure is repeated", () => {
  const withoutKey = { idempotencyKey: null } as const;
  const nobodyKnows = Object.assign(new Error("x"), { code: "NOBODY_KNOWS", sent: "no" });
  const repeated = { kind: "ok", attempts: 2 };

  it.each<[title: string, error: Error, expected: object, call?: Partial<Call<string>>]>([
    ["a permanent failure", coded("HTTP_404"), { reason: "permanent", code: "HTTP_404", sent: "no" }],
    ["an unknown failure", new TypeError("x"), { reason: "permanent", code: "UNKNOWN", sent: "maybe" }],
    ["a target off the whitelist", coded("ECONNREFUSED"), { reason: "not-retryable" }, { retryable: false }],
    ["a send without a key that may have arrived", coded("ECONNRESET"), { reason: "ambiguous" }, withoutKey],
    ["a send without a key that surely did not arrive", coded("ECONNREFUSED"), repeated, withoutKey],
    ["a call whose lower layer has given up", coded("HTTP_503", { retriesExhausted: true }), { reason: "amplified" }],
  ])("%s", async (_, error, expected, call) => {
    const on = bench({ maxAttempts: 2 });
    const end = await on.play([error, "done"], call);
    expect(end).toMatchObject(expected === repeated ? repeated : { kind: "failed", attempts: 1, ...expected });
  });

  it.each<[title: string, retryOn: string[], error: Error, expected: object, call?: Partial<Call<string>>]>([
    ["a code that is not listed", ["HTTP_404", "ECONNREFUSED"], coded("HTTP_503"), { reason: "not-listed" }],
    ["a listed code", ["ECONNREFUSED"], coded("ECONNREFUSED"), repeated],
    ["a listed code that is permanent", ["HTTP_404"], coded("HTTP_404"), { reason: "permanent" }],
    [
      "a listed code that may have arrived, without a key",
      ["ECONNRESET"],
      coded("ECONNRESET"),
      { reason: "ambiguous", sent: "maybe" },
      withoutKey,
    ],
    ["a type that is listed", ["throttled"], coded("HTTP_429"), repeated],
    ["a type that is not listed", ["throttled"], coded("HTTP_503"), { reason: "not-listed" }],
    [
      "an unknown failure under listed types",
      ["transient", "throttled", "ambiguous"],
      nobodyKnows,
      { reason: "not-listed" },
    ],
    ["an unknown failure that is listed as such", ["unknown"], nobodyKnows, repeated],
  ])("by the list of its policy: %s", async (_, retryOn, error, expected, call) => {
    const on = bench({ maxAttempts: 2, retryOn });
    const end = await on.play([error, "done"], call);
    expect(end).toMatchObject(expected === repeated ? repeated : { kind: "failed", attempts: 1, ...expected });
  });

  it("a code more often than its own limit allows", async () => {
    const on = bench({ maxAttempts: 9, attemptTimeoutMs: 1_000 });
    const done = on.start();
    for (const code of ["ENOTFOUND", "ECONNREFUSED", "ENOTFOUND", "ENOTFOUND", "ENOTFOUND", "ENOTFOUND"]) {
      await on.clock.advance(0);
      await fail(on, coded(code));
    }
    expect(await done).toMatchObject({ reason: "permanent", code: "ENOTFOUND", attempts: 6 });
  });

  it("an operation found ambiguous and without a key is not sent at all", async () => {
    const on = bench();
    expect(await on.start({ ambiguous: true, idempotencyKey: null })).toMatchObject({
      reason: "ambiguous",
      code: "AMBIGUOUS",
      sent: "maybe",
      attempts: 0,
    });
    expect(on.sends).toEqual([]);
    expect(await on.play([coded("HTTP_404")], { ambiguous: true })).toMatchObject({ sent: "maybe", attempts: 1 });
  });

  it("a failure that an aborted fetch of the caller's own made is a cancellation", async () => {
    const on = bench();
    const done = on.start();
    await settle();
    const error = Object.assign(new Error("x"), { name: "AbortError" });
    await fail(on, error);
    expect(await done).toMatchObject({ kind: "cancelled", reason: error, sent: "maybe", attempts: 1 });
    expect(on.records).toMatchObject([{ result: "cancelled", next: null }]);
  });
});

describe("amplification", () => {
  it("counts the caller's repeats against the same limit and passes the sum on", async () => {
    const on = bench({ maxAttempts: 5 });
    const end = await on.play([coded("ECONNREFUSED"), coded("ECONNREFUSED")], { incomingRetryCount: 3 });
    expect(end).toMatchObject({ reason: "amplified", attempts: 2 });
    expect(on.sends.map(({ context }) => context.retryCount)).toEqual([3, 4]);
  });

  it("starts the count at the repeats made here when none came in", async () => {
    const on = bench({ maxAttempts: 2 });
    void on.start();
    await settle();
    expect(on.sends[0]!.context.retryCount).toBe(0);
    await fail(on, coded("ECONNREFUSED"));
    await on.clock.advance(0);
    expect(on.sends[1]!.context.retryCount).toBe(1);
    await succeed(on);
  });
});

describe("Retry-After", () => {
  it("overrides the backoff, longer or shorter", async () => {
    const on = bench({ backoff: { ...FIXED, delayMs: 1_500 } });
    const done = on.start();
    await settle();
    await fail(on, coded("HTTP_429", { retryAfter: "3" }));
    await on.clock.advance(2_999);
    expect(on.sends).toHaveLength(1);
    await on.clock.advance(1);
    await fail(on, coded("HTTP_503", { retryAfter: "1" }));
    await on.clock.advance(1_000);
    await succeed(on);
    expect(await done).toMatchObject({ kind: "ok", attempts: 3, elapsedMs: 4_000 });
    expect(on.target.counters).toMatchObject({ retryAfterHonored: 2, retryAllowed: 2, throttled: 2 });
  });

  it("is ignored when malformed", async () => {
    const on = bench({ backoff: FIXED });
    const end = await on.play([coded("HTTP_429", { retryAfter: "-1" }), 1_000, "done"]);
    expect(end).toMatchObject({ kind: "ok", elapsedMs: 1_000 });
    expect(on.target.counters.retryAfterHonored).toBe(0);
  });

  it.each([
    ["of zero seconds", { retryAfter: "0" }],
    ["whose date is past, as from a clock that is behind", { retryAfter: "Fri, 20 Nov 2020 09:01:30 GMT" }],
    ["of zero milliseconds", { retryAfterMs: "0" }],
  ])("%s is no hint: the own backoff decides", async (_, hint) => {
    const on = bench({ maxAttempts: 4, backoff: { ...FULL, baseMs: 800, jitter: { kind: "none" } } });
    const done = on.start();
    for (const delayMs of [0, 800, 1_600, 3_200]) {
      await on.clock.advance(delayMs);
      await fail(on, coded("HTTP_503", hint));
    }
    expect(await done).toMatchObject({ kind: "failed", reason: "exhausted", untilMs: null });
    expect(on.sends.map(({ atMs }) => atMs)).toEqual([0, 800, 2_400, 5_600]);
    expect(on.target.counters.retryAfterHonored).toBe(0);
  });

  it.each([
    ["longer than the backoff", { retryAfterMs: "1700" }, 1_700],
    ["shorter than the backoff", { retryAfterMs: "200" }, 1_000],
    ["finer than a Retry-After", { retryAfter: "1", retryAfterMs: "1250" }, 1_250],
    ["less than a Retry-After", { retryAfter: "3", retryAfterMs: "1250" }, 3_000],
    ["under a gRPC pushback, which is exact", { pushback: "60000", retryAfter: "7", retryAfterMs: "90" }, 60_000],
    ["under a shorter gRPC pushback", { pushback: "40", retryAfter: "7", retryAfterMs: "90" }, 40],
  ])("in milliseconds is the least wait: %s", async (_, hint, waitMs) => {
    const on = bench({ backoff: FIXED, deadlineMs: 90_000 });
    const done = on.start();
    await settle();
    await fail(on, coded("HTTP_503", hint));
    await on.clock.advance(waitMs - 1);
    expect(on.sends).toHaveLength(1);
    await on.clock.advance(1);
    await succeed(on);
    expect(await done).toMatchObject({ kind: "ok", attempts: 2, elapsedMs: waitMs });
    expect(on.target.counters.retryAfterHonored).toBe(1);
  });

  it("is no wait at all after a gRPC pushback of zero", async () => {
    const on = bench({ backoff: FIXED });
    const end = await on.play([coded("HTTP_503", { pushback: "0", retryAfter: "7", retryAfterMs: "90" }), "done"]);
    expect(end).toMatchObject({ kind: "ok", attempts: 2, elapsedMs: 0 });
  });

  it("defers what does not fit the deadline, never retrying early", async () => {
    const on = bench({ deadlineMs: 20_000, marginMs: 500 });
    expect(await on.play([coded("HTTP_429", { retryAfter: "20" })])).toMatchObject({
      kind: "deferred",
      cause: "retry-after",
      code: "HTTP_429",
      sent: "no",
      untilMs: on.clock.wallMs() + 20_000,
      attempts: 1,
    });
    expect(on.clock.timers).toBe(0);
    expect(on.target.counters).toMatchObject({ deferred: 1, retryAfterHonored: 1, retryAllowed: 0, failed: 0 });
  });

  it.each([
    ["a gRPC pushback", {}, { pushback: "60000" }],
    ["what is believed up to the policy's limit", { retryAfterMsMax: 60_000 }, { retryAfter: "99999999" }],
  ])("defers %s", async (_, policy, hint) => {
    const on = bench({ deadlineMs: 30_000, marginMs: 500, ...policy });
    const end = await on.play([coded("HTTP_503", hint)]);
    expect(end).toMatchObject({ kind: "deferred", untilMs: on.clock.wallMs() + 60_000 });
  });

  it("fits exactly up to the margin before the deadline", async () => {
    const on = bench({ deadlineMs: 20_000, marginMs: 1_000 });
    expect(await on.play([coded("HTTP_429", { retryAfter: "19" }), 19_000, "done"])).toMatchObject({ kind: "ok" });
  });

  it("reads a date against the wall clock, and a wall clock that jumps changes no delay", async () => {
    const on = bench();
    const done = on.start();
    await settle();
    const at = new Date(Math.ceil(on.clock.wallMs() / 1_000) * 1_000 + 2_000);
    const waitMs = at.getTime() - on.clock.wallMs();
    await fail(on, coded("HTTP_503", { retryAfter: at.toUTCString() }));
    on.clock.jumpWall(3_600_000);
    await on.clock.advance(waitMs - 1);
    expect(on.sends).toHaveLength(1);
    on.clock.jumpWall(-7_200_000);
    await on.clock.advance(1);
    await succeed(on);
    expect(await done).toMatchObject({ kind: "ok", elapsedMs: waitMs });
  });

  it("tells when trying again makes sense once the attempts are used up", async () => {
    const on = bench({ maxAttempts: 1 });
    const end = await on.play([coded("HTTP_429", { retryAfter: "7" })]);
    expect(end).toMatchObject({ reason: "exhausted", untilMs: on.clock.wallMs() + 7_000 });
  });
});

describe("the throttled backoff", () => {
  it("takes the place of the other after a throttled attempt without a hint", async () => {
    const on = bench({ backoff: FIXED, throttledBackoff: { ...FIXED, delayMs: 4_000 }, deadlineMs: 60_000 });
    const end = await on.play([coded("HTTP_429"), 4_000, coded("HTTP_500"), 1_000, "done"]);
    expect(end).toMatchObject({ elapsedMs: 5_000, attempts: 3 });
  });
});

describe("timeouts", () => {
  it("end an attempt that ignores its signal, and tell it to stop", async () => {
    const on = bench({ attemptTimeoutMs: 700, maxAttempts: 2, backoff: FIXED });
    const done = on.start();
    await settle();
    const { signal } = on.sends[0]!.context;
    await on.clock.advance(699);
    expect(signal.aborted).toBe(false);
    await on.clock.advance(1);
    expect(on.sends[0]!.context.signal).toBe(signal);
    expect(signal.reason).toBeInstanceOf(TimeoutError);
    expect(signal.reason).toMatchObject({
      name: "TimeoutError",
      message: "no end after 700 ms (TIMEOUT_ATTEMPT)",
      code: "TIMEOUT_ATTEMPT",
      timeoutMs: 700,
    });
    await on.clock.advance(1_000);
    await on.clock.advance(700);
    expect(await done).toMatchObject({
      reason: "exhausted",
      code: "TIMEOUT_ATTEMPT",
      sent: "maybe",
      attempts: 2,
      elapsedMs: 2_400,
      error: { timeoutMs: 700 },
    });
    expect(on.target.counters).toMatchObject({ timeouts: 2, attempts: 2 });
    expect(on.target.latency.samples).toBe(2);
    expect(on.target.latency.quantileMs(0.5)).toBe(Number.POSITIVE_INFINITY);
  });

  it("ignore an answer that comes after the time is up", async () => {
    const on = bench({ attemptTimeoutMs: 700, maxAttempts: 1 });
    expect(await on.play([700, "too late"])).toMatchObject({ kind: "failed", code: "TIMEOUT_ATTEMPT" });
  });

  it("hand an already aborted signal to an attempt that asks for it late", async () => {
    const on = bench({ attemptTimeoutMs: 700, maxAttempts: 1 });
    void on.start();
    await on.clock.advance(700);
    expect(on.sends[0]!.context.signal.aborted).toBe(true);
    expect(on.sends[0]!.context.signal.reason).toMatchObject({ code: "TIMEOUT_ATTEMPT" });
  });

  it("leave the signal of a success alone", async () => {
    const on = bench();
    const done = on.start();
    await settle();
    const { signal } = on.sends[0]!.context;
    await succeed(on);
    await done;
    await on.clock.advance(60_000);
    expect(signal.aborted).toBe(false);
  });

  it("of the operation cut the attempt that is under way", async () => {
    const on = bench({ attemptTimeoutMs: 3_000, deadlineMs: 15_001, maxAttempts: 4, backoff: FIXED });
    expect(await on.play([60_000], { takeToken: () => on.clock.sleep(1_500) })).toMatchObject({
      kind: "failed",
      reason: "deadline",
      code: "TIMEOUT_DEADLINE",
      elapsedMs: 15_001,
      attempts: 3,
    });
    expect(on.clock.timers).toBe(0);
  });

  it("are the attempt's own when it had its whole time, deadline or not", async () => {
    const on = bench({ attemptTimeoutMs: 3_000, deadlineMs: 3_000, maxAttempts: 1 });
    expect(await on.play([3_000])).toMatchObject({ reason: "exhausted", code: "TIMEOUT_ATTEMPT" });
  });

  it("of the operation leave a send without a key ambiguous", async () => {
    const on = bench({ attemptTimeoutMs: 3_000, deadlineMs: 3_000, maxAttempts: 1 });
    const end = await on.play([3_000], { idempotencyKey: null, takeToken: () => on.clock.sleep(1_000) });
    expect(end).toMatchObject({ reason: "ambiguous", code: "TIMEOUT_DEADLINE", sent: "maybe" });
  });

  it("of the operation are a deadline also at the last attempt", async () => {
    const on = bench({ attemptTimeoutMs: 3_000, deadlineMs: 3_000, maxAttempts: 1 });
    const end = await on.play([3_000], { takeToken: () => on.clock.sleep(1_000) });
    expect(end).toMatchObject({ reason: "deadline", code: "TIMEOUT_DEADLINE", error: { timeoutMs: 3_000 } });
  });

  it("follow the target's latency, within the policy's clamp", async () => {
    const on = bench({
      attemptTimeoutMs: 3_000,
      maxAttempts: 1,
      dynamicTimeout: { quantile: 0.95, factor: 2, msMin: 50, samplesMin: 3 },
    });
    for (let sample = 0; sample < 3; sample++) on.target.latency.record(100);
    const done = on.start();
    await on.clock.advance(3_000);
    expect(await done).toMatchObject({ code: "TIMEOUT_ATTEMPT" });
    expect(on.records[0]!.timeoutMs).toBeGreaterThanOrEqual(200);
    expect(on.records[0]!.timeoutMs).toBeLessThan(220);
    expect((await done).elapsedMs).toBeCloseTo(on.records[0]!.timeoutMs, 6);
  });
});

describe("phases", () => {
  const phases = { connectMs: 200, firstByteMs: 1_000 };

  it("end a send that does not connect: nothing has been sent", async () => {
    const on = bench({ maxAttempts: 1, phases });
    const end = await on.play([200], { idempotencyKey: null });
    expect(end).toMatchObject({ code: "TIMEOUT_CONNECT", sent: "no", reason: "exhausted", elapsedMs: 200 });
  });

  it("end a send that connects but does not answer", async () => {
    const on = bench({ maxAttempts: 1, phases });
    const done = on.start();
    await on.clock.advance(150);
    on.sends[0]!.context.reached("connected");
    await on.clock.advance(849);
    on.clock.advance(1);
    expect(await done).toMatchObject({ code: "TIMEOUT_FIRST_BYTE", sent: "maybe", elapsedMs: 1_000 });
  });

  it("know of a send that waits for a credential that nothing has been sent, and begin when it has one", async () => {
    const on = bench({ maxAttempts: 1, phases });
    const waits = on.start({ idempotencyKey: null });
    await on.clock.advance(0);
    on.sends[0]!.context.reached("authorizing");
    await on.clock.advance(3_000);
    expect(await waits).toMatchObject({ code: "TIMEOUT_CONNECT", sent: "no", away: true, elapsedMs: 3_000 });

    const done = on.start();
    await on.clock.advance(0);
    on.sends[1]!.context.reached("authorizing");
    await on.clock.advance(1_500);
    on.sends[1]!.context.reached("connected");
    await on.clock.advance(1_000);
    expect(await done).toMatchObject({ code: "TIMEOUT_FIRST_BYTE", sent: "maybe", elapsedMs: 2_500 });
  });

  it("leave the whole time to a send that answers", async () => {
    const on = bench({ maxAttempts: 1, phases });
    const done = on.start();
    await on.clock.advance(150);
    on.sends[0]!.context.reached("connected");
    await on.clock.advance(150);
    on.sends[0]!.context.reached("answering");
    await on.clock.advance(2_700);
    expect(await done).toMatchObject({ code: "TIMEOUT_ATTEMPT", elapsedMs: 3_000 });
  });

  it("arm nothing when a phase is told after the end", async () => {
    const on = bench({ maxAttempts: 1, phases });
    await on.play(["done"]);
    on.sends[0]!.context.reached("answering");
    expect(on.clock.timers).toBe(0);
  });
});

describe("the deadline", () => {
  it("clamps the last sleep to what is left before the margin", async () => {
    const on = bench({
      attemptTimeoutMs: 100,
      deadlineMs: 5_000,
      marginMs: 600,
      backoff: { ...FIXED, delayMs: 1_000 },
      maxAttempts: 4,
    });
    const done = on.start({ takeToken: () => on.clock.sleep(1_300) });
    await on.clock.advance(1_300);
    await fail(on, coded("HTTP_500"));
    await on.clock.advance(2_300);
    await fail(on, coded("HTTP_500"));
    expect(on.records.map(({ next }) => next)).toMatchObject([{ delayMs: 1_000 }, { delayMs: 800 }]);
    await on.clock.advance(60_000);
    expect(await done).toMatchObject({ reason: "deadline", code: "HTTP_500", attempts: 2, elapsedMs: 5_000 });
  });

  it("fails at once when not even the margin is left", async () => {
    const on = bench({ deadlineMs: 10_000, attemptTimeoutMs: 3_000, marginMs: 1_000, maxAttempts: 3 });
    const end = await on.play([9_000, coded("HTTP_500")], { takeToken: () => on.clock.sleep(6_500) });
    expect(end).toMatchObject({ reason: "deadline", code: "HTTP_500", elapsedMs: 9_000, attempts: 1 });
  });

  it("defers an operation that never got its token: nothing was tried", async () => {
    const on = bench({ deadlineMs: 15_000 });
    expect(await on.play([15_000], { takeToken: (signal) => on.clock.sleep(99_999, signal) })).toMatchObject({
      kind: "deferred",
      cause: "no-permit",
      code: "NO_PERMIT",
      sent: "no",
      untilMs: on.clock.wallMs(),
      attempts: 0,
      elapsedMs: 15_000,
    });
    expect(on.clock.timers).toBe(0);
    expect(on.target.counters).toMatchObject({ deferred: 1, retryAfterHonored: 0, attempts: 0 });
  });
});

describe("the token", () => {
  it("is taken once per attempt, before it opens, and waiting for it is no attempt", async () => {
    const on = bench({ attemptTimeoutMs: 1_000, maxAttempts: 2 });
    const order: string[] = [];
    const done = on.start({
      takeToken: async () => {
        order.push("token");
        await on.clock.sleep(5_000);
      },
      onOpen: async (attempt) => void order.push(`open ${attempt}`),
    });
    await on.clock.advance(5_000);
    await fail(on, coded("HTTP_500"));
    await on.clock.advance(5_000);
    await succeed(on);
    expect(await done).toMatchObject({ kind: "ok", attempts: 2, elapsedMs: 10_000 });
    expect(order).toEqual(["token", "open 1", "token", "open 2"]);
    expect(on.records.map(({ waitedMs, elapsedMs }) => [waitedMs, elapsedMs])).toEqual([
      [5_000, 0],
      [5_000, 0],
    ]);
  });

  it("that cannot be had ends the operation with the bucket's own error, unsent", async () => {
    const on = bench();
    const broken = new Error("bucket is gone");
    await expect(on.start({ takeToken: () => Promise.reject(broken) })).rejects.toBe(broken);
    expect(on.sends).toEqual([]);
    expect(on.clock.timers).toBe(0);
  });
});

describe("intent before effect", () => {
  it("sends only after the attempt is open", async () => {
    const on = bench();
    const { promise, resolve: open } = Promise.withResolvers<void>();
    const done = on.start({ onOpen: () => promise });
    await settle();
    expect(on.sends).toHaveLength(0);
    open();
    await settle();
    expect(on.sends).toHaveLength(1);
    await succeed(on);
    expect(await done).toMatchObject({ kind: "ok" });
  });

  it("does not send when the intent cannot be written", async () => {
    const on = bench({ bulkhead: { permits: 1, queueMax: 0 } });
    const broken = new Error("no database");
    await expect(on.start({ onOpen: () => Promise.reject(broken) })).rejects.toBe(broken);
    expect(on.sends).toEqual([]);
    expect(on.target.bulkhead?.snapshot().inUse).toBe(0);
  });

  it("ends with the error of a record that cannot be written, and gives the budget back", async () => {
    const on = bench({ budget: { kind: "in-flight", ratio: 0, retriesMin: 1 } });
    const broken = new Error("no database");
    const done = on.start({ onClose: () => Promise.reject(broken) });
    await settle();
    on.sends[0]!.reject(coded("HTTP_500"));
    await expect(done).rejects.toBe(broken);
    expect(on.target.budget.snapshot(0).available).toBe(1);
    expect(on.clock.timers).toBe(0);
  });

  it("records everything about each attempt", async () => {
    const on = bench({ backoff: FULL });
    const startWallMs = on.clock.wallMs();
    await on.play([30, coded("HTTP_500"), 250, "done"]);
    expect(on.records).toEqual([
      {
        attempt: 1,
        result: "failed",
        verdict: expect.objectContaining({ kind: "transient", code: "HTTP_500" }),
        error: expect.objectContaining({ code: "HTTP_500" }),
        hedge: false,
        startedWallMs: startWallMs,
        elapsedMs: 30,
        waitedMs: 0,
        timeoutMs: 3_000,
        next: { kind: "retry", delayMs: 200, withdrawn: 0, honored: false },
        inputs: {
          attempt: 1,
          lastAttempt: 4,
          curtailed: false,
          sameCode: 1,
          leftMs: 19_970,
          wallMs: startWallMs + 30,
          previousDelayMs: null,
          blocked: false,
          backoffFactor: 1,
          withdrawn: 0,
          draw: 0.5,
        },
      },
      {
        attempt: 2,
        result: "ok",
        verdict: null,
        error: null,
        hedge: false,
        startedWallMs: startWallMs + 230,
        elapsedMs: 50,
        waitedMs: 0,
        timeoutMs: 3_000,
        next: null,
        inputs: null,
      },
    ]);
  });

  it("waits for the record before it backs off", async () => {
    const on = bench({ backoff: FIXED });
    const { promise, resolve: written } = Promise.withResolvers<void>();
    void on.start({ onClose: () => promise });
    await settle();
    await fail(on, coded("HTTP_500"));
    await on.clock.advance(5_000);
    expect(on.sends).toHaveLength(1);
    written();
    await on.clock.advance(1_000);
    expect(on.sends).toHaveLength(2);
  });
});

describe("cancellation", () => {
  const reason = new Error("shutting down");

  it("before anything began sends nothing", async () => {
    const on = bench();
    on.controller.abort(reason);
    expect(await on.start()).toEqual({ kind: "cancelled", reason, sent: "no", attempts: 0, elapsedMs: 0 });
    expect(on.sends).toEqual([]);
    expect(on.target.counters).toMatchObject({ operations: 1, cancelled: 1 });
  });

  it("ends a send at once, aborts its signal and closes its record", async () => {
    const on = bench();
    const done = on.start();
    await on.clock.advance(40);
    const { signal } = on.sends[0]!.context;
    on.controller.abort(reason);
    expect(await done).toEqual({ kind: "cancelled", reason, sent: "maybe", attempts: 1, elapsedMs: 40 });
    expect(signal.reason).toBe(reason);
    expect(on.records).toMatchObject([
      {
        result: "cancelled",
        error: reason,
        next: null,
        inputs: null,
        verdict: { kind: "cancelled", code: "CANCELLED" },
      },
    ]);
    expect(on.clock.timers).toBe(0);
  });

  it("ends a backoff at once and wins over the retry", async () => {
    const on = bench({ backoff: FIXED, budget: { kind: "in-flight", ratio: 0, retriesMin: 1 } });
    const done = on.start();
    await settle();
    await fail(on, coded("ECONNREFUSED"));
    await on.clock.advance(999);
    const { signal } = on.sends[0]!.context;
    on.controller.abort(reason);
    expect(await done).toEqual({ kind: "cancelled", reason, sent: "no", attempts: 1, elapsedMs: 999 });
    expect(on.clock.timers).toBe(0);
    expect(signal.aborted).toBe(false);
    await on.clock.advance(60_000);
    expect(on.sends).toHaveLength(1);
    expect(on.target.budget.snapshot(0).available).toBe(1);
  });

  it("ends a wait for a token at once, telling the bucket", async () => {
    const on = bench();
    let told: AbortSignal | undefined;
    const done = on.start({
      takeToken: (signal) => {
        told = signal;
        return new Promise(() => {});
      },
    });
    await on.clock.advance(40);
    on.controller.abort(reason);
    expect(await done).toEqual({ kind: "cancelled", reason, sent: "no", attempts: 0, elapsedMs: 40 });
    expect(told?.reason).toBe(reason);
    expect(on.clock.timers).toBe(0);
  });

  it("ends a wait for the bulkhead at once and leaves the queue", async () => {
    const on = bench({ bulkhead: { permits: 1, queueMax: 3 } });
    const first = on.start({}, { signal: new AbortController().signal });
    const takeToken = vi.fn(async () => {});
    const second = on.start({ takeToken });
    await settle();
    expect(on.target.bulkhead?.snapshot()).toMatchObject({ inUse: 1, queued: 1 });
    on.controller.abort(reason);
    expect(await second).toMatchObject({ kind: "cancelled", reason, attempts: 0 });
    expect(takeToken).not.toHaveBeenCalled();
    expect(on.target.bulkhead?.snapshot()).toMatchObject({ inUse: 1, queued: 0 });
    await succeed(on);
    await first;
    expect(on.target.bulkhead?.snapshot()).toMatchObject({ inUse: 0 });
  });

  it("while the intent is written closes the attempt unsent, also when the deadline passes after it", async () => {
    const on = bench();
    const { promise, resolve: open } = Promise.withResolvers<void>();
    const done = on.start({ takeToken: () => on.clock.sleep(10), onOpen: () => promise });
    await on.clock.advance(10);
    on.controller.abort(reason);
    await on.clock.advance(60_000);
    open();
    expect(await done).toMatchObject({ kind: "cancelled", reason, sent: "no", attempts: 1 });
    expect(on.sends).toEqual([]);
    expect(on.records).toMatchObject([{ result: "cancelled", verdict: { sent: "no" } }]);
  });

  it("while the deadline passes during the intent fails the attempt unsent", async () => {
    const on = bench({ maxAttempts: 1, deadlineMs: 4_000 });
    const { promise, resolve: open } = Promise.withResolvers<void>();
    const done = on.start({ takeToken: () => on.clock.sleep(10), onOpen: () => promise });
    await on.clock.advance(4_000);
    open();
    expect(await done).toMatchObject({ reason: "deadline", code: "TIMEOUT_DEADLINE", sent: "no", attempts: 1 });
    expect(on.sends).toEqual([]);
  });

  it("while the record is written wins over the retry", async () => {
    const on = bench();
    const { promise, resolve: written } = Promise.withResolvers<void>();
    const done = on.start({ onClose: () => promise });
    await settle();
    await fail(on, coded("HTTP_500"));
    on.controller.abort(reason);
    written();
    expect(await done).toMatchObject({ kind: "cancelled", reason, attempts: 1 });
    expect(on.sends).toHaveLength(1);
  });

  it("after the success changes nothing", async () => {
    const on = bench();
    const done = on.start();
    await settle();
    await succeed(on);
    on.controller.abort(reason);
    expect(await done).toMatchObject({ kind: "ok" });
  });

  it("leaves no listener behind, however the operation ended", async () => {
    const on = bench({ maxAttempts: 2, backoff: FIXED });
    const listeners = countListeners(on.controller.signal);
    const success = on.start();
    await settle();
    expect(listeners()).toBe(1);
    await succeed(on);
    await success;
    expect(listeners()).toBe(0);
    await on.play([coded("HTTP_404")]);
    const accident = on.start({ onOpen: () => Promise.reject(new Error("x")) });
    await accident.catch(() => {});
    expect(listeners()).toBe(0);
    const cancelled = on.start();
    await settle();
    on.controller.abort();
    await cancelled;
    expect(listeners()).toBe(0);
  });
});

describe("a halt", () => {
  const reason = new Error("paused");

  it("before anything began sends nothing", async () => {
    const on = bench();
    expect(await on.start({}, { halt: AbortSignal.abort(reason) })).toMatchObject({ kind: "cancelled", reason });
    expect(on.sends).toEqual([]);
  });

  it("ends a backoff at once, and nothing more is sent", async () => {
    const on = bench({ backoff: FIXED });
    const halt = new AbortController();
    const done = on.start({}, { halt: halt.signal });
    await settle();
    await fail(on, coded("HTTP_503"));
    await on.clock.advance(300);
    halt.abort(reason);
    expect(await done).toMatchObject({ kind: "cancelled", reason, attempts: 1, elapsedMs: 300 });
    await on.clock.advance(60_000);
    expect(on.sends).toHaveLength(1);
    expect(on.clock.timers).toBe(0);
  });

  it("ends the wait for a token at once", async () => {
    const on = bench();
    const halt = new AbortController();
    let asked: AbortSignal | undefined;
    const takeToken = (signal: AbortSignal) => {
      asked = signal;
      return new Promise<void>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    };
    const done = on.start({ takeToken }, { halt: halt.signal });
    await on.clock.advance(70);
    halt.abort(reason);
    expect(await done).toMatchObject({ kind: "cancelled", reason, sent: "no", attempts: 0, elapsedMs: 70 });
    expect(asked!.aborted).toBe(true);
  });

  it("lets what is being sent end by itself: a success counts, a failure is not repeated", async () => {
    for (const end of ["ok", "failed"] as const) {
      const on = bench({ backoff: FIXED });
      const halt = new AbortController();
      const listeners = countListeners(halt.signal);
      const done = on.start({}, { halt: halt.signal });
      await on.clock.advance(40);
      halt.abort(reason);
      await on.clock.advance(500);
      expect(on.sends[0]!.context.signal.aborted).toBe(false);
      if (end === "ok") on.sends[0]!.resolve("late");
      else on.sends[0]!.reject(coded("HTTP_503"));
      expect(await done).toMatchObject(end === "ok" ? { kind: "ok", value: "late" } : { kind: "cancelled", reason });
      expect(on.records).toHaveLength(1);
      expect(on.sends).toHaveLength(1);
      expect([listeners(), on.clock.timers]).toEqual([0, 0]);
    }
  });

  it("is followed by a cancellation that ends the send, too", async () => {
    const on = bench();
    const halt = new AbortController();
    const done = on.start({}, { halt: halt.signal });
    await on.clock.advance(40);
    halt.abort(reason);
    await on.clock.advance(10);
    on.controller.abort("no patience left");
    expect(await done).toMatchObject({ kind: "cancelled", reason: "no patience left", sent: "maybe" });
  });
});

describe("the breaker", () => {
  const breaker = {
    trip: { kind: "consecutive", failures: 2 },
    openMs: 5_000,
    openMsMax: 5_000,
    probes: 1,
    probeMsMax: 60_000,
  } as const;

  it("that opens stops the retries, and tells when to come again", async () => {
    const on = bench({ breaker, maxAttempts: 4 });
    expect(await on.play([coded("HTTP_500"), coded("HTTP_500")])).toMatchObject({
      reason: "breaker-open",
      code: "HTTP_500",
      attempts: 2,
      untilMs: on.clock.wallMs() + 5_000,
    });
  });

  it("that is open sends nothing at all", async () => {
    const on = bench({ breaker });
    on.target.force("open");
    expect(await on.start()).toMatchObject({
      reason: "breaker-open",
      code: "BREAKER_OPEN",
      attempts: 0,
      untilMs: null,
      error: null,
    });
    expect(on.target.counters).toMatchObject({ breakerDenied: 1, attempts: 0, failed: 1 });
  });

  it("does not count what says nothing about the target", async () => {
    const on = bench({ breaker, maxAttempts: 1 });
    for (const error of [coded("HTTP_404"), coded("EMFILE"), Object.assign(new Error("x"), { name: "AbortError" })]) {
      const failing = on.start();
      await settle();
      await fail(on, coded("HTTP_500"));
      await failing;
      const done = on.start();
      await settle();
      await fail(on, error);
      await done;
      on.target.reset();
    }
    await on.play([coded("HTTP_404")]);
    expect(on.target.breaker?.snapshot(on.clock.nowMs())).toMatchObject({ state: "closed", calls: 1, failures: 0 });
    await on.play([coded("EMFILE")]);
    expect(on.target.breaker?.snapshot(on.clock.nowMs())).toMatchObject({ calls: 1 });
  });

  it("does not count an attempt that our own deadline cut, but one that timed out", async () => {
    const on = bench({ breaker, maxAttempts: 1, deadlineMs: 4_000 });
    const cut = on.start({ takeToken: () => on.clock.sleep(2_000) });
    await on.clock.advance(4_000);
    expect(await cut).toMatchObject({ code: "TIMEOUT_DEADLINE" });
    expect(on.target.breaker?.snapshot(on.clock.nowMs()).calls).toBe(0);
    const slow = on.start();
    await on.clock.advance(3_000);
    await slow;
    expect(on.target.breaker?.snapshot(on.clock.nowMs())).toMatchObject({ calls: 1, failures: 1 });
  });

  it("that opens while a call waits for its token stops that call", async () => {
    const on = bench({ breaker });
    const done = on.start({ takeToken: () => on.clock.sleep(1_000) });
    await settle();
    on.target.force("open");
    await on.clock.advance(1_000);
    expect(await done).toMatchObject({ reason: "breaker-open", attempts: 0 });
    expect(on.sends).toEqual([]);
  });

  it("that opens while a cancelled call waited does not hide the cancellation", async () => {
    const on = bench({ breaker });
    const done = on.start({ takeToken: () => new Promise(() => {}) });
    await settle();
    on.target.force("open");
    on.controller.abort("stop");
    expect(await done).toMatchObject({ kind: "cancelled", reason: "stop" });
  });

  it("that is open takes nothing from the bulkhead", async () => {
    const on = bench({ breaker, bulkhead: { permits: 3, queueMax: 3 } });
    on.target.force("open");
    await on.start();
    expect(on.target.bulkhead?.snapshot()).toMatchObject({ inUse: 0, queued: 0 });
  });

  it("counts no call that was cancelled, and gets its probe back", async () => {
    const on = bench({ breaker });
    const now = () => on.clock.nowMs();
    const shared = on.target.breaker!;
    const closed = on.start({}, { signal: AbortSignal.any([on.controller.signal]) });
    await settle();
    on.controller.abort("stop");
    await closed;
    expect(shared.snapshot(now())).toMatchObject({ state: "closed", calls: 0 });
    for (let failure = 0; failure < 2; failure++) shared.record(shared.acquire(now()), true, 1, now());
    await on.clock.advance(5_000);
    const again = new AbortController();
    const probing = on.start({}, { signal: again.signal });
    await settle();
    expect(shared.snapshot(now())).toMatchObject({ state: "half-open", probesInFlight: 1 });
    again.abort("stop");
    await probing;
    expect(shared.snapshot(now())).toMatchObject({ state: "half-open", probesInFlight: 0, calls: 0 });
  });

  it("that has closed again while a call waited lets it pass and counts it", async () => {
    const on = bench({ breaker, maxAttempts: 1 });
    const done = on.start({ takeToken: () => on.clock.sleep(1_000) });
    await settle();
    on.target.force("open");
    on.target.force("auto");
    await on.clock.advance(1_000);
    await fail(on, coded("HTTP_500"));
    await done;
    expect(on.target.breaker?.snapshot(on.clock.nowMs())).toMatchObject({ calls: 1, failures: 1 });
  });

  it("gets its probe back when the call never was sent", async () => {
    const on = bench({ breaker });
    const now = () => on.clock.nowMs();
    const shared = on.target.breaker!;
    for (let failure = 0; failure < 2; failure++) shared.record(shared.acquire(now()), true, 1, now());
    await on.clock.advance(5_000);
    const waiting = on.start({ takeToken: (signal) => on.clock.sleep(1_000, signal) });
    await settle();
    expect(shared.snapshot(now())).toMatchObject({ state: "half-open", probesInFlight: 1 });
    on.controller.abort();
    await waiting;
    expect(shared.snapshot(now())).toMatchObject({ state: "half-open", probesInFlight: 0 });
  });

  it("judges slowness by the time the send took", async () => {
    const trip = { kind: "count", size: 10, callsMin: 1, failureRatio: 1, slowCallMs: 500, slowRatio: 0.5 } as const;
    const on = bench({ breaker: { ...breaker, trip } });
    expect(await on.play([900, 499, "done"], { takeToken: () => on.clock.sleep(900) })).toMatchObject({ kind: "ok" });
    expect(on.target.breaker?.snapshot(on.clock.nowMs()).slow).toBe(0);
    const slow = on.start();
    await on.clock.advance(500);
    await succeed(on);
    await slow;
    expect(on.target.breaker?.snapshot(on.clock.nowMs()).state).toBe("open");
  });
});

describe("a patient operation", () => {
  const breaker = { ...POLICY_PRESETS.interactive.breaker, probes: 1 };

  it("spends no deadline on the wait for its first turn, only on what follows", async () => {
    const on = bench({ deadlineMs: 13_000, maxAttempts: 3, attemptTimeoutMs: 3_000, backoff: FIXED });
    const done = on.start(
      { takeToken: (signal) => on.clock.sleep(on.sends.length === 0 ? 90_000 : 60_000, signal) },
      patient,
    );
    await on.clock.advance(90_000);
    await fail(on, coded("HTTP_503"));
    await on.clock.advance(60_000);
    expect(await done).toMatchObject({ kind: "failed", reason: "deadline", attempts: 1, elapsedMs: 103_000 });
    expect(on.clock.timers).toBe(0);
  });

  it("is held by a breaker that lets nothing pass: no token, no attempt, no counter, no deposit", async () => {
    const on = bench({ breaker, budget: { kind: "in-flight", ratio: 1, retriesMin: 0 } });
    on.target.force("open");
    const takeOwnToken = vi.fn(async () => {});
    expect(await on.start({ takeOwnToken, takeToken: takeOwnToken }, patient)).toMatchObject({
      kind: "deferred",
      cause: "held",
      attempts: 0,
    });
    expect(takeOwnToken).not.toHaveBeenCalled();
    expect(on.target.counters).toEqual(zeroCounters());
    expect(on.target.budget.snapshot(0).available).toBe(0);
  });

  it("is held while all probes of a half-open breaker are under way", async () => {
    const on = bench({ breaker, maxAttempts: 1 });
    const now = () => on.clock.nowMs();
    for (let call = 0; call < 10; call++) on.target.breaker!.record(on.target.breaker!.acquire(now()), true, 1, now());
    await on.clock.advance(30_000);
    const probe = on.start({}, patient);
    await settle();
    const takeToken = vi.fn(async () => {});
    expect(await on.start({ takeToken }, patient)).toMatchObject({ kind: "deferred", cause: "held" });
    expect(takeToken).not.toHaveBeenCalled();
    await succeed(on);
    expect(await probe).toMatchObject({ kind: "ok" });
    expect(on.target.counters).toMatchObject({ operations: 1, breakerDenied: 0, deferred: 0 });
  });

  it("leaves its wait at once when the breaker opens, and takes no token", async () => {
    const on = bench({ breaker });
    let waits: AbortSignal | undefined;
    const takeToken = (signal: AbortSignal) => {
      waits = signal;
      return new Promise<void>(() => {});
    };
    const done = on.start({ takeToken }, patient);
    await on.clock.advance(70);
    on.target.force("open");
    expect(await done).toMatchObject({ kind: "deferred", cause: "held", elapsedMs: 70 });
    expect(waits!.aborted).toBe(true);
    expect(on.target.waiting.size).toBe(0);
    expect(on.clock.timers).toBe(0);
  });

  it("fails as open when the breaker opens after its first attempt", async () => {
    const on = bench({ breaker, backoff: FIXED });
    const done = on.start({}, patient);
    await settle();
    on.target.force("open");
    await fail(on, coded("HTTP_503"));
    expect(await done).toMatchObject({ kind: "failed", reason: "breaker-open", attempts: 1 });
  });
});

describe("the caller's own token", () => {
  it("is waited for outside the bulkhead: a slow caller keeps no place from others", async () => {
    const on = bench({ bulkhead: { permits: 1, queueMax: 0 } });
    const order: string[] = [];
    const slow = on.start({
      takeOwnToken: async (signal) => {
        await on.clock.sleep(5_000, signal);
        order.push("own");
      },
      takeToken: async () => void order.push("target"),
    });
    await on.clock.advance(100);
    const other = on.start();
    await settle();
    expect(on.sends).toHaveLength(1);
    on.sends[0]!.resolve("other");
    expect(await other).toMatchObject({ kind: "ok" });
    await on.clock.advance(4_900);
    await succeed(on, "slow");
    expect(await slow).toMatchObject({ kind: "ok", attempts: 1 });
    expect(order).toEqual(["own", "target"]);
  });
});

describe("the bulkhead", () => {
  it("rejects at once what the queue has no room for", async () => {
    const on = bench({ bulkhead: { permits: 1, queueMax: 0 } });
    const first = on.start();
    await settle();
    expect(await on.start()).toMatchObject({
      reason: "bulkhead-full",
      code: "BULKHEAD_FULL",
      attempts: 0,
      untilMs: null,
    });
    expect(on.target.counters).toMatchObject({ bulkheadDenied: 1 });
    await succeed(on);
    await first;
  });

  it("waits in the queue at most until the deadline", async () => {
    const on = bench({ bulkhead: { permits: 1, queueMax: 1 }, deadlineMs: 12_000 });
    on.target.bulkhead?.tryEnter();
    expect(await on.play([12_000])).toMatchObject({ kind: "deferred", cause: "no-permit" });
    expect(on.target.bulkhead?.snapshot()).toMatchObject({ queued: 0, inUse: 1 });
  });

  it("waits first for its place and then for the token", async () => {
    const on = bench({ bulkhead: { permits: 1, queueMax: 1 } });
    on.target.bulkhead?.tryEnter();
    const takeToken = vi.fn(async () => {});
    const done = on.start({ takeToken });
    await on.clock.advance(300);
    expect(takeToken).not.toHaveBeenCalled();
    on.target.bulkhead?.release();
    await settle();
    expect(takeToken).toHaveBeenCalledOnce();
    await succeed(on);
    await done;
    expect(on.records[0]).toMatchObject({ waitedMs: 300 });
  });

  it("keeps the target's rate when a tenth of the sends is repeated after a long backoff", async () => {
    const on = bench({
      bulkhead: { permits: 2, queueMax: 1_000 },
      deadlineMs: 60_000,
      backoff: { ...FIXED, delayMs: 5_000 },
    });
    const throttle = new Throttle({ ratePerSecond: 50, capacity: 1, warmUpMs: 0 }, on.clock);
    const firstEnds: number[] = [];
    const startMs = on.clock.nowMs();
    const all = Array.from({ length: 500 }, (_, index) =>
      on.start(
        {
          takeToken: (signal) => throttle.take(1, signal),
          attempt: async ({ attempt }) => {
            await on.clock.sleep(20);
            if (attempt === 1) firstEnds.push(on.clock.nowMs() - startMs);
            if (attempt === 1 && index % 10 === 0) throw coded("HTTP_503");
            return "done";
          },
        },
        { ...patient, signal: undefined },
      ),
    );
    await on.clock.advance(20_000);
    expect((await Promise.all(all)).map(({ kind }) => kind)).toEqual(all.map(() => "ok"));
    // 500 first sends and the repeats among them at 50/s: places held through backoffs would make it minutes.
    expect(firstEnds.at(-1)).toBeLessThanOrEqual(11_100);
    expect(firstEnds.at(-1)).toBeGreaterThanOrEqual(9_980);
  });

  describe("while attempts are recorded", () => {
    const reason = new Error("stopped");

    /** A target with one permit that has just answered some calls soon, and operations whose records the test ends. */
    function recording(ended = 1, policy: Parameters<typeof bench>[0] = {}) {
      const on = bench({ bulkhead: { permits: 1, queueMax: 5 }, ...policy });
      on.target.ended.add(0, ended, on.clock.nowMs());
      const records: { resolve(): void; reject(error: unknown): void }[] = [];
      const start = (options?: Parameters<typeof on.start>[1]) => {
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        const onOpen = () => {
          records.push({ resolve, reject });
          return promise;
        };
        return on.start({ onOpen }, options);
      };
      return { on, records, start };
    }

    it("lends the place of one to another, and gives it back before a newcomer has it", async () => {
      const { on, records, start } = recording();
      const all = [start(), start(), start()];
      await settle();
      expect(records).toHaveLength(2);
      records[1]!.resolve();
      await settle();
      records[0]!.resolve();
      await settle();
      expect(on.sends).toHaveLength(1);
      expect(records).toHaveLength(2);
      on.sends[0]!.resolve("second");
      await settle();
      expect(on.sends).toHaveLength(2);
      expect(records).toHaveLength(2);
      on.sends[1]!.resolve("first");
      await settle();
      records[2]!.resolve();
      await settle();
      await succeed(on, "third");
      expect((await Promise.all(all)).map((end) => end.kind === "ok" && end.value)).toEqual([
        "first",
        "second",
        "third",
      ]);
      expect(on.target.bulkhead?.snapshot()).toMatchObject({ inUse: 0, queued: 0 });
      expect(on.target.bulkhead?.lend(1)).toBe(true);
    });

    it.each([
      ["answers slowly", 60],
      ["has not answered yet", null],
    ])("lends nothing where the target %s", async (_name, latencyMs) => {
      const { on, records, start } = recording(0);
      if (latencyMs !== null) {
        void on.start();
        await settle();
        await on.clock.advance(latencyMs);
        await succeed(on);
      }
      void start();
      void start();
      await settle();
      expect(records).toHaveLength(1);
    });

    it("lends no more than attempts have ended within the last 50 ms, however many places there are", async () => {
      const { on, records, start } = recording(9);
      on.target.bulkhead?.resize(9);
      await on.clock.advance(51);
      for (let n = 0; n < 2; n++) void on.start();
      await settle();
      for (const send of on.sends) send.resolve("soon");
      await settle();
      for (let n = 0; n < 14; n++) void start();
      await settle();
      expect(records).toHaveLength(11);
    });

    it("withdraws an attempt whose place is not back within 250 ms, before its deadline", async () => {
      const { on, records, start } = recording();
      const waits = start();
      await settle();
      on.target.bulkhead?.tryEnter();
      records[0]!.resolve();
      await on.clock.advance(249);
      expect(on.target.bulkhead?.snapshot()).toMatchObject({ inUse: 1 });
      await on.clock.advance(1);
      expect(await waits).toMatchObject({ kind: "cancelled", sent: "no", attempts: 1 });
      expect(on.sends).toEqual([]);
      expect(on.records).toMatchObject([{ result: "cancelled", verdict: { code: "CANCELLED", sent: "no" } }]);
      on.target.bulkhead?.release();
      expect(on.target.bulkhead?.snapshot()).toMatchObject({ inUse: 0, queued: 0 });
    });

    it("withdraws an attempt whose process stood still for too long after its record", async () => {
      const on = bench({});
      const late = on.start({ onOpen: () => on.clock.sleep(10), mayBeginUntilMs: () => on.clock.nowMs() - 1 });
      await on.clock.advance(10);
      expect(await late).toMatchObject({ kind: "cancelled", sent: "no", attempts: 1 });
      expect(on.sends).toEqual([]);
    });

    it("closes an attempt unsent that is cancelled before its place is back", async () => {
      const { on, records, start } = recording();
      const waits = start();
      const sends = start({ signal: new AbortController().signal });
      await settle();
      records[1]!.resolve();
      await settle();
      records[0]!.resolve();
      await settle();
      on.controller.abort(reason);
      expect(await waits).toMatchObject({ kind: "cancelled", reason, sent: "no", attempts: 1 });
      await succeed(on);
      expect(await sends).toMatchObject({ kind: "ok" });
      expect(on.target.bulkhead?.snapshot()).toMatchObject({ inUse: 0, queued: 0 });
      expect(on.target.bulkhead?.lend(1)).toBe(true);
    });

    it("fails an attempt unsent whose deadline passes before its place is back", async () => {
      const { on, records, start } = recording(1, { maxAttempts: 1, attemptTimeoutMs: 100, deadlineMs: 200 });
      const waits = start();
      await settle();
      on.target.bulkhead?.tryEnter();
      records[0]!.resolve();
      await on.clock.advance(200);
      expect(await waits).toMatchObject({ reason: "deadline", code: "TIMEOUT_DEADLINE", sent: "no", attempts: 1 });
      expect(on.sends).toEqual([]);
      on.target.bulkhead?.release();
      expect(on.target.bulkhead?.snapshot()).toMatchObject({ inUse: 0, queued: 0 });
    });

    it("hands an attempt back unsent whose breaker opens before its place is back", async () => {
      const trip = { kind: "consecutive", failures: 1 } as const;
      const breaker = { trip, openMs: 60_000, openMsMax: 60_000, probes: 1, probeMsMax: 3_000 };
      const { on, records, start } = recording(1, { breaker });
      const waits = start();
      await settle();
      on.target.bulkhead?.tryEnter();
      records[0]!.resolve();
      await settle();
      on.target.force("open");
      expect(await waits).toMatchObject({ kind: "cancelled", sent: "no", attempts: 1 });
      expect(on.sends).toEqual([]);
      expect(on.records).toMatchObject([{ result: "cancelled", verdict: { code: "BREAKER_OPEN", sent: "no" } }]);
      on.target.bulkhead?.release();
      expect(on.target.bulkhead?.snapshot()).toMatchObject({ inUse: 0, queued: 0 });
      expect(on.target.waiting.size).toBe(0);
    });

    it("hands an attempt back unsent whose breaker opens while it is recorded", async () => {
      const trip = { kind: "consecutive", failures: 1 } as const;
      const breaker = { trip, openMs: 60_000, openMsMax: 60_000, probes: 1, probeMsMax: 3_000 };
      const { on, records, start } = recording(1, { breaker });
      const waits = start();
      await settle();
      on.target.force("open");
      records[0]!.resolve();
      expect(await waits).toMatchObject({ kind: "cancelled", sent: "no", attempts: 1 });
      expect(on.sends).toEqual([]);
      expect(on.target.bulkhead?.snapshot()).toMatchObject({ inUse: 0, queued: 0 });
    });

    it("ends the loan of one whose record is refused", async () => {
      const { on, records, start } = recording();
      const refused = start();
      await settle();
      records[0]!.reject(reason);
      await expect(refused).rejects.toBe(reason);
      expect(on.target.bulkhead?.snapshot()).toMatchObject({ inUse: 0, queued: 0 });
      expect(on.target.bulkhead?.lend(1)).toBe(true);
    });
  });

  it("does not hold a permit during a backoff", async () => {
    const on = bench({ bulkhead: { permits: 1, queueMax: 0 }, backoff: FIXED });
    void on.start();
    await settle();
    await fail(on, coded("HTTP_500"));
    expect(on.target.bulkhead?.snapshot().inUse).toBe(0);
  });
});

describe("the budget", () => {
  it("that is empty fails fast instead of waiting", async () => {
    const on = bench({
      budget: { kind: "quota", capacity: 1, cost: { transient: 1, throttled: 9 }, reward: 1 },
      backoff: FIXED,
    });
    const end = await on.play([coded("HTTP_500"), 1_000, coded("HTTP_500")]);
    expect(end).toMatchObject({ reason: "budget", code: "HTTP_500", attempts: 2 });
    expect(on.target.counters).toMatchObject({ budgetDenied: 1, retryAllowed: 1, retries: 1, retryExhausted: 0 });
    expect(on.clock.timers).toBe(0);
  });

  it("charges by what the failure was", async () => {
    const on = bench({ budget: { kind: "quota", capacity: 5, cost: { transient: 1, throttled: 9 }, reward: 1 } });
    expect(await on.play([coded("HTTP_429")])).toMatchObject({ reason: "budget", attempts: 1 });
  });

  it("is not charged for our own shortage", async () => {
    const on = bench({ budget: { kind: "quota", capacity: 0, cost: { transient: 1, throttled: 1 }, reward: 0 } });
    expect(await on.play([coded("EMFILE"), "done"])).toMatchObject({ kind: "ok", attempts: 2 });
  });

  it("gets back what a retry under way has taken, however it ends", async () => {
    const on = bench({ budget: { kind: "in-flight", ratio: 0, retriesMin: 1 }, maxAttempts: 3 });
    const done = on.start();
    await settle();
    for (let attempt = 0; attempt < 3; attempt++) {
      await fail(on, coded("HTTP_500"));
      await on.clock.advance(0);
    }
    expect(await done).toMatchObject({ reason: "exhausted", attempts: 3 });
    expect(on.target.budget.snapshot(0).available).toBe(1);
  });
});

describe("the budget's accounts", () => {
  const ratio = {
    kind: "ratio",
    ratio: 1,
    windowMs: 1_000,
    floorPerSecond: 0,
    ceilingPerSecond: null,
    cost: { transient: 1, throttled: 1 },
  } as const;

  it("hear of every operation that begins", async () => {
    const on = bench({ budget: { ...ratio, deposit: "request" } });
    void on.start();
    void on.start();
    expect(on.target.budget.snapshot(on.clock.nowMs()).available).toBe(2);
    await settle();
  });

  it("hear of a success when it happens, not when its attempt began", async () => {
    const on = bench({ budget: { ...ratio, deposit: "success" } });
    await on.play([2_900, "done"]);
    expect(on.target.budget.snapshot(on.clock.nowMs()).available).toBe(1);
  });

  it("hear of every operation that ends, however it ends", async () => {
    const on = bench({ budget: { kind: "in-flight", ratio: 1, retriesMin: 0 } });
    const available = () => on.target.budget.snapshot(0).available;
    const done = on.start();
    await settle();
    expect(available()).toBe(1);
    await succeed(on);
    await done;
    expect(available()).toBe(0);
    await on.start({ onOpen: () => Promise.reject(new Error("x")) }).catch(() => {});
    expect(available()).toBe(0);
  });

  it("take no retry that was never sent for a success", async () => {
    const budget = { kind: "quota", capacity: 10, cost: { transient: 10, throttled: 10 }, reward: 1 } as const;
    const on = bench({ budget });
    let tokens = 0;
    const done = on.start({ takeToken: (signal) => on.clock.sleep(tokens++ === 0 ? 0 : 5_000, signal) });
    await on.clock.advance(0);
    await fail(on, coded("HTTP_500"));
    await on.clock.advance(1_000);
    on.controller.abort();
    expect(await done).toMatchObject({ kind: "cancelled", attempts: 1 });
    expect(on.target.budget.snapshot(0).available).toBe(0);
  });

  it("take no cancelled backoff for a success", async () => {
    const budget = { kind: "quota", capacity: 10, cost: { transient: 10, throttled: 10 }, reward: 1 } as const;
    const on = bench({ budget, backoff: FIXED });
    const done = on.start();
    await settle();
    await fail(on, coded("HTTP_500"));
    on.controller.abort();
    await done;
    expect(on.target.budget.snapshot(0).available).toBe(0);
  });
});

describe("the counters", () => {
  it("add up", async () => {
    const on = bench({ maxAttempts: 2 });
    await on.play([coded("HTTP_500"), "done"]);
    await on.play([coded("HTTP_429"), coded("HTTP_500")]);
    expect(on.target.counters).toEqual({
      ...zeroCounters(),
      ...{ operations: 2, succeeded: 1, failed: 1, attempts: 4, retries: 2 },
      ...{ throttled: 1, retryAllowed: 2, retryExhausted: 1 },
    });
    expect(on.target.snapshot().counters).toMatchObject({ retryRate: 1, retryRatePerAttempt: 0.5, errorRatio: 0.5 });
    expect(on.target.latency.samples).toBe(1);
  });

  it("know how long a success took", async () => {
    const on = bench();
    await on.clock.advance(5_000);
    await on.play([200, "done"]);
    expect(on.target.latency.quantileMs(0.5)!).toBeGreaterThanOrEqual(200);
    expect(on.target.latency.quantileMs(0.5)!).toBeLessThan(220);
  });

  it("know a resumed operation's first attempt as no retry", async () => {
    const on = bench();
    await on.play(["done"], { firstAttempt: 3 });
    expect(on.target.counters).toMatchObject({ attempts: 1, retries: 0 });
  });
});

describe("self-healing", () => {
  const healing = {
    retryRatio: 0.3,
    timeoutRatio: 0.9,
    callsMin: 2,
    windowMs: 60_000,
    stepFactor: 3,
    stepsMax: 2,
    quietRatio: 0.5,
    cooldownMs: 0,
  };

  it("stretches the backoff after a step", async () => {
    const on = bench({ healing, backoff: FIXED, maxAttempts: 3 });
    const strained = on.start();
    await settle();
    for (let failure = 0; failure < 2; failure++) {
      await fail(on, coded("HTTP_500"));
      await on.clock.advance(1_000);
    }
    await succeed(on);
    await strained;
    expect(on.target.heal()).toMatchObject({ direction: "slow-down", cause: "retry-ratio", retryRatio: 2 / 3 });
    const done = on.start();
    await settle();
    await fail(on, coded("HTTP_500"));
    await on.clock.advance(2_999);
    expect(on.sends).toHaveLength(4);
    await on.clock.advance(1);
    await succeed(on);
    expect(await done).toMatchObject({ kind: "ok", elapsedMs: 3_000 });
    expect(on.records.at(-2)!.inputs).toMatchObject({ backoffFactor: 3 });
  });
});

describe("refusals", () => {
  it("a policy that does not fit its deadline never runs", async () => {
    const on = bench();
    const policy = { ...on.policy, deadlineMs: 1 };
    await expect(on.start({}, { policy })).rejects.toBeInstanceOf(PolicyError);
    expect(on.target.counters.operations).toBe(0);
  });

  it("turn into an error with the outcome and its cause, for callers that throw", async () => {
    const on = bench({ maxAttempts: 1 });
    const done = on.start();
    await settle();
    const cause = coded("HTTP_500");
    await fail(on, cause);
    const outcome = await done;
    const error = new OperationError(outcome as never, { target: "billing" });
    expect(() => unwrap(outcome)).toThrow(OperationError);
    expect(error).toMatchObject({
      name: "OperationError",
      code: "HTTP_500",
      outcome,
      context: { target: "billing" },
      message: "failed (exhausted) after 1 attempts",
      cause,
    });
    on.controller.abort("stop");
    const cancelled = new OperationError((await on.start()) as never);
    expect(cancelled).toMatchObject({
      code: "CANCELLED",
      cause: "stop",
      message: "cancelled after 0 attempts",
      context: {},
    });
  });

  it("work without a signal and without any hook", async () => {
    const on = bench();
    const attempt = async () => "plain";
    const options = { policy: on.policy, target: on.target, clock: on.clock, random: () => 0 };
    expect(await execute({ idempotencyKey: null, retryable: false, attempt }, options)).toMatchObject({
      value: "plain",
    });
    expect(on.clock.timers).toBe(0);
  });
});
