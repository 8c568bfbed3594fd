import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { IdempotencyStore } from "@/lib/retry/idempotency/store";

/** One store, and what the suite must be able to do to it. */
export type KeyStore = {
  /** A client of its own, as a further process has. */
  connect(): Promise<{ store: IdempotencyStore<unknown>; close(): Promise<void> }>;
  /** Lets `ms` pass for one key: window and lease end that much sooner. */
  age(key: string, ms: number): Promise<void>;
  /** Loses every key. */
  wipe(): Promise<void>;
  /** The store's clock in the unit of `untilMs`. */
  nowMs(): Promise<number>;
  /** How far two readings of the store's clock may lie apart while the suite is not looking; 0 = it stands still. */
  slackMs: number;
  close(): Promise<void>;
};

/** So long that nothing ends by itself while a test runs: time passes by `age` alone. */
const TIMES = { windowMs: 3_600_000, leaseMs: 600_000 };

/** The guarantees of IdempotencyStore, for every store that claims to be one. */
export function idempotencyConformance(open: () => Promise<KeyStore>): void {
  let keys: KeyStore;
  let client: Awaited<ReturnType<KeyStore["connect"]>>;
  let store: IdempotencyStore<unknown>;
  let serial = 0;

  beforeAll(async () => {
    keys = await open();
    client = await keys.connect();
    store = client.store;
  });
  afterAll(async () => {
    await client.close();
    await keys.close();
  });

  const fresh = () => `key ${++serial}: "{}" é`;
  async function claimed(key: string, times = TIMES): Promise<number> {
    const claim = await store.claim(key, times);
    if (claim.kind !== "claimed") throw new Error(`expected to claim ${key}, got ${claim.kind}`);
    return claim.fence;
  }
  /** Just short of `ms`, and the rest of it. */
  const edge = (ms: number) => ({ beforeMs: ms - 1 - keys.slackMs, restMs: 1 + keys.slackMs });

  describe("a claim", () => {
    test("gives a key to one holder, and tells the others until when it holds", async () => {
      const key = fresh();
      const beforeMs = await keys.nowMs();
      await claimed(key);
      const second = await store.claim(key, TIMES);
      const afterMs = await keys.nowMs();
      expect(second).toEqual({ kind: "in-progress", untilMs: expect.any(Number) });
      const { untilMs } = second as { untilMs: number };
      expect(untilMs).toBeGreaterThanOrEqual(beforeMs + TIMES.leaseMs - 1);
      expect(untilMs).toBeLessThanOrEqual(afterMs + TIMES.leaseMs + 1);
    });

    test("of many at once one wins, also across clients, also for a key whose holder fell silent", async () => {
      const clients = await Promise.all(Array.from({ length: 4 }, () => keys.connect()));
      const key = fresh();
      for (let round = 0; round < 3; round++) {
        const claims = await Promise.all(
          Array.from({ length: 40 }, (_, index) => clients[index % 4]!.store.claim(key, TIMES)),
        );
        expect(claims.filter((claim) => claim.kind === "claimed")).toHaveLength(1);
        expect(claims.filter((claim) => claim.kind === "in-progress")).toHaveLength(39);
        await keys.age(key, TIMES.leaseMs);
      }
      await Promise.all(clients.map((one) => one.close()));
    });

    test("keys are apart", async () => {
      const [one, other] = [fresh(), fresh()];
      await claimed(one);
      await claimed(other);
    });
  });

  describe("a result", () => {
    test.each([
      ["an object, in its order", { b: 1, a: [null, "é", 9_007_199_254_740_991], nested: { ok: true } }],
      ["null", null],
      ["text", "done"],
      ["an empty list", []],
    ])("comes back as it was: %s", async (_name, result) => {
      const key = fresh();
      expect(await store.finish(key, await claimed(key), result, TIMES)).toBe(true);
      const replay = await store.claim(key, TIMES);
      expect(replay).toEqual({ kind: "done", result });
      expect(JSON.stringify((replay as { result: unknown }).result)).toBe(JSON.stringify(result));
    });

    test("is kept for the window, to its edge and no further", async () => {
      const key = fresh();
      await store.finish(key, await claimed(key), "kept", TIMES);
      const { beforeMs, restMs } = edge(TIMES.windowMs);
      await keys.age(key, beforeMs);
      expect(await store.claim(key, TIMES)).toEqual({ kind: "done", result: "kept" });
      await keys.age(key, restMs);
      expect(await store.claim(key, TIMES)).toMatchObject({ kind: "claimed" });
    });

    test("counts its window from the result on, not from the claim", async () => {
      const key = fresh();
      const fence = await claimed(key);
      await keys.age(key, TIMES.windowMs / 2);
      expect(await store.finish(key, fence, "late", TIMES)).toBe(true);
      await keys.age(key, edge(TIMES.windowMs).beforeMs);
      expect(await store.claim(key, TIMES)).toMatchObject({ kind: "done" });
    });

    test("is written once", async () => {
      const key = fresh();
      const fence = await claimed(key);
      expect(await store.finish(key, fence, "first", TIMES)).toBe(true);
      expect(await store.finish(key, fence, "second", TIMES)).toBe(false);
      expect(await store.release(key, fence)).toBe(false);
      expect(await store.renew(key, fence, TIMES)).toBe(false);
      expect(await store.claim(key, TIMES)).toEqual({ kind: "done", result: "first" });
    });
  });

  describe("a lease", () => {
    test("protects a holder to its edge and no further", async () => {
      const key = fresh();
      await claimed(key);
      const { beforeMs, restMs } = edge(TIMES.leaseMs);
      await keys.age(key, beforeMs);
      expect(await store.claim(key, TIMES)).toMatchObject({ kind: "in-progress" });
      await keys.age(key, restMs);
      expect(await store.claim(key, TIMES)).toMatchObject({ kind: "claimed" });
    });

    test("that ran out costs nothing as long as nobody else has claimed", async () => {
      const key = fresh();
      const fence = await claimed(key);
      await keys.age(key, TIMES.leaseMs + 1);
      expect(await store.finish(key, fence, "slow", TIMES)).toBe(true);
      expect(await store.claim(key, TIMES)).toEqual({ kind: "done", result: "slow" });
    });

    test("that ran out fences its holder once somebody else has claimed", async () => {
      const key = fresh();
      const late = await claimed(key);
      await keys.age(key, TIMES.leaseMs);
      const next = await claimed(key);
      expect(next).toBeGreaterThan(late);
      expect(await store.finish(key, late, "stale", TIMES)).toBe(false);
      expect(await store.renew(key, late, TIMES)).toBe(false);
      expect(await store.release(key, late)).toBe(false);
      expect(await store.finish(key, next, "fresh", TIMES)).toBe(true);
      expect(await store.claim(key, TIMES)).toEqual({ kind: "done", result: "fresh" });
    });

    test("is extended by its holder, and the window with it", async () => {
      const key = fresh();
      const short = { windowMs: TIMES.windowMs, leaseMs: TIMES.windowMs * 2 };
      const fence = await claimed(key, short);
      await keys.age(key, TIMES.windowMs * 0.75);
      expect(await store.renew(key, fence, short)).toBe(true);
      await keys.age(key, edge(TIMES.windowMs).beforeMs);
      expect(await store.claim(key, short)).toMatchObject({ kind: "in-progress" });
      await keys.age(key, edge(TIMES.windowMs).restMs);
      expect(await store.claim(key, short)).toMatchObject({ kind: "claimed" });
    });
  });

  describe("a release", () => {
    test("gives the key to the next at once, and fences the one who gave it back", async () => {
      const key = fresh();
      const first = await claimed(key);
      expect(await store.release(key, first)).toBe(true);
      expect(await store.release(key, first)).toBe(false);
      const second = await claimed(key);
      expect(second).toBeGreaterThan(first);
      expect(await store.finish(key, first, "stale", TIMES)).toBe(false);
      expect(await store.finish(key, second, "fresh", TIMES)).toBe(true);
    });

    test("of a key nobody holds is refused", async () => {
      expect(await store.release(fresh(), 1)).toBe(false);
      expect(await store.finish(fresh(), 1, "x", TIMES)).toBe(false);
      expect(await store.renew(fresh(), 1, TIMES)).toBe(false);
    });
  });

  describe("a fence", () => {
    test("only grows: over lease, release, result and window", async () => {
      const key = fresh();
      const fences: number[] = [];
      for (const end of ["lease", "release", "result", "window", "lease"] as const) {
        const fence = await claimed(key);
        fences.push(fence);
        if (end === "release") await store.release(key, fence);
        if (end === "result") await store.finish(key, fence, "done", TIMES);
        await keys.age(key, end === "lease" ? TIMES.leaseMs : TIMES.windowMs + 1);
      }
      expect(fences).toEqual([...new Set(fences)].sort((a, b) => a - b));
      expect(fences.every(Number.isSafeInteger)).toBe(true);
    });

    test("grows even when every key was lost, and the holder from before is fenced", async () => {
      const key = fresh();
      const before = await claimed(key);
      await keys.wipe();
      expect(await store.finish(key, before, "stale", TIMES)).toBe(false);
      const after = await claimed(key);
      expect(after).toBeGreaterThan(before);
      expect(await store.finish(key, before, "stale", TIMES)).toBe(false);
      expect(await store.finish(key, after, "fresh", TIMES)).toBe(true);
    });
  });
}
