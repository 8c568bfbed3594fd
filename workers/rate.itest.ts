import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { redisInstalled, type TestRedis, testRedis } from "@/lib/testing/redis";
import { openWorld, type World } from "@/lib/testing/redrive-world";

/**
 * How soon n sends may be over: the bucket starts empty, refills at `ratePerSecond` and holds two. A busy machine only
 * makes it later, so nothing here depends on how fast this one is.
 */
function earliestMs(sends: number, ratePerSecond: number): number {
  return ((sends - 2) / ratePerSecond) * 1000;
}

describe.each([
  { backend: "postgres" as const, skip: false },
  { backend: "redis" as const, skip: !redisInstalled },
])("the rate of a redrive on $backend (I9)", ({ backend, skip }) => {
  describe.skipIf(skip)("over two workers", () => {
    let redis: TestRedis | null = null;
    let world: World;

    beforeAll(async () => {
      redis = backend === "redis" ? await testRedis() : null;
    });
    afterAll(async () => {
      await redis?.stop();
    });
    beforeEach(async () => {
      world = await openWorld({ redisUrl: redis?.url ?? null });
      await world.worker();
      await world.worker();
    });
    afterEach(() => world.close());

    async function took(work: () => Promise<unknown>): Promise<number> {
      const startedMs = world.deps.clock.nowMs();
      await work();
      return world.deps.clock.nowMs() - startedMs;
    }

    test("is bounded by its target's, also when two redrives share it", async () => {
      await world.db.run("update targets set rate_per_second = 25, updated_at = now()");
      await world.park(60);
      const ids = await world.idsOf();
      const half = async (from: number) => {
        const { id } = await world.request({ select: { ids: ids.slice(from, from + 30) } });
        await world.ended(id);
      };
      const elapsedMs = await took(() => Promise.all([half(0), half(30)]));
      expect(world.sink.arrived).toHaveLength(60);
      expect(elapsedMs).toBeGreaterThanOrEqual(earliestMs(60, 25));
    });

    test("is bounded by its own, when its target takes more", async () => {
      await world.park(120, (index) => ({ aggregateId: `order-${index}`, version: 1n }));
      const elapsedMs = await took(async () => world.ended((await world.request({ ratePerSecond: 50 })).id));
      expect(world.sink.arrived).toHaveLength(120);
      expect(elapsedMs).toBeGreaterThanOrEqual(earliestMs(120, 50));
    });
  });
});
