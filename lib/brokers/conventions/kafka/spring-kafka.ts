import type { Convention, Reading } from "@/lib/brokers/conventions/convention";
import { javaChain, significant } from "@/lib/brokers/conventions/exception-text";
import { bigIntegerOf, epochMsOf, int32Of, int64Of } from "@/lib/brokers/conventions/kafka/java-bytes";
import type { HeaderView, Message } from "@/lib/brokers/message";
import type { Origin } from "@/lib/platform/plain/dead-letter.pure";

/** The group has one name in both sets of headers. */
const GROUP = "kafka_dlt-original-consumer-group";
/** Number of the next attempt of a retryable topic. Spring reads it at each failure: left on, the first one goes to the DLT. */
const ATTEMPTS = "retry_topic-attempts";
const DELIVERY_ATTEMPT = "kafka_deliveryattempt";

const OWNED =
  /^(kafka_dlt-|kafka_original-|kafka_exception-|kafka_key-exception-|retry_topic-|kafka_deliveryattempt$|springdeserializerexception)/;

function owns(headerName: string): boolean {
  return OWNED.test(headerName);
}

/** Where the record was before its first failure. Spring appends a value at each hop, so the first one is the origin. */
function originOf(headers: HeaderView, prefix: string): Origin {
  const topic = headers.text(`${prefix}topic`);
  const partition = int32Of(headers.value(`${prefix}partition`));
  const offset = int64Of(headers.value(`${prefix}offset`));
  const originalAtMs = epochMsOf(int64Of(headers.value(`${prefix}timestamp`)));
  const consumer = headers.text(GROUP);
  return {
    ...(topic === null ? {} : { topic }),
    ...(partition === null ? {} : { partition }),
    ...(offset === null ? {} : { offset: String(offset) }),
    ...(originalAtMs === null ? {} : { originalAtMs }),
    ...(consumer === null ? {} : { consumer }),
  };
}

function attemptsOf(headers: HeaderView): number {
  const next = int32Of(headers.all(ATTEMPTS).at(-1));
  if (next !== null) return Math.max(next - 1, 0);
  return Math.max(int32Of(headers.all(DELIVERY_ATTEMPT).at(-1)) ?? 0, 0);
}

function readWith(message: Message, convention: string, originPrefix: string, errorPrefix: string): Reading {
  const { headers } = message;
  // The error of a key that could not be read stands under a name of its own.
  const error = (name: string) =>
    headers.lastText(`kafka_${errorPrefix}exception-${name}`) ??
    headers.lastText(`kafka_${errorPrefix}key-exception-${name}`);
  const stack = error("stacktrace");
  const outer = error("fqcn");
  const cause = error("cause-fqcn");
  const chain = stack === null ? [] : javaChain(stack);
  const types = [cause, ...chain.map((link) => link.type), outer].filter((type) => type !== null);
  // Not the fixed 8 bytes of the other timestamps.
  const firstSentMs = epochMsOf(bigIntegerOf(headers.value("retry_topic-original-timestamp")));
  return {
    convention,
    origin: { ...(firstSentMs === null ? {} : { originalAtMs: firstSentMs }), ...originOf(headers, originPrefix) },
    // `fqcn` is Spring's own wrapper; `cause-fqcn` is the first exception below it.
    error: { type: cause ?? significant(chain)?.type ?? outer, message: error("message"), stack },
    exceptionTypes: [...new Set(types)],
    reason: null,
    attempts: attemptsOf(headers),
    // The record of a DLT gets the time of its dead-lettering as its timestamp.
    failedAtMs: message.sentAtMs,
    messageId: null,
    eventType: headers.text("__TypeId__"),
    inner: null,
  };
}

/** Non-blocking retries (`@RetryableTopic`): another set of names, and only the first value of each is kept. */
export const springRetryTopic: Convention = {
  name: "spring-kafka-retry-topic",
  owns,
  read(message) {
    const { headers } = message;
    if (!headers.has("kafka_original-topic") && !headers.has(ATTEMPTS)) return null;
    return readWith(message, "spring-kafka-retry-topic", "kafka_original-", "");
  },
};

/** `DeadLetterPublishingRecoverer` of Spring Kafka. Each of its headers can be switched off. */
export const springKafkaDlt: Convention = {
  name: "spring-kafka-dlt",
  owns,
  read(message) {
    const { headers } = message;
    const written = ["original-topic", "exception-fqcn", "key-exception-fqcn", "original-offset"];
    if (!written.some((name) => headers.has(`kafka_dlt-${name}`))) return null;
    return readWith(message, "spring-kafka-dlt", "kafka_dlt-original-", "dlt-");
  },
};

const BINDER_OWNED = new Set([
  ..."topic partition offset timestamp timestamp-type".split(" ").map((name) => `x-original-${name}`),
  ..."fqcn message stacktrace".split(" ").map((name) => `x-exception-${name}`),
]);

/** The Kafka binder of Spring Cloud Stream: numbers in bytes, as Spring Kafka writes them, under names of its own. */
export const springCloudStreamKafka: Convention = {
  name: "spring-cloud-stream-kafka",
  owns: (headerName) => BINDER_OWNED.has(headerName),
  read(message) {
    const { headers } = message;
    if (!headers.has("x-original-topic") || !headers.has("x-exception-message")) return null;
    const stack = headers.lastText("x-exception-stacktrace");
    const chain = stack === null ? [] : javaChain(stack);
    const outer = headers.lastText("x-exception-fqcn");
    const types = [outer, ...chain.map((link) => link.type)].filter((type) => type !== null);
    return {
      convention: "spring-cloud-stream-kafka",
      origin: originOf(headers, "x-original-"),
      error: { type: significant(chain)?.type ?? outer, message: headers.lastText("x-exception-message"), stack },
      exceptionTypes: [...new Set(types)],
      reason: null,
      attempts: 0,
      failedAtMs: message.sentAtMs,
      messageId: null,
      eventType: null,
      inner: null,
    };
  },
};
