import { describe, expect, it } from "vitest";
import { consumerOf, describeBrokerOutages, eventually } from "@/lib/brokers/broker.conformance";
import type { CeleryConfig } from "@/lib/brokers/celery/kind.shapes";
import {
  adapter,
  configOf,
  envelope,
  harness,
  onRedis,
  plain,
  redis,
  texts,
  unique,
  waiting,
} from "@/lib/brokers/celery/testing/celery-broker";
import { describeWith } from "@/lib/testing/describe-with";
import { redisInstalled } from "@/lib/testing/redis";

describeWith(redisInstalled ? null : "redis-server is missing", "celery", () => {
  onRedis();

  describeBrokerOutages<CeleryConfig>("celery", harness);

  describe("what only Kombu's queues have", () => {
    it("two readers park each message once, however long a commit takes, and leave no key behind", async () => {
      const config = configOf({ queue: unique("dlq") });
      const bodies = Array.from({ length: 400 }, (_, n) => `n-${n}`);
      for (const body of bodies) await redis.lpush(config.queue, envelope(plain(body), config.queue));
      const hold = Promise.withResolvers<void>();
      const parked: string[] = [];
      const readers = [1, 2].map(() =>
        consumerOf(adapter, config, async (batch) => {
          parked.push(...texts(batch));
          await hold.promise;
        }),
      );
      await eventually(() => parked.length).toBe(400); // 250 and 150
      expect(new Set(parked).size).toBe(400);
      // The leases are kept while the commits wait: they would be gone otherwise.
      const leases = await redis.keys(`${config.queue}.parkade.*.alive`);
      expect(leases).toHaveLength(2);
      for (const lease of leases) await redis.pexpire(lease, 6_000);
      await eventually(async () =>
        Math.max(...(await Promise.all(leases.map((lease) => redis.pttl(lease))))),
      ).toBeGreaterThan(6_000);
      hold.resolve();
      await eventually(() => waiting(config.queue)).toBe(0);
      await Promise.all(readers.map((reader) => reader.stop()));
      expect(await redis.keys(`${config.queue}*`)).toEqual([]);
      expect(parked).toHaveLength(400);
    });
  });
});
