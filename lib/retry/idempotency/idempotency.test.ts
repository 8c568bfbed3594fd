import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { execute } from "@/lib/retry/execute";
import { type ClaimEntry, decideClaim, holdsClaim, windowProblems } from "@/lib/retry/idempotency/claim";
import { executeOnce } from "@/lib/retry/idempotency/execute-once";
import { idempotencyKey } from "@/lib/retry/idempotency/key";
import { memoryIdempotencyStore } from "@/lib/retry/idempotency/store";
import { manualClock, settle } from "@/lib/retry/testing/manual-clock";
import { bench, coded } from "@/lib/retry/testing/scripted-call";

const TIMES = { windowMs: 10_000, leaseMs: 1_000 };

describe("the decision on a claim", () => {
  const claimed: ClaimEntry<string> = { state: "claimed", fence: 4, leaseUntilMs: 2_000, expiresMs: 9_000 };
  const done: ClaimEntry<string> = { state: "done", fence: 4, result: "r", expiresMs: 9_000 };

  it.each<[string, ClaimEntry<string> | null, number, object]>([
    ["none", null, 100, { kind: "claimed", fence: 1 }],
    ["a live claim", claimed, 1_999, { kind: "in-progress", untilMs: 2_000 }],
    ["a claim whose holder is silent", claimed, 2_000, { kind: "claimed", fence: 5 }],
    ["a claim past the window", claimed, 9_000, { kind: "claimed", fence: 5 }],
    ["a result", done, 8_999, { kind: "done", result: "r" }],
    ["a result past the window", done, 9_000, { kind: "claimed", fence: 5 }],
  ])("%s", (_, entry, nowMs, claim) => {
    const decided = decideClaim(entry, TIMES, nowMs);
    expect(decided.claim).toEqual(claim);
    if (decided.claim.kind === "claimed") {
      expect(decided.entry).toEqual({
        state: "claimed",
        fence: decided.claim.fence,
        leaseUntilMs: nowMs + 1_000,
        expiresMs: nowMs + 10_000,
      });
    } else expect(decided.entry).toBe(entry);
  });

  it("lets only the latest holder write", () => {
    expect(holdsClaim(claimed, 4)).toBe(true);
    expect(holdsClaim(claimed, 3)).toBe(false);
    expect(holdsClaim(done, 4)).toBe(false);
    expect(holdsClaim(null, 4)).toBe(false);
  });
});

describe("a deduplication window", () => {
  it("covers the span of reordering and is what the store keeps", () => {
    expect(windowProblems(10_000, { reorderSpanMs: 10_000, storeTtlMs: 10_000 })).toEqual([]);
    expect(windowProblems(9_999, { reorderSpanMs: 10_000, storeTtlMs: 10_000 })).toEqual([
      "windowMs = 9999 must be >= reorderSpanMs = 10000",
      "windowMs = 9999 must equal storeTtlMs = 10000",
    ]);
    expect(windowProblems(10_000, { reorderSpanMs: 1, storeTtlMs: 10_001 })).toHaveLength(1);
  });
});

