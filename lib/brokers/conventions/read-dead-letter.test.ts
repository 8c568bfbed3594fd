import { describe, expect, it } from "vitest";
import { readMessage } from "@/lib/brokers/conventions/read-dead-letter";
import { type AmqpDelivery, death, deaths, delivery, table } from "@/lib/brokers/conventions/testing/deliveries";
import type { Mapping } from "@/lib/brokers/kinds/fields.shapes";
import type { FieldValue } from "@/lib/brokers/rabbitmq/field-table";
import { amqpMessage } from "@/lib/brokers/rabbitmq/message";
import { letterOf } from "@/lib/brokers/rabbitmq/receive";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";

const JAVA_STACK = [
  "org.springframework.amqp.rabbit.support.ListenerExecutionFailedException: Listener method 'handle' threw exception",
  "\tat org.springframework.amqp.rabbit.listener.adapter.MessagingMessageListenerAdapter.invoke(M.java:228)",
  "Caused by: jakarta.validation.ConstraintViolationException: amount must be positive",
  "\tat com.acme.orders.OrderListener.handle(OrderListener.java:31)",
  "\t... 12 more",
].join("\n");

const DRAMATIQ_BODY = JSON.stringify({
  queue_name: "orders",
  actor_name: "charge",
  args: ["o-1"],
  kwargs: {},
  options: {
    retries: 1,
    traceback:
      'Traceback (most recent call last):\n  File "/app/shop.py", line 7, in charge\nValueError: card declined: o-1\n',
    requeue_timestamp: 1795338831626,
  },
  message_id: "1f7f6e91-a7d7-4637-b4bf-a7e49f7d4e56",
  message_timestamp: 1795338831495,
});

type Expected = Partial<DeadLetter> & { queue?: string | undefined; convention: string };

function read(
  { exchange, routingKey, ...from }: AmqpDelivery,
  queue = "orders.dlq",
  mapping: Mapping = {},
): DeadLetter {
  return readMessage(amqpMessage(from, { container: queue, deadLetter: { queue, exchange, routingKey } }), mapping);
}

function check(letter: DeadLetter, { queue, convention, ...facts }: Expected): void {
  expect(letter).toMatchObject(facts);
  expect(letter.origin.convention).toBe(convention);
  expect(letter.origin.queue).toBe(queue);
}

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";

