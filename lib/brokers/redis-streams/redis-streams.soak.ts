import { describe, expect, it } from "vitest";
import { consumerOf, describeBrokerOutages, eventually, outbound } from "@/lib/brokers/broker.conformance";
import type { RedisStreamsConfig } from "@/lib/brokers/redis-streams/kind.shapes";
import {
  adapter,
  harness,
  never,
  onRedis,
  redis,
  server,
} from "@/lib/brokers/redis-streams/testing/redis-streams-broker";
import { describeWith } from "@/lib/testing/describe-with";
import { redisInstalled } from "@/lib/testing/redis";

describeWith(redisInstalled ? null : "redis-server is missing", "redis streams", () => {
  onRedis();

  describeBrokerOutages<RedisStreamsConfig>("redis-stream", () => harness("pending"));
  describe("a dead-letter stream", () => {
    describeBrokerOutages<RedisStreamsConfig>("redis-stream", () => harness("stream"));
  });

  describe("what only streams have", () => {
    it("goes on after a server that lost everything, and says so meanwhile", async () => {
      const made = await harness("stream");
      const parked: string[] = [];
      const consumer = consumerOf(adapter, made.config, async (batch) => {
        parked.push(...batch.map(({ payload }) => Buffer.from(payload).toString()));
      });
      await made.produce!(["before"]);
      await eventually(() => parked).toEqual(["before"]);
      await redis.flushall();
      await server.restart();
      await eventually(() => consumer.state().lastError).toMatch(/does not exist|cannot connect|lost/);
      await expect(adapter.publisher(made.config).publish(outbound({}), never)).rejects.toMatchObject({ sent: "no" });
      await redis.call("XADD", made.config.stream, "*", "payload", "after");
      await eventually(() => parked).toEqual(["before", "after"]); // its own group is made again, from the start
      await consumer.stop();
      await made.stop();
    });
  });
});
