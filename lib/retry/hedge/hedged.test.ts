import { describe, expect, it } from "vitest";
import type { Policy } from "@/lib/retry/policy";
import { settle } from "@/lib/retry/testing/manual-clock";
import { bench, coded, countListeners } from "@/lib/retry/testing/scripted-call";

function race(policy: Partial<Policy> = {}) {
  return bench({ maxAttempts: 4, hedge: { delayMs: 500, sendsMax: 3 }, ...policy });
}

describe("hedging", () => {
  it("starts another send after each silence, up to its bound", async () => {
    const on = race();
    const done = on.start();
    await on.clock.advance(2_500);
    expect(on.sends.map(({ atMs, context }) => [atMs, context.attempt])).toEqual([
      [0, 1],
      [500, 2],
      [1_000, 3],
    ]);
    // One for each send, none for a send that will not come.
    expect(on.clock.timers).toBe(3);
    on.sends[2]!.resolve("third");
    expect(await done).toEqual({ kind: "ok", value: "third", attempts: 3, elapsedMs: 2_500 });
    expect(on.target.counters).toMatchObject({ hedges: 2, retries: 0, attempts: 3, succeeded: 1 });
    expect(on.clock.timers).toBe(0);
  });

  it("starts no other send while the first waits for its turn", async () => {
    const on = race();
    const done = on.start({ takeToken: () => on.clock.sleep(on.sends.length === 0 ? 1_700 : 0) }, { patient: true });
    await on.clock.advance(2_199);
    expect(on.sends.map(({ atMs }) => atMs)).toEqual([1_700]);
    await on.clock.advance(1);
    expect(on.sends.map(({ atMs }) => atMs)).toEqual([1_700, 2_200]);
    on.sends[1]!.resolve("second");
    expect(await done).toMatchObject({ kind: "ok", value: "second" });
  });

  it("is bounded by the attempts of the policy too, wherever they begin", async () => {
    const on = race({ maxAttempts: 2 });
    const done = on.start();
    await on.clock.advance(2_500);
    expect(on.sends).toHaveLength(2);
    on.sends[0]!.resolve("first");
    await done;
    const resumed = race({ maxAttempts: 4 });
    void resumed.start({ firstAttempt: 4 });
    await resumed.clock.advance(2_500);
    expect(resumed.sends.map(({ context }) => context.attempt)).toEqual([4]);
    const later = race({ maxAttempts: 9, attemptTimeoutMs: 1_000 });
    void later.start({ firstAttempt: 4 });
    await later.clock.advance(900);
    expect(later.sends.map(({ context }) => context.attempt)).toEqual([4, 5]);
  });

  it("starts no other send once it is halted, and waits for those under way", async () => {
    const on = race();
    const halt = new AbortController();
    const done = on.start({}, { halt: halt.signal });
    await on.clock.advance(600);
    halt.abort("paused");
    await on.clock.advance(1_000);
    expect(on.sends).toHaveLength(2);
    on.sends[0]!.reject(coded("HTTP_503"));
    await on.clock.advance(800);
    expect(on.sends.map(({ context }) => context.signal.aborted)).toEqual([false, false]);
    on.sends[1]!.resolve("late");
    expect(await done).toMatchObject({ kind: "ok", value: "late", attempts: 2 });

    const failing = race();
    const failed = failing.start({}, { halt: halt.signal });
    expect(await failed).toMatchObject({ kind: "cancelled", reason: "paused", attempts: 0 });
  });

  it("ends a Retry-After that holds back the next send when it is halted", async () => {
    const on = race();
    const halt = new AbortController();
    const done = on.start({}, { halt: halt.signal });
    await settle();
    on.sends[0]!.reject(coded("HTTP_503", { retryAfter: "9" }));
    await on.clock.advance(2_000);
    halt.abort("paused");
    expect(await done).toMatchObject({ kind: "cancelled", reason: "paused", attempts: 1, elapsedMs: 2_000 });
    expect(on.clock.timers).toBe(0);
  });

  it("cancels the losers and lets each write its record", async () => {
    const on = race();
    const done = on.start();
    await on.clock.advance(600);
    const { signal } = on.sends[1]!.context;
    on.sends[0]!.resolve("first");
    expect(await done).toMatchObject({ kind: "ok", value: "first" });
    expect(signal.reason).toMatchObject({ name: "AbortError", code: "SUPERSEDED" });
    expect(on.records).toMatchObject([
      { attempt: 1, result: "ok", hedge: false },
      { attempt: 2, result: "cancelled", hedge: true, verdict: { code: "CANCELLED" } },
    ]);
    await on.clock.advance(60_000);
    expect(on.sends).toHaveLength(2);
  });

  it("needs a key and a target on the whitelist", async () => {
    for (const call of [{ idempotencyKey: null }, { retryable: false }]) {
      const on = race();
      const done = on.start(call);
      await on.clock.advance(2_000);
      expect(on.sends).toHaveLength(1);
      on.sends[0]!.resolve("only");
      expect(await done).toMatchObject({ kind: "ok", attempts: 1 });
    }
  });

  it("sends the next at once when one fails, and counts the silence from there", async () => {
    const on = race();
    const done = on.start();
    await on.clock.advance(100);
    on.sends[0]!.reject(coded("HTTP_500"));
    await on.clock.advance(499);
    expect(on.sends.map(({ atMs }) => atMs)).toEqual([0, 100]);
    await on.clock.advance(1);
    expect(on.sends.map(({ atMs }) => atMs)).toEqual([0, 100, 600]);
    on.sends[1]!.resolve("second");
    expect(await done).toMatchObject({ kind: "ok" });
    expect(on.records[0]).toMatchObject({ result: "failed", next: { kind: "retry", delayMs: 0 } });
    expect(on.target.counters.retryAfterHonored).toBe(0);
  });

  it("waits as long as Retry-After asks, while the others may still win", async () => {
    const on = race();
    const done = on.start();
    await on.clock.advance(500);
    on.sends[0]!.reject(coded("HTTP_429", { retryAfter: "2" }));
    await on.clock.advance(1_999);
    expect(on.sends).toHaveLength(2);
    await on.clock.advance(1);
    expect(on.sends.map(({ atMs }) => atMs)).toEqual([0, 500, 2_500]);
    on.sends[1]!.resolve("second");
    expect(await done).toMatchObject({ kind: "ok", value: "second" });
    expect(on.target.counters.retryAfterHonored).toBe(1);
  });

  it("gives back what it paid for a send that was not needed any more", async () => {
    const on = race({ budget: { kind: "in-flight", ratio: 0, retriesMin: 2 } });
    const done = on.start();
    await on.clock.advance(500);
    on.sends[0]!.reject(coded("HTTP_429", { retryAfter: "2" }));
    await settle();
    expect(on.target.budget.snapshot(0).available).toBe(0);
    on.sends[1]!.resolve("second");
    await done;
    expect(on.target.budget.snapshot(0).available).toBe(2);
  });

  it("pays once when two failures ask for the same next send", async () => {
    const on = race({ budget: { kind: "in-flight", ratio: 0, retriesMin: 2 } });
    const done = on.start();
    await on.clock.advance(500);
    on.sends[0]!.reject(coded("HTTP_429", { retryAfter: "2" }));
    await settle();
    on.sends[1]!.reject(coded("HTTP_429", { retryAfter: "3" }));
    await settle();
    expect(on.target.budget.snapshot(0).available).toBe(1);
    await on.clock.advance(2_999);
    expect(on.sends).toHaveLength(2);
    await on.clock.advance(1);
    on.sends[2]!.resolve("third");
    await done;
    expect(on.target.budget.snapshot(0).available).toBe(2);
  });

  it("pays like a retry after a transient failure, and is not refunded for a send that was never made", async () => {
    const budget = { kind: "quota", capacity: 10, cost: { transient: 5, throttled: 4 }, reward: 0 } as const;
    const silent = race({ budget });
    const done = silent.start();
    await silent.clock.advance(500);
    expect(silent.target.budget.snapshot(0).available).toBe(1);
    silent.sends[0]!.resolve("first");
    await done;
    const held = race({ budget });
    const won = held.start();
    await held.clock.advance(500);
    held.sends[0]!.reject(coded("HTTP_429", { retryAfter: "2" }));
    await settle();
    held.sends[1]!.resolve("second");
    await won;
    // 10 - 5 for the hedge, which its success returns, - 4 for the one that was held back.
    expect(held.target.budget.withdraw("transient", 0)).toBe(5);
    expect(held.target.budget.withdraw("transient", 0)).toBeNull();
  });

  it("counts how often one code may repeat over all its sends", async () => {
    const on = race({ maxAttempts: 6, attemptTimeoutMs: 1_000, hedge: { delayMs: 500, sendsMax: 6 } });
    const done = on.start();
    for (let send = 0; send < 4; send++) {
      await on.clock.advance(0);
      on.sends[send]!.reject(coded("ENOTFOUND"));
    }
    expect(await done).toMatchObject({ kind: "failed", reason: "permanent", code: "ENOTFOUND", attempts: 4 });
  });

  it("ends when the client itself aborts a send", async () => {
    const on = race();
    const done = on.start();
    await on.clock.advance(500);
    const aborted = Object.assign(new Error("x"), { name: "AbortError" });
    on.sends[0]!.reject(aborted);
    expect(await done).toMatchObject({ kind: "cancelled", reason: aborted });
    expect(on.sends[1]!.context.signal.aborted).toBe(true);
  });

  it("writes no record for a send that was still waiting when another won", async () => {
    const on = race();
    let tokens = 0;
    const done = on.start({ takeToken: (signal) => on.clock.sleep(tokens++ === 0 ? 0 : 9_000, signal) });
    await on.clock.advance(600);
    on.sends[0]!.resolve("first");
    expect(await done).toMatchObject({ kind: "ok", attempts: 1 });
    expect(on.records.map(({ attempt }) => attempt)).toEqual([1]);
    expect(on.clock.timers).toBe(0);
  });

  it("waits for a send whose intent is being written, even when cancelled meanwhile, and keeps the success", async () => {
    const on = race();
    const { promise, resolve: open } = Promise.withResolvers<void>();
    const done = on.start({ onOpen: (attempt) => (attempt === 1 ? Promise.resolve() : promise) });
    await on.clock.advance(600);
    on.sends[0]!.resolve("first");
    await settle();
    on.controller.abort("stop");
    await settle();
    open();
    expect(await done).toMatchObject({ kind: "ok", value: "first" });
    expect(on.records).toMatchObject([{ attempt: 1 }, { attempt: 2, result: "cancelled", verdict: { sent: "no" } }]);
  });

  it("shares the budget: when it is empty, those under way are waited for", async () => {
    const on = race({ budget: { kind: "in-flight", ratio: 0, retriesMin: 1 } });
    const done = on.start();
    await on.clock.advance(2_000);
    expect(on.sends).toHaveLength(2);
    on.sends[0]!.resolve("first");
    expect(await done).toMatchObject({ kind: "ok", value: "first" });
    expect(on.target.budget.snapshot(0).available).toBe(1);
  });

  it("stops everything at a permanent failure", async () => {
    const on = race();
    const done = on.start();
    await on.clock.advance(500);
    on.sends[1]!.reject(coded("HTTP_404"));
    expect(await done).toMatchObject({ kind: "failed", reason: "permanent", code: "HTTP_404", attempts: 2 });
    expect(on.records).toMatchObject([
      { attempt: 2, result: "failed" },
      { attempt: 1, result: "cancelled" },
    ]);
  });

  it("still answers a success that arrives while a permanent failure is being recorded", async () => {
    const on = race();
    const { promise, resolve: release } = Promise.withResolvers<void>();
    const done = on.start({ onClose: ({ attempt }) => (attempt === 2 ? promise : undefined) });
    await on.clock.advance(500);
    on.sends[1]!.reject(coded("HTTP_404"));
    await settle();
    on.sends[0]!.resolve("first after all");
    await settle();
    release();
    expect(await done).toMatchObject({ kind: "ok", value: "first after all" });
    expect(on.target.counters).toMatchObject({ succeeded: 1, failed: 0 });
  });

  it("fails when all have failed, and retries nothing after", async () => {
    const on = race();
    const done = on.start();
    await on.clock.advance(1_000);
    on.sends[0]!.reject(coded("HTTP_500"));
    on.sends[1]!.reject(coded("HTTP_502"));
    await settle();
    on.sends[2]!.reject(coded("HTTP_503"));
    expect(await done).toMatchObject({ kind: "failed", reason: "exhausted", code: "HTTP_503", attempts: 3 });
    await on.clock.advance(60_000);
    expect(on.sends).toHaveLength(3);
    expect(on.target.counters).toMatchObject({ retryExhausted: 1, failed: 1 });
  });

  it("defers when the last failure asks for more time than there is", async () => {
    const on = race({ maxAttempts: 3 });
    const done = on.start();
    await settle();
    on.sends[0]!.reject(coded("HTTP_429", { retryAfter: "60" }));
    expect(await done).toMatchObject({ kind: "deferred", cause: "retry-after", attempts: 1 });
  });

  it("starts no send that could not be answered before the margin", async () => {
    const on = race({
      maxAttempts: 2,
      deadlineMs: 6_000,
      attemptTimeoutMs: 2_500,
      marginMs: 1_000,
      hedge: { delayMs: 2_000, sendsMax: 2 },
    });
    const done = on.start({ takeToken: () => on.clock.sleep(3_000) });
    await on.clock.advance(3_000);
    expect(on.sends).toHaveLength(1);
    await on.clock.advance(3_000);
    expect(await done).toMatchObject({ kind: "failed" });
    const late = race({
      maxAttempts: 2,
      deadlineMs: 6_000,
      attemptTimeoutMs: 2_500,
      marginMs: 1_000,
      hedge: { delayMs: 5_000, sendsMax: 2 },
    });
    let tokens = 0;
    const silent = late.start({ takeToken: () => late.clock.sleep(tokens++ === 0 ? 4_500 : 0) });
    await late.clock.advance(5_999);
    expect(late.sends).toHaveLength(1);
    await late.clock.advance(1);
    expect(await silent).toMatchObject({ kind: "failed", reason: "deadline" });
  });

  it("is refused as a whole only when nothing is under way", async () => {
    const breaker = {
      trip: { kind: "consecutive", failures: 1 },
      openMs: 5_000,
      openMsMax: 5_000,
      probes: 1,
      probeMsMax: 60_000,
    } as const;
    const on = race({ breaker });
    const refused = on.start();
    on.target.force("open");
    await settle();
    on.target.force("auto");
    expect(on.sends).toHaveLength(1);
    on.target.force("open");
    await on.clock.advance(500);
    expect(on.sends).toHaveLength(1);
    on.sends[0]!.resolve("first");
    expect(await refused).toMatchObject({ kind: "ok", value: "first" });
    expect(await on.start()).toMatchObject({
      kind: "failed",
      reason: "breaker-open",
      code: "BREAKER_OPEN",
      attempts: 0,
    });
  });

  it("ends at once when cancelled, with every send told", async () => {
    const on = race();
    const listeners = countListeners(on.controller.signal);
    const done = on.start();
    await on.clock.advance(600);
    const signals = on.sends.map(({ context }) => context.signal);
    on.controller.abort("stop");
    expect(await done).toMatchObject({ kind: "cancelled", reason: "stop", attempts: 2 });
    expect(signals.map(({ reason }) => reason)).toEqual(["stop", "stop"]);
    expect(on.records).toMatchObject([{ result: "cancelled" }, { result: "cancelled" }]);
    expect(on.clock.timers).toBe(0);
    expect(listeners()).toBe(0);
  });

  it("ends at once when cancelled while only a Retry-After is waited for", async () => {
    const on = race();
    const done = on.start();
    await settle();
    on.sends[0]!.reject(coded("HTTP_429", { retryAfter: "5" }));
    await on.clock.advance(1_000);
    on.controller.abort("stop");
    expect(await done).toMatchObject({ kind: "cancelled", reason: "stop", attempts: 1, elapsedMs: 1_000 });
    expect(on.clock.timers).toBe(0);
    expect(on.sends).toHaveLength(1);
  });

  it("leaves nothing running when a hook rejects", async () => {
    const on = race();
    const broken = new Error("no database");
    const done = on.start({ onOpen: () => Promise.reject(broken) });
    expect(await done.catch((error: unknown) => error)).toBe(broken);
    await settle();
    expect(on.clock.timers).toBe(0);
  });

  it("that has no turn in time does not end the send that it hedges", async () => {
    const on = race();
    const late = (attempt: number) => (attempt === 2 ? -1 : Number.POSITIVE_INFINITY);
    const done = on.start({ onOpen: () => Promise.resolve(), mayBeginUntilMs: late });
    await on.clock.advance(600);
    expect(on.records).toMatchObject([{ attempt: 2, result: "cancelled", verdict: { sent: "no" } }]);
    expect(on.sends[0]!.context.signal.aborted).toBe(false);
    on.sends[0]!.resolve("first");
    expect(await done).toMatchObject({ kind: "ok", value: "first" });
    expect(on.clock.timers).toBe(0);
  });

  it("that may not be sent does not end the send that it hedges", async () => {
    const on = race();
    const denied = new Error("paused meanwhile");
    const done = on.start({ onOpen: (attempt) => (attempt === 2 ? Promise.reject(denied) : Promise.resolve()) });
    await on.clock.advance(600);
    expect(on.sends[0]!.context.signal.aborted).toBe(false);
    on.sends[0]!.resolve("first");
    expect(await done).toMatchObject({ kind: "ok", value: "first", attempts: 1 });
    expect(on.clock.timers).toBe(0);
  });
});