describe("conventions", () => {
  const cases: [string, AmqpDelivery, string, Expected][] = [
    [
      "RabbitMQ rejection: the newest death names the queue, the broker counts the deliveries",
      delivery(
        {
          "x-death": deaths(
            death({ queue: "orders", reason: "rejected", count: 3n }),
            death({ queue: "orders.retry", reason: "expired", count: 2n }),
          ),
          "x-first-death-queue": "elsewhere",
        },
        { properties: { contentType: "application/json", messageId: "m-77" } },
      ),
      "orders.dlq",
      {
        convention: "rabbitmq-x-death",
        queue: "orders",
        eventId: "m-77",
        errorCode: "REJECTED",
        attempts: 3,
        failedAtMs: 1_795_163_502_000,
        error: { type: null, message: "rejected from queue orders", stack: null },
      },
    ],
    [
      "a retry topology: the queue in which a consumer failed, and the exchange by which it was first published",
      delivery({
        "x-death": deaths(
          death({ queue: "orders.wait", reason: "expired", count: 2n, exchange: "dlx", keys: ["retry"] }),
          death({ queue: "orders", reason: "rejected", count: 2n, exchange: "shop", keys: ["placed.7"] }),
        ),
        "x-first-death-queue": "orders",
        "x-first-death-reason": "rejected",
        "x-first-death-exchange": "shop",
      }),
      "orders.dlq",
      {
        convention: "rabbitmq-x-death",
        queue: "orders",
        errorCode: "REJECTED",
        attempts: 2,
        error: { type: null, message: "rejected from queue orders", stack: null },
        origin: expect.objectContaining({ exchange: "shop", routingKeys: ["placed.7"] }),
      },
    ],
    [
      "a first death that was counted again and stands before a later one",
      delivery({
        "x-death": deaths(
          death({ queue: "orders", reason: "rejected", count: 3n, exchange: "shop", keys: ["placed.7"] }),
          death({ queue: "orders.wait", reason: "expired", count: 2n, exchange: "dlx", keys: ["retry"] }),
        ),
        "x-first-death-queue": "orders",
        "x-first-death-reason": "rejected",
      }),
      "orders.dlq",
      {
        convention: "rabbitmq-x-death",
        queue: "orders",
        origin: expect.objectContaining({ exchange: "shop", routingKeys: ["placed.7"] }),
      },
    ],
    [
      "quorum delivery limit",
      delivery({ "x-death": deaths(death({ queue: "orders.qq", reason: "delivery_limit" })) }),
      "dlq",
      { convention: "rabbitmq-x-death", queue: "orders.qq", errorCode: "DELIVERY_LIMIT", attempts: 1 },
    ],
    [
      "expiry before any delivery",
      delivery({ "x-death": deaths(death({ queue: "mail", reason: "expired" })) }),
      "dlq",
      { convention: "rabbitmq-x-death", queue: "mail", errorCode: "EXPIRED", attempts: 0 },
    ],
    [
      "overflow",
      delivery({ "x-death": deaths(death({ queue: "mail", reason: "maxlen" })) }),
      "dlq",
      { convention: "rabbitmq-x-death", queue: "mail", errorCode: "MAXLEN", attempts: 0 },
    ],
    [
      "a death in the dead-letter queue itself is no address",
      delivery({
        "x-death": deaths(
          death({ queue: "orders.dlq", reason: "expired" }),
          death({ queue: "orders", reason: "rejected" }),
        ),
      }),
      "orders.dlq",
      { convention: "rabbitmq-x-death", queue: "orders" },
    ],
    [
      "x-last-death of newer brokers when x-death was removed",
      delivery({ "x-last-death-queue": "orders", "x-last-death-reason": "rejected", "x-first-death-queue": "first" }),
      "dlq",
      { convention: "rabbitmq-x-death", queue: "orders", errorCode: "REJECTED" },
    ],
    [
      "x-first-death when nothing else is left",
      delivery({ "x-first-death-queue": "first", "x-first-death-reason": "expired" }),
      "dlq",
      { convention: "rabbitmq-x-death", queue: "first", errorCode: "EXPIRED" },
    ],
    [
      "a consumer's own error code beats the broker's reason",
      delivery({ "x-death": deaths(death({ queue: "q", reason: "rejected" })), "x-error-code": "VERSION_CONFLICT" }),
      "dlq",
      { convention: "rabbitmq-x-death", queue: "q", errorCode: "VERSION_CONFLICT" },
    ],
    [
      "Spring AMQP: the cause, not Spring's wrapper; the queue is known only behind the default exchange",
      delivery({
        "x-exception-stacktrace": JAVA_STACK,
        "x-exception-message": "amount must be positive (cause)",
        "x-original-exchange": "",
        "x-original-routingKey": "orders.in",
        __TypeId__: "com.acme.OrderPlaced",
      }),
      "parked",
      {
        convention: "spring-amqp",
        queue: "orders.in",
        errorCode: "VALIDATION_ERROR",
        eventType: "com.acme.OrderPlaced",
        attempts: 1,
        error: {
          type: "jakarta.validation.ConstraintViolationException",
          message: "amount must be positive (cause)",
          stack: JAVA_STACK,
        },
      },
    ],
    [
      "Spring AMQP through an exchange: no queue is invented",
      delivery({ "x-original-exchange": "orders.x", "x-original-routingKey": "created", "retry-count": "4" }),
      "parked",
      { convention: "spring-amqp", queue: undefined, errorCode: "UNKNOWN", attempts: 5 },
    ],
    [
      "Spring Cloud Stream: the DLQ's name tells the queue",
      delivery(
        {
          "x-exception-message": "m",
          "x-exception-stacktrace": "java.io.IOException: m",
          "x-original-routingKey": "k",
        },
        { routingKey: "orders.billing" },
      ),
      "orders.billing.dlq",
      { convention: "spring-cloud-stream", queue: "orders.billing", errorCode: "UNHANDLED_EXCEPTION" },
    ],
    [
      "Spring Cloud Stream with partitions: the routing key tells which",
      delivery(
        { "x-exception-message": "m", "x-original-routingKey": "k", "x-exception-stacktrace": "m" },
        { routingKey: "orders.billing-2" },
      ),
      "orders.billing.dlq",
      { convention: "spring-cloud-stream", queue: "orders.billing-2" },
    ],
    [
      "MassTransit fault",
      delivery(
        {
          "MT-Reason": "fault",
          "MT-Fault-ExceptionType": "System.TimeoutException",
          "MT-Fault-Message": "ledger did not answer",
          "MT-Fault-StackTrace": "   at Acme.Ledger.Post()",
          "MT-Fault-Timestamp": "2026-08-22T10:11:12.1234567Z",
          "MT-Fault-InputAddress": "rabbitmq://rabbit/prod/order%20queue?prefetch=8",
          "MT-Fault-ConsumerType": "Acme.LedgerConsumer",
          "MT-Fault-RetryCount": { type: "int32", value: 3 },
        },
        {
          body: '{"messageType":["urn:message:Acme:PostLedger"],"message":{"aggregateId":"led-9","version":7}}',
          properties: { contentType: "application/vnd.masstransit+json", messageId: "mt-1" },
        },
      ),
      "order queue_error",
      {
        convention: "masstransit",
        queue: "order queue",
        eventId: "mt-1",
        aggregateId: "led-9",
        version: 7n,
        eventType: "urn:message:Acme:PostLedger",
        errorCode: "TIMEOUT",
        attempts: 4,
        failedAtMs: Date.UTC(2026, 7, 22, 10, 11, 12, 123),
        error: {
          type: "System.TimeoutException",
          message: "ledger did not answer",
          stack: "   at Acme.Ledger.Post()",
        },
      },
    ],
    [
      "MassTransit skipped: no consumer ever saw it",
      delivery({ "MT-Reason": "dead-letter" }),
      "billing_skipped",
      { convention: "masstransit", queue: "billing", errorCode: "NO_CONSUMER", attempts: 0 },
    ],
    [
      "NServiceBus, with its own time format",
      delivery({
        "NServiceBus.FailedQ": "Billing@HOST7",
        "NServiceBus.TimeOfFailure": "2026-08-22 10:11:12:987654 Z",
        "NServiceBus.ExceptionInfo.ExceptionType": "Acme.PaymentFailed",
        "NServiceBus.ExceptionInfo.InnerExceptionType": "System.Net.Http.HttpRequestException",
        "NServiceBus.ExceptionInfo.Message": "gateway away",
        "NServiceBus.ExceptionInfo.StackTrace": "Acme.PaymentFailed: gateway away\n   at Acme.Pay()",
        "NServiceBus.MessageId": "nsb-5",
        "NServiceBus.EnclosedMessageTypes": "Acme.Pay, Acme, Version=1.0.0.0;Acme.ICommand, Acme",
        "NServiceBus.ProcessingEndpoint": "Billing",
        traceparent: `00-${TRACE}-00f067aa0ba902b7-01`,
      }),
      "error",
      {
        convention: "nservicebus",
        queue: "Billing",
        eventId: "nsb-5",
        eventType: "Acme.Pay",
        traceId: TRACE,
        errorCode: "CONNECTION_ERROR",
        failedAtMs: Date.UTC(2026, 7, 22, 10, 11, 12, 987),
      },
    ],
    [
      // As Celery 5.7.0 wrote it to RabbitMQ 3.10.8, and the broker after basic.reject; times and host replaced.
      "Celery, protocol 2: the task's id and name, and how often Celery repeated it before",
      delivery(
        {
          argsrepr: "['o-1']",
          eta: { type: "void" },
          group: { type: "void" },
          id: "8a5f2f0e-3f57-4c7b-9a43-2f1f6d8f0a11",
          ignore_result: { type: "bool", value: false },
          kwargsrepr: "{'amount': 12}",
          lang: "py",
          origin: "gen18189@vm",
          replaced_task_nesting: { type: "int32", value: 0 },
          retries: { type: "int32", value: 2 },
          root_id: "8a5f2f0e-3f57-4c7b-9a43-2f1f6d8f0a11",
          stamps: { type: "table", value: [] },
          task: "shop.tasks.charge",
          timelimit: { type: "array", value: [{ type: "void" }, { type: "void" }] },
          "x-death": deaths(death({ queue: "celery", reason: "rejected", exchange: "", keys: ["celery"] })),
        },
        {
          body: '[["o-1"], {"amount": 12}, {"callbacks": null, "errbacks": null, "chain": null, "chord": null}]',
          properties: { contentEncoding: "utf-8", correlationId: "8a5f2f0e-3f57-4c7b-9a43-2f1f6d8f0a11" },
        },
      ),
      "celery.dlq",
      {
        convention: "celery",
        queue: "celery",
        eventId: "8a5f2f0e-3f57-4c7b-9a43-2f1f6d8f0a11",
        eventType: "shop.tasks.charge",
        errorCode: "REJECTED",
        attempts: 3,
      },
    ],
    [
      // As Dramatiq 2.2.1 wrote it to RabbitMQ 3.10.8 after its last retry; the traceback is shortened.
      "Dramatiq: the actor's traceback and retries are in the body",
      delivery(
        { "x-death": deaths(death({ queue: "orders", reason: "rejected", exchange: "", keys: ["orders"] })) },
        { body: DRAMATIQ_BODY, properties: { contentType: undefined, deliveryMode: 2 } },
      ),
      "orders.XQ",
      {
        convention: "dramatiq",
        queue: "orders",
        eventId: "1f7f6e91-a7d7-4637-b4bf-a7e49f7d4e56",
        eventType: "charge",
        errorCode: "VALIDATION_ERROR",
        attempts: 1,
        error: { type: "ValueError", message: "card declined: o-1", stack: expect.stringMatching(/^Traceback/) },
        payload: Buffer.from(DRAMATIQ_BODY),
      },
    ],
    [
      "a consumer that dead-letters by hand",
      delivery({
        "x-error-code": "UPSTREAM_5XX",
        "x-error-type": "FetchError",
        "x-error-message": "503 from ledger",
        "x-error-stack": "FetchError: 503\n    at post (ledger.js:8:2)",
        "x-attempts": { type: "int8", value: 6 },
        "x-failed-at": "2026-11-20T08:00:00Z",
      }),
      "dead",
      {
        convention: "generic",
        queue: undefined,
        errorCode: "UPSTREAM_5XX",
        attempts: 6,
        failedAtMs: Date.UTC(2026, 10, 20, 8),
        error: {
          type: "FetchError",
          message: "503 from ledger",
          stack: "FetchError: 503\n    at post (ledger.js:8:2)",
        },
      },
    ],
    [
      "a message that says nothing at all",
      delivery({}),
      "dead",
      {
        convention: "generic",
        queue: undefined,
        errorCode: "UNKNOWN",
        attempts: 0,
        failedAtMs: null,
        traceId: null,
        aggregateId: null,
        version: null,
        error: { type: null, message: null, stack: null },
        redrive: null,
      },
    ],
  ];

  it.each(cases)("reads %s", (_, from, queue, expected) => check(read(from, queue), expected));

  it.each<[string, Parameters<typeof delivery>[0]]>([
    ["a consumer's own", { "x-failed-at": "yesterday" }],
    ["MassTransit's", { "MT-Reason": "fault", "MT-Fault-Timestamp": "yesterday" }],
    ["NServiceBus's", { "NServiceBus.FailedQ": "Billing", "NServiceBus.TimeOfFailure": "yesterday" }],
    ["Wolverine's", { "exception-type": "T", "original-destination": "rabbitmq://queue/o", "failed-at": "yesterday" }],
  ])("keeps what stands in place of a time: %s", (_, headers) => {
    const { failedAtMs, origin } = read(delivery(headers));
    expect([failedAtMs, origin.unread]).toEqual([null, { failedAt: "yesterday" }]);
  });

  it("reads a malformed x-death as if it were absent", () => {
    const letter = read(delivery({ "x-death": "not an array" }));
    expect(letter.origin.convention).toBe("generic");
    expect(letter.headers).toEqual([["x-death", "not an array"]]);
  });
});

