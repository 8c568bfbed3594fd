import type { Convention, Reading } from "@/lib/brokers/conventions/convention";
import { javaChain, significant } from "@/lib/brokers/conventions/exception-text";
import type { HeaderView, Message } from "@/lib/brokers/message";
import { type Origin, readFailedAt } from "@/lib/platform/plain/dead-letter.pure";

/** How a framework that writes its dead-letter headers as UTF-8 text names them. */
type Names = {
  name: string;
  /** Lower case. A text that ends in `.` is a prefix. */
  owned: readonly string[];
  /** All of these make a message one of this convention. */
  needs: readonly string[];
  /** Which value of a repeated name is the latest failure. */
  latest: "first" | "last";
  topic?: string;
  partition?: string;
  offset?: string;
  consumer?: string;
  type?: string;
  cause?: string;
  /** The message of the cause: type and message of one exception belong together. */
  causeMessage?: string;
  message?: string;
  stack?: string;
  reason?: string;
  attempts?: string;
  /** Absent = the failure time is unknown. */
  failed?: (headers: HeaderView, message: Message) => Pick<Reading, "failedAtMs" | "unread">;
  /** Facts that the names above do not state. */
  more?: (headers: HeaderView, message: Message) => Origin;
  /** `com.acme.BadEvent: amount < 0`, an exception as text, in the place of `type`. */
  typeAndMessage?: string;
};

/** Two exceptions as Java prints them without their frames. */
function chainText(...links: [type: string | null, message: string | null][]): string {
  return links.map((link) => link.filter((part) => part !== null).join(": ")).join("\nCaused by: ");
}

function convention(names: Names): Convention {
  const owns = (headerName: string) =>
    names.owned.some((own) => (own.endsWith(".") ? headerName.startsWith(own) : headerName === own));
  const read: Convention["read"] = (message) => {
    const { headers } = message;
    if (!names.needs.every((name) => headers.has(name))) return null;
    const text = (name: string | undefined) => {
      if (name === undefined) return null;
      return names.latest === "first" ? headers.text(name) : headers.lastText(name);
    };
    const count = (name: string | undefined) => {
      const value = text(name)?.trim() ?? "";
      return /^\d{1,19}$/.test(value) ? value : null;
    };
    const [topic, partition, offset, consumer] = [
      text(names.topic),
      count(names.partition),
      count(names.offset),
      text(names.consumer),
    ];
    const stack = text(names.stack);
    const chain = stack === null ? [] : javaChain(stack);
    const thrown = /^([^\s:]+)(?:: ([\s\S]*))?$/.exec(text(names.typeAndMessage) ?? "");
    const outer = text(names.type) ?? thrown?.[1] ?? null;
    const cause = text(names.cause);
    const outerMessage = text(names.message) ?? thrown?.[2] ?? null;
    const causeMessage = text(names.causeMessage);
    const types = [cause, outer, ...chain.map((link) => link.type)].filter((type) => type !== null);
    return {
      convention: names.name,
      origin: {
        ...(topic === null ? {} : { topic }),
        ...(partition === null ? {} : { partition: Number(partition) }),
        ...(offset === null ? {} : { offset }),
        ...(consumer === null ? {} : { consumer }),
        ...names.more?.(headers, message),
      },
      error: {
        type: cause ?? significant(chain)?.type ?? outer,
        message: cause === null ? outerMessage : causeMessage,
        stack: cause === null ? stack : (stack ?? chainText([outer, outerMessage], [cause, causeMessage])),
      },
      exceptionTypes: [...new Set(types)],
      reason: text(names.reason),
      attempts: Number(count(names.attempts) ?? 0),
      ...(names.failed?.(headers, message) ?? { failedAtMs: null }),
      messageId: null,
      eventType: null,
      inner: null,
    };
  };
  return { name: names.name, owns, read };
}

/** The dead letter is sent at the time of the failure. */
const whenSent: Names["failed"] = (_, { sentAtMs }) => ({ failedAtMs: sentAtMs });

const CONNECT = "__connect.errors.";

/** Sink connectors of Kafka Connect with `errors.deadletterqueue.context.headers.enable`. After two deaths every name occurs twice. */
export const kafkaConnect = convention({
  name: "kafka-connect",
  owned: [CONNECT],
  needs: [`${CONNECT}topic`],
  latest: "last",
  topic: `${CONNECT}topic`,
  partition: `${CONNECT}partition`,
  offset: `${CONNECT}offset`,
  consumer: `${CONNECT}connector.name`,
  type: `${CONNECT}exception.class.name`,
  message: `${CONNECT}exception.message`,
  stack: `${CONNECT}exception.stacktrace`,
  reason: `${CONNECT}stage`,
  more: (headers) => {
    const [stage, task] = [headers.lastText(`${CONNECT}stage`), headers.lastText(`${CONNECT}task.id`)];
    return { ...(stage === null ? {} : { stage }), ...(task === null ? {} : { task }) };
  },
});