describe("the store in memory", () => {
  it("gives a key to one holder, keeps the result, and forgets it after the window", async () => {
    const clock = manualClock();
    const store = memoryIdempotencyStore<string>(clock);
    const claim = await store.claim("k", TIMES);
    expect(claim).toEqual({ kind: "claimed", fence: 1 });
    expect(await store.claim("k", TIMES)).toEqual({ kind: "in-progress", untilMs: clock.nowMs() + 1_000 });
    expect(await store.finish("k", 1, "result", TIMES)).toBe(true);
    await clock.advance(9_999);
    expect(await store.claim("k", TIMES)).toEqual({ kind: "done", result: "result" });
    await clock.advance(1);
    expect(await store.claim("k", TIMES)).toMatchObject({ kind: "claimed" });
  });

  it("fences a holder that was silent for too long", async () => {
    const clock = manualClock();
    const store = memoryIdempotencyStore<string>(clock);
    await store.claim("k", TIMES);
    await clock.advance(1_000);
    expect(await store.claim("k", TIMES)).toEqual({ kind: "claimed", fence: 2 });
    expect(await store.finish("k", 1, "stale", TIMES)).toBe(false);
    expect(await store.renew("k", 1, TIMES)).toBe(false);
    expect(await store.release("k", 1)).toBe(false);
    expect(await store.finish("k", 2, "fresh", TIMES)).toBe(true);
    expect(await store.finish("k", 2, "again", TIMES)).toBe(false);
    expect(await store.claim("k", TIMES)).toEqual({ kind: "done", result: "fresh" });
  });

  it("lets a holder at work keep its lease", async () => {
    const clock = manualClock();
    const store = memoryIdempotencyStore<string>(clock);
    await store.claim("k", TIMES);
    await clock.advance(999);
    expect(await store.renew("k", 1, TIMES)).toBe(true);
    await clock.advance(999);
    expect(await store.claim("k", TIMES)).toMatchObject({ kind: "in-progress" });
    await clock.advance(1);
    expect(await store.claim("k", TIMES)).toMatchObject({ kind: "claimed" });
  });

  it("keeps a renewed claim for a whole window from then", async () => {
    const clock = manualClock();
    const store = memoryIdempotencyStore<string>(clock);
    const long = { windowMs: 2_000, leaseMs: 5_000 };
    await store.claim("k", long);
    await clock.advance(1_500);
    await store.renew("k", 1, long);
    await clock.advance(1_999);
    expect(await store.claim("k", long)).toMatchObject({ kind: "in-progress" });
    await clock.advance(1);
    expect(await store.claim("k", long)).toMatchObject({ kind: "claimed" });
  });

  it("gives a released key to the next at once, with a fence of its own", async () => {
    const store = memoryIdempotencyStore<string>(manualClock());
    await store.claim("k", TIMES);
    expect(await store.release("k", 1)).toBe(true);
    expect(await store.claim("k", TIMES)).toEqual({ kind: "claimed", fence: 2 });
    expect(await store.finish("k", 1, "stale", TIMES)).toBe(false);
  });

  it("is bounded: the entry written longest ago goes first", async () => {
    const clock = manualClock();
    const store = memoryIdempotencyStore<string>(clock, 2);
    await store.claim("a", TIMES);
    await store.claim("b", TIMES);
    await store.renew("a", 1, TIMES);
    await store.claim("c", TIMES);
    expect(await store.claim("a", TIMES)).toMatchObject({ kind: "in-progress" });
    expect(await store.claim("b", TIMES)).toMatchObject({ kind: "claimed" });
  });

  it("drops what has expired as it goes, from the oldest on", async () => {
    const clock = manualClock();
    const store = memoryIdempotencyStore<string>(clock, 3);
    await store.claim("old", TIMES);
    await clock.advance(10_000);
    await store.claim("b", TIMES);
    await store.claim("c", TIMES);
    await store.claim("d", TIMES);
    for (const key of ["b", "c", "d"]) expect(await store.claim(key, TIMES)).toMatchObject({ kind: "in-progress" });
  });

  it("never has two holders that may both write", async () => {
    const step = fc.record({
      advanceMs: fc.integer({ min: 0, max: 1_500 }),
      act: fc.constantFrom("claim", "finish", "release"),
      which: fc.nat(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const clock = manualClock();
        const store = memoryIdempotencyStore<number>(clock);
        const fences: number[] = [];
        for (const { advanceMs, act, which } of steps) {
          await clock.advance(advanceMs);
          if (act === "claim") {
            const claim = await store.claim("k", TIMES);
            if (claim.kind === "claimed") {
              expect(claim.fence).toBeGreaterThan(Math.max(0, ...fences));
              fences.push(claim.fence);
            }
          } else if (fences.length > 0) {
            const fence = fences[which % fences.length]!;
            const wrote =
              act === "finish" ? await store.finish("k", fence, fence, TIMES) : await store.release("k", fence);
            if (wrote) expect(fence).toBe(Math.max(...fences));
          }
        }
      }),
      { numRuns: 40 },
    );
  });
});

