/** `parkade/outbox`: all that users may import. A name that leaves this file is a breaking change of the package. */

export type { OutboxBacklog, WhenFailed } from "@/lib/kit/outbox/claims";
export { type InsertOptions, insertOutbox, type OutboxEvent } from "@/lib/kit/outbox/insert";
export {
  type HeaderInput,
  headerText,
  type Message,
  type MessageResult,
  type Transport,
} from "@/lib/kit/outbox/message";
export {
  createOutboxPublisher,
  type OutboxPublisher,
  outboxBacklog,
  type PublisherObserver,
  type PublisherOptions,
  publishDue,
} from "@/lib/kit/outbox/publisher";
export { type OutboxTableOptions, outboxTableSql } from "@/lib/kit/outbox/table";
export { type HttpOptions, httpTransport } from "@/lib/kit/outbox/transports/http";
export { kafkaTransport } from "@/lib/kit/outbox/transports/kafka";
export { type NatsOptions, natsTransport } from "@/lib/kit/outbox/transports/nats";
export { type ParkadeOptions, parkadeTransport } from "@/lib/kit/outbox/transports/parkade";
export { type RabbitmqChannel, rabbitmqTransport } from "@/lib/kit/outbox/transports/rabbitmq";
export { type RedisStreamsOptions, redisStreamsTransport } from "@/lib/kit/outbox/transports/redis-streams";
export { routeTransport } from "@/lib/kit/outbox/transports/route";
export { fromPublisher } from "@/lib/kit/outbox/transports/send-each";
export { sqsTransport } from "@/lib/kit/outbox/transports/sqs";
export { drizzleSession, type SqlSession } from "@/lib/kit/sql";