const STREAMS = "__streams.errors.";

/** Kafka Streams (KIP-1034). The headers of the record itself are not copied: a redrive reads them from the source. */
export const kafkaStreams = convention({
  name: "kafka-streams",
  owned: [STREAMS],
  needs: [`${STREAMS}exception`, `${STREAMS}topic`],
  latest: "last",
  topic: `${STREAMS}topic`,
  partition: `${STREAMS}partition`,
  offset: `${STREAMS}offset`,
  typeAndMessage: `${STREAMS}exception`,
  message: `${STREAMS}message`,
  stack: `${STREAMS}stacktrace`,
  more: () => ({ headersAtSource: true }),
});

const SHARE = "__dlq.errors.";

/**
 * A share group of Kafka 4.4 (KIP-1191). Never with the headers of the record, and with its key and value only when
 * `errors.deadletterqueue.copy.record.enable` is on.
 */
export const kafkaShareGroup = convention({
  name: "kafka-share-group",
  owned: [SHARE],
  needs: [`${SHARE}topic`, `${SHARE}offset`],
  latest: "last",
  topic: `${SHARE}topic`,
  partition: `${SHARE}partition`,
  offset: `${SHARE}offset`,
  consumer: `${SHARE}group`,
  message: `${SHARE}message`,
  attempts: `${SHARE}delivery.count`,
  failed: whenSent,
  // A tombstone with a key was copied; without both there is nothing but the reference.
  more: (_, message) => ({
    headersAtSource: true,
    ...(message.body === null && message.origin.key === null ? { payload: "reference-only" } : {}),
  }),
});

const SMALLRYE = "dead-letter-";

/** SmallRye Reactive Messaging (Quarkus): its headers come before the copied ones, so the first value is the latest. */
export const smallRye = convention({
  name: "smallrye",
  owned: ["exception-class-name", "reason", "cause-class-name", "cause", "topic", "partition", "offset"].map(
    (name) => SMALLRYE + name,
  ),
  needs: [`${SMALLRYE}reason`, `${SMALLRYE}topic`],
  latest: "first",
  topic: `${SMALLRYE}topic`,
  partition: `${SMALLRYE}partition`,
  offset: `${SMALLRYE}offset`,
  type: `${SMALLRYE}exception-class-name`,
  cause: `${SMALLRYE}cause-class-name`,
  causeMessage: `${SMALLRYE}cause`,
  message: `${SMALLRYE}reason`,
  // It writes the dead letter when the processing failed.
  failed: whenSent,
});

/** The action `DLQ` of a data-contract rule in Confluent's serialisers. The record may be one that was never sent. */
export const schemaRule = convention({
  name: "schema-registry-rule",
  owned: ["__rule."],
  needs: ["__rule.name", "__rule.exception"],
  latest: "last",
  topic: "__rule.topic",
  consumer: "__rule.name",
  message: "__rule.exception",
  more: (headers) => {
    const [mode, subject] = [headers.lastText("__rule.mode"), headers.lastText("__rule.subject")];
    return { ...(mode === null ? {} : { ruleMode: mode }), ...(subject === null ? {} : { subject }) };
  },
});

/** Karafka Pro (Ruby). */
export const karafka = convention({
  name: "karafka",
  owned: ["topic", "partition", "offset", "consumer_group", "attempts", "trace_id"].map((name) => `source_${name}`),
  needs: ["source_topic", "source_partition", "source_offset"],
  latest: "last",
  topic: "source_topic",
  partition: "source_partition",
  offset: "source_offset",
  consumer: "source_consumer_group",
  attempts: "source_attempts",
  failed: whenSent,
});

/** Wolverine (.NET), on every broker. */
export const wolverine = convention({
  name: "wolverine",
  owned: [
    ...["type", "message", "stack"].map((name) => `exception-${name}`),
    "failed-at",
    ...["destination", "partition", "offset"].map((name) => `original-${name}`),
  ],
  needs: ["exception-type", "failed-at", "original-destination"],
  latest: "last",
  partition: "original-partition",
  offset: "original-offset",
  type: "exception-type",
  message: "exception-message",
  stack: "exception-stack",
  failed: (headers) => readFailedAt(headers.lastText("failed-at")),
  more: (headers) => {
    // kafka://topic/orders, rabbitmq://queue/orders
    const [, transport, kind, name] =
      /^(\w+):\/\/(\w+)\/(.+)$/.exec(headers.lastText("original-destination") ?? "") ?? [];
    if (name === undefined) return {};
    if (transport === "kafka") return { topic: name };
    return kind === "queue" ? { queue: name } : {};
  },
});

/** Watermill (Go), on every broker. */
export const watermill = convention({
  name: "watermill",
  owned: ["reason", "topic", "handler", "subscriber"].map((name) => `${name}_poisoned`),
  needs: ["reason_poisoned", "topic_poisoned"],
  latest: "last",
  topic: "topic_poisoned",
  consumer: "handler_poisoned",
  message: "reason_poisoned",
});