describe("the key", () => {
  const source = { payload: new TextEncoder().encode("body"), user: "ann", atMs: 59_999, bucketMs: 60_000 };

  it("is the business key where there is one", async () => {
    expect(await idempotencyKey({ businessKey: "orders:17" })).toBe("orders:17");
  });

  it("is the same for the same request within the bucket, and another beyond its edge", async () => {
    const key = await idempotencyKey(source);
    expect(key).toMatch(/^[0-9a-f]{64}$/);
    expect(await idempotencyKey({ ...source, atMs: 0 })).toBe(key);
    expect(await idempotencyKey({ ...source, atMs: 60_000 })).not.toBe(key);
    expect(await idempotencyKey({ ...source, user: "bob" })).not.toBe(key);
    expect(await idempotencyKey({ ...source, payload: new Uint8Array([1]) })).not.toBe(key);
  });

  it("is the SHA-256 of bucket, user and payload", async () => {
    const bytes = new TextEncoder().encode("0:3:ann:body");
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    const hex = [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    expect(await idempotencyKey(source)).toBe(hex);
  });

  it("does not confuse a user's end with a payload's beginning", async () => {
    const bytes = (text: string) => new TextEncoder().encode(text);
    const one = await idempotencyKey({ ...source, user: "a", payload: bytes(":b") });
    const other = await idempotencyKey({ ...source, user: "a:", payload: bytes("b") });
    expect(one).not.toBe(other);
  });
});

describe("executeOnce", () => {
  function once() {
    const on = bench({ maxAttempts: 1 });
    const store = memoryIdempotencyStore<string>(on.clock);
    let sends = 0;
    const run = (attempt: () => Promise<string>, onOpen?: () => Promise<void>) =>
      executeOnce(
        "k",
        () =>
          execute(
            {
              idempotencyKey: "k",
              retryable: true,
              attempt: () => {
                sends++;
                return attempt();
              },
              ...(onOpen ? { onOpen } : {}),
            },
            { policy: on.policy, target: on.target, clock: on.clock, random: () => 0 },
          ),
        { store, times: TIMES, onDropped: () => on.target.counters.dedupDropped++ },
      );
    return { on, store, run, sends: () => sends };
  }

  it("runs the first, replays the result to the second, and counts what it dropped", async () => {
    const { on, run, sends } = once();
    expect(await run(async () => "first")).toMatchObject({ kind: "ran", outcome: { kind: "ok", value: "first" } });
    expect(await run(async () => "second")).toEqual({ kind: "replayed", value: "first" });
    expect(sends()).toBe(1);
    expect(on.target.counters.dedupDropped).toBe(1);
    expect(on.target.snapshot().counters.dedupDropRate).toBe(0.5);
  });

  it("tells a second that the first is still at it", async () => {
    const { on, run } = once();
    const { promise, resolve: finish } = Promise.withResolvers<string>();
    const first = run(() => promise);
    await settle();
    expect(await run(async () => "second")).toEqual({ kind: "in-progress", untilMs: on.clock.nowMs() + 1_000 });
    finish("first");
    expect(await first).toMatchObject({ kind: "ran" });
    expect(on.target.counters.dedupDropped).toBe(1);
  });

  it("gives the key back after a failure, so that it can be repeated", async () => {
    const { run, sends } = once();
    expect(await run(() => Promise.reject(coded("HTTP_404")))).toMatchObject({
      kind: "ran",
      outcome: { kind: "failed" },
    });
    expect(await run(async () => "second")).toMatchObject({ kind: "ran", outcome: { value: "second" } });
    expect(sends()).toBe(2);
  });

  it("gives the key back after an accident, and passes the accident on", async () => {
    const { run } = once();
    const broken = new Error("no database");
    await expect(
      run(
        async () => "x",
        () => Promise.reject(broken),
      ),
    ).rejects.toBe(broken);
    expect(await run(async () => "second")).toMatchObject({ kind: "ran" });
  });

  it("says when the claim was lost meanwhile: the other's result counts", async () => {
    const { on, store, run } = once();
    const { promise, resolve: finish } = Promise.withResolvers<string>();
    const first = run(() => promise);
    await on.clock.advance(1_000);
    expect(await run(async () => "second")).toMatchObject({ kind: "ran" });
    finish("first");
    expect(await first).toMatchObject({ kind: "fenced", outcome: { kind: "ok", value: "first" } });
    expect(await store.claim("k", TIMES)).toEqual({ kind: "done", result: "second" });
  });
});
