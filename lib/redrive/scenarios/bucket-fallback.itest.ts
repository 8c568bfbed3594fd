import { expect, test } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { readStatus } from "@/lib/observe/health/status.read";
import { redisInstalled, testRedis } from "@/lib/testing/redis";
import { openWorld } from "@/lib/testing/redrive-world";

/** Redis carries queue and bucket. What a worker has in hand when it goes away, it may go on sending or not. */
test.skipIf(!redisInstalled).each([
  ["closed", "unreachable", "stops", 0],
  ["local", "local", "goes on", 10],
])(
  "with PARKADE_BUCKET_FALLBACK=%s a worker is %s when the bucket does not answer, and %s",
  async (fallback, state, _, atLeast) => {
    const redis = await testRedis();
    const world = await openWorld({ redisUrl: redis.url, env: { PARKADE_BUCKET_FALLBACK: fallback } });
    const bucket = async () => (await readStatus(world.db, localViewer())).bucket;
    try {
      await world.db.run("update targets set rate_per_second = 20, updated_at = now()");
      await world.park(120);
      await world.worker();
      const { id } = await world.request();
      await expect.poll(() => world.sink.arrived.length).toBeGreaterThan(5);
      await redis.kill();
      await expect.poll(bucket).toBe(state);
      const before = world.sink.arrived.length;
      const sinceMs = world.deps.clock.nowMs();
      await expect.poll(() => world.deps.clock.nowMs() - sinceMs).toBeGreaterThan(1_500);
      const sent = world.sink.arrived.length - before;
      const tookMs = world.deps.clock.nowMs() - sinceMs;
      expect(sent).toBeGreaterThanOrEqual(atLeast);
      expect(sent).toBeLessThanOrEqual(atLeast === 0 ? 0 : (20 * tookMs) / 1000 + 3);

      await redis.restart();
      await world.db.run("update targets set rate_per_second = null, updated_at = now()");
      expect(await world.ended(id)).toMatchObject({ delivered: 120, failed: 0 });
      expect(world.sink.effects()).toHaveLength(120);
    } finally {
      await world.close();
      await redis.stop();
    }
  },
  120_000,
);