describe("event identity", () => {
  const CE = { "cloudEvents:id": "ce-1", "cloudEvents:source": "/shop", "cloudEvents:specversion": "1.0" };
  const idempotency = { "Idempotency-Key": '"key \\"7\\""' };
  const withId = { properties: { messageId: "amqp-1" } };

  it.each<[string, AmqpDelivery, Mapping, string]>([
    ["the source's mapping", delivery({ ...CE, ref: "mapped" }, withId), { eventId: "ref" }, "mapped"],
    ["CloudEvents", delivery({ ...CE, "cloudEvents:type": "t", ...idempotency }, withId), {}, "ce-1"],
    ["the idempotency key, unquoted", delivery({ ...CE, ...idempotency, id: "dbz" }, withId), {}, 'key "7"'],
    [
      "Debezium's id header",
      delivery({ id: "dbz", "NServiceBus.MessageId": "nsb", "NServiceBus.FailedQ": "q" }, withId),
      {},
      "dbz",
    ],
    ["the framework's id", delivery({ "NServiceBus.MessageId": "nsb", "NServiceBus.FailedQ": "q" }, withId), {}, "nsb"],
    ["the AMQP message id", delivery({}, withId), {}, "amqp-1"],
    [
      "a mapped AMQP property",
      delivery({}, { properties: { correlationId: "c" } }),
      { eventId: "property:correlationId" },
      "c",
    ],
    ["a default when the mapped place is empty", delivery({}, withId), { eventId: "/absent" }, "amqp-1"],
  ])("comes from %s", (_, from, mapping, expected) => {
    expect(read(from, "q", mapping).eventId).toBe(expected);
  });

  it.each<[string, AmqpDelivery, Mapping, string | undefined]>([
    ["a CloudEvent in binary mode", delivery({ ...CE, "cloudEvents:type": "t" }), {}, "/shop"],
    [
      "one in another spelling",
      delivery({ ce_id: "1", ce_source: "/eu", ce_specversion: "1.0", ce_type: "t" }),
      {},
      "/eu",
    ],
    [
      "a structured CloudEvent",
      delivery(
        {},
        {
          body: '{"id":"1","source":"urn:shop","specversion":"1.0","type":"t"}',
          properties: { contentType: "application/cloudevents+json" },
        },
      ),
      {},
      "urn:shop",
    ],
    [
      "one whose own id the mapping names",
      delivery({ ...CE, "cloudEvents:type": "t" }),
      { eventId: "cloudEvents:id" },
      "/shop",
    ],
    [
      "one of which the mapping names another id",
      delivery({ ...CE, "cloudEvents:type": "t", ref: "r" }),
      { eventId: "ref" },
      undefined,
    ],
    [
      "NServiceBus, the endpoint that failed",
      delivery({
        "NServiceBus.MessageId": "m",
        "NServiceBus.FailedQ": "q",
        "NServiceBus.ProcessingEndpoint": "Billing",
      }),
      {},
      "Billing",
    ],
    [
      "NServiceBus, the queue where no endpoint is named",
      delivery({ "NServiceBus.MessageId": "m", "NServiceBus.FailedQ": "billing@HOST" }),
      {},
      "billing",
    ],
    [
      "NServiceBus with an id of the application's own",
      delivery({ "event-id": "e", "NServiceBus.MessageId": "m", "NServiceBus.FailedQ": "q" }),
      {},
      undefined,
    ],
    ["no CloudEvent: its type is missing", delivery(CE, withId), {}, undefined],
    ["no CloudEvent", delivery({}, withId), {}, undefined],
  ])("has the producer of %s", (_, from, mapping, expected) => {
    expect(read(from, "q", mapping).producer).toBe(expected);
  });

  it("is a hash of the whole message when there is none: same message same id, any other difference another", () => {
    const base = { body: "ping", properties: {} };
    const dead = (seconds: bigint) => ({ "x-death": deaths(death({ queue: "q", reason: "rejected", seconds })) });
    const first = read(delivery(dead(1n), base)).eventId;
    expect(first).toMatch(/^sha256-[0-9a-f]{64}$/);
    expect(read(delivery(dead(1n), base)).eventId).toBe(first);
    expect(read(delivery(dead(2n), base)).eventId).not.toBe(first);
    expect(read(delivery(dead(1n), { ...base, body: "pong" })).eventId).not.toBe(first);
    expect(read(delivery(dead(1n), { ...base, routingKey: "other" })).eventId).not.toBe(first);
  });

  it("stays the same event after a redrive, whatever the message now looks like", () => {
    const letter = read(
      delivery({
        "x-redrive-id": "018F9C4E-0000-7000-8000-000000000001",
        "x-redrive-attempt": "2",
        "x-redrive-event-id": "sha256-old",
      }),
    );
    expect(letter.eventId).toBe("sha256-old");
    expect(letter.redrive).toEqual({ redriveId: "018f9c4e-0000-7000-8000-000000000001", attempt: 2 });
  });

  it("ignores redrive headers that Parkade cannot have written", () => {
    const letter = read(delivery({ "x-redrive-id": "mine", "x-redrive-event-id": "forged" }, withId));
    expect(letter.redrive).toBeNull();
    expect(letter.eventId).toBe("amqp-1");
  });

  it("never makes two long ids one by cutting them", () => {
    const id = (end: string) => read(delivery({ "event-id": "x".repeat(5000) + end })).eventId;
    expect(id("a")).not.toBe(id("b"));
    expect(id("a").length).toBeLessThan(400);
  });
});

