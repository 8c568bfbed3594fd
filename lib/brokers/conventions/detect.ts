import { bullmqFailed } from "@/lib/brokers/bullmq/job-message";
import { artemis, serviceBus } from "@/lib/brokers/conventions/amqp10";
import { eventBridgeBus, eventBridgeRule, eventBridgeScheduler } from "@/lib/brokers/conventions/aws/eventbridge";
import { lambdaDestination, lambdaDlq, lambdaEventSource } from "@/lib/brokers/conventions/aws/lambda";
import { sns } from "@/lib/brokers/conventions/aws/sns";
import { sqsRedrivePolicy } from "@/lib/brokers/conventions/aws/sqs";
import type { Convention, Reading } from "@/lib/brokers/conventions/convention";
import { generic } from "@/lib/brokers/conventions/generic";
import { lambdaKafka } from "@/lib/brokers/conventions/kafka/lambda";
import { springCloudStreamKafka, springKafkaDlt, springRetryTopic } from "@/lib/brokers/conventions/kafka/spring-kafka";
import {
  kafkaConnect,
  kafkaShareGroup,
  kafkaStreams,
  karafka,
  schemaRule,
  smallRye,
  watermill,
  wolverine,
} from "@/lib/brokers/conventions/kafka/text-headers";
import { massTransit } from "@/lib/brokers/conventions/masstransit";
import { natsAdvisory } from "@/lib/brokers/conventions/nats-advisory";
import { nserviceBus } from "@/lib/brokers/conventions/nservicebus";
import { pubsubDeadLetterPolicy } from "@/lib/brokers/conventions/pubsub";
import { celery, dramatiq } from "@/lib/brokers/conventions/python-tasks";
import { springAmqp, springCloudStream } from "@/lib/brokers/conventions/spring-amqp";
import { xDeath } from "@/lib/brokers/conventions/x-death";
import type { Message } from "@/lib/brokers/message";
import { outboxRow } from "@/lib/brokers/outbox/row";
import { redisStreamEntry } from "@/lib/brokers/redis-streams/entry";
import { sidekiqJob } from "@/lib/brokers/sidekiq/job";

/**
 * In order of detection. Frameworks come before the broker's own records: a message that went through a retry queue
 * carries `x-death` of those earlier hops too.
 */
export const CONVENTIONS: readonly Convention[] = [
  nserviceBus,
  massTransit,
  celery,
  dramatiq,
  lambdaKafka,
  kafkaStreams,
  kafkaShareGroup,
  kafkaConnect,
  springRetryTopic,
  springKafkaDlt,
  springCloudStreamKafka,
  schemaRule,
  smallRye,
  karafka,
  wolverine,
  watermill,
  springCloudStream,
  springAmqp,
  xDeath,
  serviceBus,
  artemis,
  redisStreamEntry,
  natsAdvisory,
  eventBridgeRule,
  eventBridgeScheduler,
  eventBridgeBus,
  lambdaDlq,
  lambdaDestination,
  lambdaEventSource,
  sns,
  sqsRedrivePolicy,
  pubsubDeadLetterPolicy,
  outboxRow,
  sidekiqJob,
  bullmqFailed,
  generic,
];

export function readConvention(message: Message): Reading {
  for (const convention of CONVENTIONS) {
    const reading = convention.read(message);
    if (reading !== null) return reading;
  }
  throw new Error("the generic convention reads everything"); // unreachable: it is the last
}
