import { Queue } from "bullmq";
import { Cluster } from "ioredis";
import { parseRedisUrl } from "@/lib/platform/plain/redis-address.pure";
import { testRedisCluster } from "@/lib/testing/redis-cluster";
import { QUEUE_NAMES, redisPrefix } from "../connection";
import type { LaneServer } from "../lane.conformance";

export const connectionTo = (url: string) => ({ kind: "redis" as const, url, prefix: "{cluster-test}" });

/** A Redis Cluster for the conformance suite of the lane. */
export async function clusterLane(): Promise<LaneServer> {
  const cluster = await testRedisCluster();
  const connection = connectionTo(cluster.url);
  return {
    connection,
    stealLocks: async () => {
      await cluster.onEachMaster(async (node) => {
        const locks = await node.keys(`${redisPrefix(connection, "main")}:*:lock`);
        await Promise.all(locks.map((lock) => node.set(lock, "somebody else", "PX", 300)));
      });
    },
    flush: async () => {
      await cluster.onEachMaster((node) => node.flushall());
    },
    addRaw: async (lane, data) => {
      const client = new Cluster(parseRedisUrl(cluster.url)!.nodes, {
        redisOptions: { maxRetriesPerRequest: null },
      });
      const queue = new Queue(QUEUE_NAMES[lane], { connection: client, prefix: redisPrefix(connection, lane) });
      await queue.add("raw", data);
      await queue.close();
      client.disconnect();
    },
    jobsKept: async (lane) => {
      const pattern = `${redisPrefix(connection, lane)}:${QUEUE_NAMES[lane]}:*-*-*-*`;
      return (await cluster.onEachMaster((node) => node.keys(pattern))).flat().length;
    },
    goAway: () => cluster.kill(),
    comeBack: () => cluster.restart(),
    close: () => cluster.stop(),
  };
}
