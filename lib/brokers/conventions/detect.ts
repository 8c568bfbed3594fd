import { bullmqFailed } from "@/lib/brokers/bullmq/job-message";
import { artemis, serviceBus } from "@/lib/brokers/conventions/amqp10";
import { eventBridgeBus, eventBridgeRule, eventBridgeScheduler } from "@/lib/brokers/conventions/aws/eventbridge";
import { lambdaDestination, lambdaDlq, lambdaEventSource } from "@/lib/brokers/conventions/aws/lambda";
import { sns } from "@/lib/brokers/conventions/aws/sns";
import { sqsRedrivePolicy } from "@/lib/brokers/conventions/aws/sqs";
import { attributeOf, KNATIVE_ERROR } from "@/lib/brokers/conventions/cloudevents.pure";
import type { Convention, Reading } from "@/lib/brokers/conventions/convention";
import { generic, isConsumerErrorHeader } from "@/lib/brokers/conventions/generic";
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
import { isRedriveHeader } from "@/lib/brokers/conventions/redrive-mark";
import { springAmqp, springCloudStream } from "@/lib/brokers/conventions/spring-amqp";
import { isBrokerDeathHeader, xDeath } from "@/lib/brokers/conventions/x-death";
import type { Message } from "@/lib/brokers/message";
import { outboxRow } from "@/lib/brokers/outbox/row";
import { redisStreamEntry } from "@/lib/brokers/redis-streams/entry";
import { sidekiqJob } from "@/lib/brokers/sidekiq/job";
import type { Header } from "@/lib/platform/plain/dead-letter.pure";

/** In order of detection. Frameworks come first: a message from a retry queue carries the `x-death` of earlier hops too. */
const CONVENTIONS: readonly Convention[] = [
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

const OWNERS = new Map(CONVENTIONS.map((convention) => [convention.name, convention]));

/** CloudEvent attributes that say why a broker's event failed: see `readMessage`. */
const FAILURE_ATTRIBUTES = new Set(["errorcode", ...Object.values(KNATIVE_ERROR)]);

/**
 * Headers that go back with a redrive: the application's own. Left out are the broker's death records, earlier redrive
 * marks, the error headers and attributes Parkade documents, and headers of the convention that was detected when the message was parked.
 * Another framework's names stay: `exception-type` or `original-topic` are words an application may use.
 */
export function stripFailureHeaders(headers: readonly Header[], convention: string | undefined): Header[] {
  const owner = convention === undefined ? undefined : OWNERS.get(convention);
  return headers.filter(([name]) => {
    const key = name.toLowerCase();
    return !(
      isBrokerDeathHeader(key) ||
      isRedriveHeader(key) ||
      isConsumerErrorHeader(key) ||
      FAILURE_ATTRIBUTES.has(attributeOf(key)?.name ?? "") ||
      (owner?.owns(key) ?? false)
    );
  });
}
