import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Seconds of the files that take the longest, measured on two cores. Only their order matters, and a file that is not listed
 * counts as short: a long one that begins last keeps one worker busy while the others have nothing to do.
 */
const SECONDS: Record<string, number> = {
  "lib/brokers/rabbitmq/rabbitmq.itest.ts": 280,
  "lib/brokers/kafka/kafka.itest.ts": 233,
  "lib/redrive/scenarios/lost-work.itest.ts": 202,
  "scripts/pack-server.itest.ts": 186,
  "lib/redrive/scenarios/waits.itest.ts": 164,
  "lib/brokers/sqs/sqs.itest.ts": 140,
  "lib/redrive/scenarios/redrive.itest.ts": 138,
  "lib/brokers/pubsub/pubsub.itest.ts": 115,
  "lib/redrive/scenarios/target-away.itest.ts": 103,
  "lib/brokers/amqp10/amqp10.itest.ts": 100,
  "lib/redrive/scenarios/killed-redrive.itest.ts": 81,
  "lib/intake/scenarios/rabbitmq-story.itest.ts": 80,
  "lib/redrive/scenarios/pairs.itest.ts": 80,
  "lib/guard/scenarios/stop-sends.itest.ts": 77,
  "lib/keep/scenarios/keep-under-kills.itest.ts": 75,
  "lib/redrive/scenarios/engine.itest.ts": 73,
  "lib/brokers/nats/nats.itest.ts": 70,
  "lib/brokers/bullmq/bullmq.itest.ts": 68,
  "lib/intake/scenarios/rabbitmq-stream.itest.ts": 68,
  "lib/keep/scenarios/keep-two-at-once.itest.ts": 65,
  "lib/kit/park/recipes.itest.ts": 62,
  "lib/redrive/scenarios/interleavings.itest.ts": 61,
  "lib/repair/scenarios/mend.itest.ts": 58,
  "lib/brokers/redis-streams/redis-streams.itest.ts": 54,
  "lib/events/scenarios/bulk-operations.itest.ts": 52,
  "scripts/embedded-postgres.itest.ts": 52,
  "lib/brokers/celery/celery.itest.ts": 50,
  "lib/lane/redis-lane.itest.ts": 49,
  "lib/redrive/scenarios/rate.itest.ts": 48,
  "lib/redrive/scenarios/brake-and-canary.itest.ts": 47,
  "workers/consumers.itest.ts": 47,
  "lib/lane/postgres-lane.itest.ts": 45,
  "lib/testing/rabbitmq.itest.ts": 45,
  "lib/redrive/scenarios/silent-store.itest.ts": 43,
  "lib/order/scenarios/order-gate.itest.ts": 41,
  "lib/redrive/scenarios/recovery.itest.ts": 40,
  "lib/testing/kafka.itest.ts": 39,
  "lib/redrive/scenarios/hold.itest.ts": 36,
  "workers/outbox-publisher.itest.ts": 36,
  "lib/sources/scenarios/named-targets.itest.ts": 33,
  "lib/redrive/scenarios/overlapping-redrives.itest.ts": 32,
  "lib/platform/database/db.itest.ts": 30,
  "lib/redrive/scenarios/later.itest.ts": 30,
  "lib/redrive/scenarios/reconciler.itest.ts": 29,
};

/** Long files first, whatever their project; the others in Vitest's own order. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const seconds = ({ moduleId }: TestSpecification) => SECONDS[relative(this.ctx.config.root, moduleId)] ?? 0;
    return (await super.sort(files)).sort((one, other) => seconds(other) - seconds(one));
  }
}
