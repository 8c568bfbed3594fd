import { describeBrokerOutages } from "@/lib/brokers/broker.conformance";
import type { SidekiqConfig } from "@/lib/brokers/sidekiq/kind.shapes";
import { harness, onRedis } from "@/lib/brokers/sidekiq/testing/sidekiq-broker";
import { describeWith } from "@/lib/testing/describe-with";
import { redisInstalled } from "@/lib/testing/redis";

describeWith(redisInstalled ? null : "redis-server is missing", "sidekiq", () => {
  onRedis();

  describeBrokerOutages<SidekiqConfig>("sidekiq", harness);
});
