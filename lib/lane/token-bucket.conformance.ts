import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Issue, worstWindowExcess } from "@/lib/lane/testing/window-excess";
import { systemClock } from "@/lib/platform/clock";
import type { BucketSpec, TokenBucket } from "./port";
import type { OpenTokenBucket } from "./token-bucket";

/** One store, with the faults that the suite causes. */
export type BucketStore = {
  /** A client of its own, as a further worker process has. */
  connect(): Promise<OpenTokenBucket>;
  /** Lets time pass for one bucket: moves its last take into the past; negative, as if the clock had been set back. */
  age(key: string, ms: number): Promise<void>;
  /** Deletes every bucket. */
  wipe(): Promise<void>;
  close(): Promise<void>;
};

/** The guarantees of TokenBucket, for every store that claims to be one. */
export function tokenBucketConformance(open: () => Promise<BucketStore>): void {
  let store: BucketStore;
  let client: OpenTokenBucket;
  let bucket: TokenBucket;
  let serial = 0;

  beforeAll(async () => {
    store = await open();
    client = await store.connect();
    bucket = client.bucket;
  });
  afterAll(async () => {
    await client.close();
    await store.close();
  });

  /** So slow that nothing refills by itself while a test runs: time passes by `age` alone. */
  const slow = (settings: Partial<BucketSpec> = {}): BucketSpec => ({
    key: `target-${++serial}`,
    ratePerSecond: 0.01,
    burst: 7,
    ...settings,
  });
  /** Milliseconds in which the spec's rate makes `tokens`; a hair more, against rounding to microseconds. */
  const worthMs = (spec: BucketSpec, tokens: number) => (tokens / spec.ratePerSecond) * 1000 + 1;
  const filled = async (spec: BucketSpec, tokens: number) => {
    await bucket.takeUpTo(spec, 1);
    await store.age(spec.key, worthMs(spec, tokens));
    return spec;
  };

  describe("refill", () => {
    test("a bucket nobody used before is empty, and says when the first token comes", async () => {
      const answer = await bucket.take(slow({ ratePerSecond: 0.5 }), 1);
      expect(answer).toEqual({ granted: false, waitMs: expect.closeTo(2_000, -2) });
    });

    test("time brings tokens at the rate, and a take consumes them", async () => {
      const spec = await filled(slow(), 3);
      expect((await bucket.takeUpTo(spec, 10)).granted).toBe(3);
      expect((await bucket.takeUpTo(spec, 10)).granted).toBe(0);
    });

    test("never holds more than the burst, however long it rests", async () => {
      const spec = await filled(slow({ burst: 5 }), 900);
      expect((await bucket.takeUpTo(spec, 100)).granted).toBe(5);
    });

    test("parts of a token add up", async () => {
      const spec = slow();
      await filled(spec, 0.6);
      expect((await bucket.takeUpTo(spec, 1)).granted).toBe(0);
      await store.age(spec.key, worthMs(spec, 0.5));
      expect((await bucket.takeUpTo(spec, 1)).granted).toBe(1);
    });

    test("a token that is almost there is not rounded up, however often one asks", async () => {
      const spec = slow({ ratePerSecond: 0.0001 });
      await bucket.takeUpTo(spec, 1);
      await store.age(spec.key, (0.9996 / 0.0001) * 1000);
      for (let i = 0; i < 5; i++) expect((await bucket.takeUpTo(spec, 1)).granted).toBe(0);
    });

    test("the announced wait is enough, and not more than needed", async () => {
      const spec = await filled(slow(), 0.25);
      const { waitMs } = await bucket.takeUpTo(spec, 1);
      await store.age(spec.key, waitMs * 0.99);
      expect((await bucket.takeUpTo(spec, 1)).granted).toBe(0);
      await store.age(spec.key, waitMs * 0.01 + 1);
      expect((await bucket.takeUpTo(spec, 1)).granted).toBe(1);
    });

    test("a clock that is set back brings nothing, and holds nothing up", async () => {
      const spec = await filled(slow(), 0.5);
      await bucket.takeUpTo(spec, 1);
      await store.age(spec.key, -3_600_000);
      expect((await bucket.takeUpTo(spec, 1)).granted).toBe(0);
      await store.age(spec.key, worthMs(spec, 1));
      expect((await bucket.takeUpTo(spec, 1)).granted).toBe(1);
    });
  });

  describe("take", () => {
    test("is all or nothing: a refusal consumes nothing and says when all would be there", async () => {
      const spec = await filled(slow(), 2);
      const refused = await bucket.take(spec, 3);
      expect(refused).toEqual({ granted: false, waitMs: expect.closeTo(100_000, -3) });
      expect(await bucket.take(spec, 2)).toEqual({ granted: true });
    });

    test("several tokens at once are paid in full", async () => {
      const spec = await filled(slow(), 6);
      expect(await bucket.take(spec, 4)).toEqual({ granted: true });
      expect((await bucket.takeUpTo(spec, 10)).granted).toBe(2);
    });

    test.each([
      ["a cost above the burst", { burst: 5 }, 5.5],
      ["no cost", {}, 0],
      ["a negative cost", {}, -1],
      ["a cost that is no number", {}, Number.NaN],
      ["a negative rate", { ratePerSecond: -1 }, 1],
      ["an infinite rate", { ratePerSecond: Number.POSITIVE_INFINITY }, 1],
      ["a burst below one", { burst: 0.5 }, 0.25],
    ])("%s is a RangeError", async (_name, settings, cost) => {
      await expect(bucket.take(slow(settings), cost)).rejects.toThrow(RangeError);
    });

    test("keys are separate buckets", async () => {
      const [a, b] = [await filled(slow(), 4), slow()];
      expect((await bucket.takeUpTo(b, 4)).granted).toBe(0);
      expect((await bucket.takeUpTo(a, 4)).granted).toBe(4);
    });
  });

  describe("lent tokens", () => {
    test("are granted ahead, each due when it would have come, and never more than are lent", async () => {
      const spec = await filled(slow({ burst: 1, lent: 4 }), 9);
      expect(await bucket.takeUpTo(spec, 3)).toEqual({ granted: 3, waitMs: 0, dueMs: 0 });
      const more = await bucket.takeUpTo(spec, 9);
      expect(more).toEqual({ granted: 2, waitMs: expect.closeTo(100_000, -3), dueMs: expect.closeTo(300_000, -3) });
      expect(await bucket.takeUpTo(spec, 1)).toMatchObject({ granted: 0, dueMs: 0 });
      expect(await bucket.level(spec)).toBe(0);
    });

    test("with a burst of one leave no two due within 1 / rate, whoever asks and however long it rested", async () => {
      const spec = await filled(slow({ ratePerSecond: 20, burst: 1, lent: 3 }), 50);
      const clients = await Promise.all(Array.from({ length: 3 }, () => store.connect()));
      const due: { fromMs: number; toMs: number; dueMs: number }[] = [];
      await Promise.all(
        clients.map(async (one) => {
          for (let take = 0; take < 25; take++) {
            const fromMs = systemClock.nowMs();
            const { granted, dueMs } = await one.bucket.takeUpTo(spec, 2);
            const toMs = systemClock.nowMs();
            for (let nth = 0; nth < granted; nth++) due.push({ fromMs, toMs, dueMs: dueMs + nth * 50 });
            await systemClock.sleep(15);
          }
        }),
      );
      await Promise.all(clients.map((one) => one.close()));
      expect(due.length).toBeGreaterThan(5);
      // The server's clock was read somewhere between a question and its answer, so each token is due within a span:
      // of every two spans the ends that lie farthest apart must be 1 / rate apart.
      for (const [index, one] of due.entries()) {
        for (const other of due.slice(index + 1)) {
          const oneLater = one.toMs + one.dueMs - (other.fromMs + other.dueMs);
          const otherLater = other.toMs + other.dueMs - (one.fromMs + one.dueMs);
          expect(Math.max(oneLater, otherLater)).toBeGreaterThanOrEqual(49);
        }
      }
    });
  });

  describe("live changes", () => {
    test("a rate of 0 grants nothing, not even what is there, and never will", async () => {
      const spec = await filled(slow(), 5);
      expect((await bucket.takeUpTo(spec, 1)).granted).toBe(1);
      const stopped = { ...spec, ratePerSecond: 0 };
      expect(await bucket.take(stopped, 1)).toEqual({ granted: false, waitMs: Number.POSITIVE_INFINITY });
      expect(await bucket.takeUpTo(stopped, 1)).toEqual({ granted: 0, waitMs: Number.POSITIVE_INFINITY, dueMs: 0 });
      expect((await bucket.takeUpTo(spec, 9)).granted).toBe(4);
    });

    test("a lowered burst takes what is above it", async () => {
      const spec = await filled(slow({ burst: 9 }), 9);
      expect((await bucket.takeUpTo({ ...spec, burst: 3 }, 9)).granted).toBe(3);
    });

    test("a lowered rate holds from the first take on, also for the time before it", async () => {
      const spec = await filled(slow({ ratePerSecond: 2 }), 0);
      await store.age(spec.key, 2_000);
      expect((await bucket.takeUpTo({ ...spec, ratePerSecond: 0.5 }, 9)).granted).toBe(1);
    });

    test("a raised rate never exceeds the burst for the time before it", async () => {
      const spec = await filled(slow({ burst: 4 }), 0);
      await store.age(spec.key, 60_000);
      expect((await bucket.takeUpTo({ ...spec, ratePerSecond: 1_000 }, 99)).granted).toBe(4);
    });
  });

  describe("level", () => {
    test("shows what is there and takes nothing", async () => {
      const spec = await filled(slow(), 3);
      expect(await bucket.level(spec)).toBeCloseTo(3, 1);
      expect(await bucket.level(spec)).toBeCloseTo(3, 1);
      expect((await bucket.takeUpTo(spec, 9)).granted).toBe(3);
    });

    test("a bucket nobody used is empty", async () => {
      expect(await bucket.level(slow())).toBe(0);
    });

    test("is null, not 0, when the store cannot answer; takes reject", async () => {
      const gone = await store.connect();
      await gone.close();
      expect(await gone.bucket.level(slow())).toBeNull();
      await expect(gone.bucket.take(slow(), 1)).rejects.toThrow();
      await expect(gone.bucket.takeUpTo(slow(), 1)).rejects.toThrow();
    });
  });

  describe("across workers", () => {
    test("a token is given to one of many who ask at the same moment", async () => {
      const spec = await filled(slow(), 7);
      const clients = await Promise.all(Array.from({ length: 4 }, () => store.connect()));
      const asking = Array.from({ length: 60 }, (_, i) => clients[i % 4]!.bucket.takeUpTo(spec, 1));
      const granted = (await Promise.all(asking)).reduce((sum, answer) => sum + answer.granted, 0);
      await Promise.all(clients.map((one) => one.close()));
      expect(granted).toBe(7);
    });

    test("a bucket that does not exist yet starts once, also when all workers begin together", async () => {
      const spec = slow();
      const clients = await Promise.all(Array.from({ length: 4 }, () => store.connect()));
      const answers = await Promise.all(clients.map((one) => one.bucket.takeUpTo(spec, 5)));
      await Promise.all(clients.map((one) => one.close()));
      expect(answers.map((answer) => answer.granted)).toEqual([0, 0, 0, 0]);
    });

    const fast = () => slow({ ratePerSecond: 150, burst: 15 });

    test("four workers that restart stay within rate x t + burst in every window", async () => {
      const spec = fast();
      const issues = await hammer(store, spec, { workers: 4, forMs: 1_000, restartEvery: 40 });
      expect(issues).not.toEqual([]);
      expect(worstWindowExcess(issues, spec.ratePerSecond, spec.burst)).toBeLessThanOrEqual(0);
    });

    test("no token of the rate is lost between four workers that restart", async () => {
      // Never full, so what time brought is granted or still there, however seldom a slow machine asks.
      const spec = { ...fast(), burst: 100_000 };
      await bucket.takeUpTo(spec, 1);
      const fromMs = systemClock.nowMs();
      const issues = await hammer(store, spec, { workers: 4, forMs: 1_000, restartEvery: 40 });
      const brought = ((systemClock.nowMs() - fromMs) / 1000) * spec.ratePerSecond;
      expect(total(issues) + ((await bucket.level(spec)) ?? 0)).toBeGreaterThanOrEqual(brought - 1);
    });

    test("losing every bucket in mid-run stays within the bound too", async () => {
      const spec = fast();
      const running = hammer(store, spec, { workers: 4, forMs: 1_200 });
      for (let i = 0; i < 5; i++) {
        await systemClock.sleep(200);
        await store.wipe();
      }
      const issues = await running;
      expect(worstWindowExcess(issues, spec.ratePerSecond, spec.burst)).toBeLessThanOrEqual(0);
      await expect.poll(async () => (await bucket.takeUpTo(spec, 1)).granted, { timeout: 30_000 }).toBe(1);
    });

    test("while the rate changes, the highest in force is the bound", async () => {
      const spec = fast();
      let ratePerSecond = 150;
      const changing = {
        ...spec,
        get ratePerSecond() {
          return ratePerSecond;
        },
      };
      const running = hammer(store, changing, { workers: 3, forMs: 1_000 });
      for (const rate of [20, 150, 0, 80, 150]) {
        await systemClock.sleep(150);
        ratePerSecond = rate;
      }
      expect(worstWindowExcess(await running, 150, spec.burst)).toBeLessThanOrEqual(0);
    });
  });
}

const total = (issues: Issue[]) => issues.reduce((sum, issue) => sum + issue.tokens, 0);

/** Takes as fast as the answers come; records for each grant the moments before the question and after the answer. */
async function hammer(
  store: BucketStore,
  spec: BucketSpec,
  {
    workers,
    forMs,
    restartEvery = Number.POSITIVE_INFINITY,
  }: { workers: number; forMs: number; restartEvery?: number },
): Promise<Issue[]> {
  const issues: Issue[] = [];
  const untilMs = systemClock.nowMs() + forMs;
  async function worker(cost: number): Promise<void> {
    let client = await store.connect();
    for (let take = 1; systemClock.nowMs() < untilMs; take++) {
      if (take % restartEvery === 0) {
        await client.close();
        client = await store.connect();
      }
      const fromMs = systemClock.nowMs();
      const { granted } = await client.bucket.takeUpTo(spec, cost);
      if (granted > 0) issues.push({ fromMs, toMs: systemClock.nowMs(), tokens: granted });
      // Leaves processor time to the other workers and the store; it waits for no event.
      await systemClock.sleep(1);
    }
    await client.close();
  }
  await Promise.all(Array.from({ length: workers }, (_, i) => worker(i + 1)));
  return issues;
}