describe("mapping", () => {
  it.each<[string, AmqpDelivery, Mapping, Partial<DeadLetter>]>([
    [
      "headers by name",
      delivery({ "aggregate-id": "o-1", "aggregate-type": "Order", "aggregate-version": { type: "int64", value: 9n } }),
      {},
      { aggregateId: "o-1", aggregateType: "Order", version: 9n },
    ],
    ["x-aggregate-id", delivery({ "X-Aggregate-Id": "o-2" }), {}, { aggregateId: "o-2" }],
    [
      "CloudEvents partition key before subject",
      delivery({
        ce_id: "1",
        ce_source: "s",
        ce_specversion: "1.0",
        ce_type: "order.placed",
        ce_subject: "sub",
        ce_partitionkey: "pk",
        ce_errorcode: "BAD",
      }),
      {},
      { aggregateId: "pk", eventType: "order.placed", errorCode: "BAD" },
    ],
    [
      "a structured CloudEvent, its data below /data",
      delivery(
        {},
        {
          body: `{"id":"1","source":"s","specversion":"1.0","type":"t","subject":"sub","traceparent":"00-${TRACE}-00f067aa0ba902b7-01","data":{"version":3}}`,
          properties: { contentType: "application/cloudevents+json; charset=utf-8" },
        },
      ),
      {},
      { eventId: "1", aggregateId: "sub", version: 3n, traceId: TRACE },
    ],
    [
      "the payload as the last resort, with all digits of its numbers",
      delivery({}, { body: '{"aggregateId":9007199254740993,"version":9223372036854775806,"eventType":"E"}' }),
      {},
      { aggregateId: "9007199254740993", version: 9223372036854775806n, eventType: "E" },
    ],
    [
      "pointers with escapes and array indexes",
      delivery({}, { body: '{"a/b":[{"~k":"v"}],"n":1.10,"yes":true,"none":null,"o":{}}' }),
      { tags: { k: "/a~1b/0/~0k", n: "/n", yes: "/yes", none: "/none", o: "/o", away: "/x/y" } },
      { tags: { k: "v", n: "1.10", yes: "true" } },
    ],
    [
      "mapping before defaults",
      delivery({ "aggregate-id": "no", customer: "c-7", code: "E42" }, { body: '{"v":"12","kind":"K"}' }),
      { aggregateId: "customer", version: "/v", eventType: "/kind", errorCode: "code", aggregateType: "/kind" },
      { aggregateId: "c-7", version: 12n, eventType: "K", errorCode: "E42", aggregateType: "K" },
    ],
    ["a version that is no integer", delivery({}, { body: '{"version":"1.0"}' }), {}, { version: null }],
    ["a version above the largest", delivery({}, { body: '{"version":9223372036854775807}' }), {}, { version: null }],
    [
      "a prototype name is no field",
      delivery({}, { body: "{}" }),
      { aggregateId: "/constructor/name" },
      { aggregateId: null },
    ],
    [
      "text PostgreSQL refuses",
      delivery({}, { body: '{"aggregateId":"a\\u0000\\ud800"}' }),
      {},
      { aggregateId: "a\uFFFD\uFFFD" },
    ],
  ])("takes %s", (_, from, mapping, expected) => {
    expect(read(from, "q", mapping)).toMatchObject(expected);
  });

  it.each([
    ["traceparent", `00-${TRACE.toUpperCase()}-00f067aa0ba902b7-01`, TRACE],
    ["traceparent", `ff-${TRACE}-00f067aa0ba902b7-01`, null],
    ["traceparent", `00-${"0".repeat(32)}-00f067aa0ba902b7-01`, null],
    ["MT-Activity-Id", `00-${TRACE}-00f067aa0ba902b7-00`, TRACE],
    ["b3", "80f198ee56343ba8-e457b5a2e4d86bd1-1", "000000000000000080f198ee56343ba8"],
    ["x-b3-traceid", "zz", null],
  ])("reads the trace id of %s %s as %s", (name, value, expected) => {
    expect(read(delivery({ [name]: value })).traceId).toBe(expected);
  });

  it.each([
    ['{"a":1}', "application/json"],
    ["hello", "text/plain"],
    [Buffer.from([0x1f, 0x8b, 0]), "application/octet-stream"],
  ])("assumes a content type only for display: %s", (body, assumed) => {
    const letter = read(delivery({}, { body, properties: { contentType: undefined } }));
    expect(letter.contentType).toBe(assumed);
    expect(letter.origin.contentTypeAssumed).toBe(assumed);
    expect(letter.origin.properties?.contentType).toBeUndefined();
  });
});

