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
export { drizzleSession, type SqlSession } from "@/lib/kit/sql";
