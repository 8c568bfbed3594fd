import type { Convention, Reading } from "@/lib/brokers/conventions/convention";
import { javaChain, significant } from "@/lib/brokers/conventions/exception-text";
import { deathsOf } from "@/lib/brokers/conventions/x-death";
import type { Message } from "@/lib/brokers/message";
import type { Origin } from "@/lib/platform/plain/dead-letter.pure";

/** Headers of `RepublishMessageRecoverer`; Spring Cloud Stream's `republishToDlq` writes the same ones. */
const STACK = "x-exception-stacktrace";
const MESSAGE = "x-exception-message";
const EXCHANGE = "x-original-exchange";
const ROUTING_KEY = "x-original-routingKey";
/** Spring's client-side retry counter: left on, a redriven message would fail on its first new error. */
const RETRY_COUNT = "retry-count";

const OWNED = new Set([STACK, MESSAGE, EXCHANGE, ROUTING_KEY.toLowerCase(), RETRY_COUNT]);

/** Queue suffix of Spring Cloud Stream's dead-letter queues: `<destination>.<group>.dlq`. */
const CLOUD_STREAM_SUFFIX = ".dlq";

function isRepublished({ headers }: Message): boolean {
  return headers.has(ROUTING_KEY) || (headers.has(STACK) && headers.has(MESSAGE));
}

function readRepublished(view: Message, convention: string, queue: string | null): Reading {
  const { headers, messageId } = view;
  const stack = headers.text(STACK);
  const chain = stack === null ? [] : javaChain(stack);
  const cause = significant(chain);
  const exchange = typeof headers.value(EXCHANGE) === "string" ? (headers.text(EXCHANGE) ?? "") : null;
  const routingKey = headers.text(ROUTING_KEY);
  const origin: Origin = {
    ...(queue === null ? {} : { queue }),
    ...(exchange === null ? {} : { exchange }),
    ...(routingKey === null ? {} : { routingKeys: [routingKey] }),
  };
  return {
    convention,
    origin,
    error: { type: cause?.type ?? null, message: headers.text(MESSAGE) ?? cause?.message ?? null, stack },
    // Spring's own wrapper never names the cause, so the chain below it decides the code.
    exceptionTypes: chain.map((link) => link.type),
    reason: deathsOf(headers)[0]?.reason ?? null,
    attempts: (headers.count(RETRY_COUNT) ?? 0) + 1,
    failedAtMs: null,
    messageId,
    eventType: headers.text("__TypeId__"),
    inner: null,
  };
}

/**
 * Spring Cloud Stream's Rabbit binder with `republishToDlq`. The binder republishes with the consumer's queue as
 * routing key (unless configured otherwise), so partitioned queues `<base>-<n>` that share one DLQ are distinguished.
 */
export const springCloudStream: Convention = {
  name: "spring-cloud-stream",
  owns: (headerName) => OWNED.has(headerName),
  read(view) {
    if (!isRepublished(view) || !view.container.endsWith(CLOUD_STREAM_SUFFIX)) return null;
    const base = view.container.slice(0, -CLOUD_STREAM_SUFFIX.length);
    const routingKey = view.property("routingKey") ?? "";
    const partition = routingKey.startsWith(`${base}-`) && /^\d+$/.test(routingKey.slice(base.length + 1));
    return readRepublished(view, "spring-cloud-stream", partition ? routingKey : base);
  },
};

/**
 * Spring AMQP's RepublishMessageRecoverer. Its headers name the exchange, not the queue: only a message sent through
 * the default exchange states its queue, any other needs `redriveTo` in the source's configuration.
 */
export const springAmqp: Convention = {
  name: "spring-amqp",
  owns: (headerName) => OWNED.has(headerName),
  read(view) {
    if (!isRepublished(view)) return null;
    const toQueue = typeof view.headers.value(EXCHANGE) === "string" && view.headers.text(EXCHANGE) === null;
    return readRepublished(view, "spring-amqp", toQueue ? view.headers.text(ROUTING_KEY) : null);
  },
};
