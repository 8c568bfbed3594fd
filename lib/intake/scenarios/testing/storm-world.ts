import { Redis } from "ioredis";
import { testRedis } from "@/lib/testing/redis";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

/** Events of one group that a source takes in a minute. */
export const LIMIT = 5;

/** A world of its own for each test, and real brokers. */
export function stormWorldOfEachTest() {
  const closing: (() => Promise<unknown>)[] = [];
  const world = worldOfEachTest({
    afterwards: async () => {
      for (const close of closing.splice(0).reverse()) await close();
    },
  });

  async function openRedis(): Promise<{ redis: Redis; url: string }> {
    const server = await testRedis();
    closing.push(() => server.stop());
    const redis = new Redis(server.url);
    closing.push(() => redis.quit());
    return { redis, url: server.url };
  }

  async function limited(kind: string, config: object): Promise<string> {
    const id = await world.source("dead");
    const change = "update sources set kind = $2, config = $3::jsonb, storm_per_minute = $4 where id = $1";
    await world.db.run(change, [id, kind, JSON.stringify(config), LIMIT]);
    return id;
  }

  async function counted(): Promise<{ stored: number; unstored: number }> {
    const [row] = await world.db.query<{ stored: number; unstored: number }>(
      `select (select count(*) from dlq_events) as stored,
              ((select coalesce(sum(n), 0) from dlq_flow where kind = 'unstored')
                + (select coalesce(sum(unstored), 0) from dlq_group_flow_minutes))::bigint as unstored`,
    );
    return row!;
  }

  return { world, openRedis, limited, counted };
}
