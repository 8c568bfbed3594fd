import { describe } from "vitest";
import { describeBrokerOutages } from "@/lib/brokers/broker.conformance";
import type { BullmqConfig } from "@/lib/brokers/bullmq/kind.shapes";
import { harness, onApp, postgresApp, redisApp } from "@/lib/brokers/bullmq/testing/bullmq-app";
import { describeWith } from "@/lib/testing/describe-with";
import { redisInstalled } from "@/lib/testing/redis";

describeWith(redisInstalled ? null : "redis-server is missing", "bullmq on Redis", () => {
  const app = onApp(redisApp);
  describeBrokerOutages<BullmqConfig>("bullmq", () => harness(app()));
});

describe("bullmq on PostgreSQL", () => {
  const app = onApp(postgresApp);
  describeBrokerOutages<BullmqConfig>("bullmq", () => harness(app()));
});