describe("what cannot be read", () => {
  it("is parked raw, with its property list, so that nothing is lost", () => {
    const letter = letterOf(
      {
        exchange: "x",
        routingKey: "k",
        properties: { readable: false, raw: Buffer.from([0xff, 0xff]), problem: "ends early" },
        body: Buffer.from([1, 2]),
      },
      "dlq",
      {},
    );
    expect(letter.origin).toMatchObject({ convention: "unreadable", rawProperties: "//8=" });
    expect(Buffer.from(letter.payload)).toEqual(Buffer.from([1, 2]));
    expect(letter.error.message).toContain("ends early");
    expect(letter.eventId).toMatch(/^sha256-/);
  });

  it.each<[string, string | Uint8Array, Record<string, string | FieldValue>]>([
    ["JSON nested beyond the stack", "[".repeat(200_000), {}],
    ["an empty body", "", {}],
    [
      "headers of unexpected types",
      "{}",
      { "x-death": { type: "table", value: table({ a: "b" }) }, traceparent: { type: "void" } },
    ],
    ["x-death entries that are no tables", "{}", { "x-death": { type: "array", value: [{ type: "void" }] } }],
    [
      "a hostile stack trace",
      "{}",
      { "x-exception-stacktrace": `a$${"a$".repeat(50_000)}!`, "x-exception-message": "m" },
    ],
  ])("does not fail on %s", (_, body, headers) => {
    const properties = { readable: true as const, properties: delivery(headers).properties };
    const letter = letterOf({ exchange: "", routingKey: "", properties, body: Buffer.from(body) }, "dlq", {});
    expect(letter.origin.convention).not.toBe("unreadable");
    expect(letter.errorCode).not.toBe("");
  });
});
