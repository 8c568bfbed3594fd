import { describe, expect, it } from "vitest";
import { stripFailureHeaders } from "@/lib/brokers/conventions/detect";
import { readMessage } from "@/lib/brokers/conventions/read-dead-letter";
import { hex, record } from "@/lib/brokers/conventions/testing/records";

// The bytes are those the sources of each framework write; where a test names no version, see the file it names.

const STACK = [
  "org.springframework.kafka.listener.ListenerExecutionFailedException: Listener failed; nested exception is",
  "\tat org.springframework.kafka.listener.KafkaMessageListenerContainer.invoke(K.java:2986)",
  "Caused by: java.lang.IllegalArgumentException: bad amount",
  "\tat com.acme.orders.OrderListener.handle(OrderListener.java:31)",
].join("\n");

type Headers = Parameters<typeof record>[0];
type Case = {
  headers: Headers;
  message?: Parameters<typeof record>[1];
  origin: Record<string, unknown>;
  error: Record<string, unknown>;
  letter?: Record<string, unknown>;
};

/** spring-kafka 4.1, `DeadLetterRecordManager` and `KafkaHeaders`. */
const SPRING: Headers = [
  ["__TypeId__", "com.acme.OrderCreated"],
  ["kafka_dlt-original-topic", "orders"],
  ["kafka_dlt-original-partition", hex("00000003")],
  ["kafka_dlt-original-offset", hex("000000000000002a")],
  ["kafka_dlt-original-timestamp", hex("0000018bcfe56800")],
  ["kafka_dlt-original-timestamp-type", "CreateTime"],
  ["kafka_dlt-original-consumer-group", "billing"],
  ["kafka_dlt-exception-fqcn", "org.springframework.kafka.listener.ListenerExecutionFailedException"],
  ["kafka_dlt-exception-cause-fqcn", "java.lang.IllegalArgumentException"],
  ["kafka_dlt-exception-message", "Listener failed; bad amount"],
  ["kafka_dlt-exception-stacktrace", STACK],
];

/** spring-kafka, `retrytopic/DeadLetterPublishingRecovererFactory`. */
const RETRY_TOPIC: Headers = [
  ["kafka_original-topic", "orders"],
  ["kafka_original-partition", hex("00000001")],
  ["kafka_original-offset", hex("0000000000000007")],
  ["kafka_original-timestamp", hex("0000018bcfe56800")],
  ["kafka_dlt-original-consumer-group", "billing"],
  ["kafka_exception-fqcn", "org.springframework.kafka.listener.TimestampedException"],
  ["kafka_exception-cause-fqcn", "com.acme.StockTimeoutException"],
  ["kafka_exception-message", "no answer"],
  ["retry_topic-attempts", hex("00000002")],
  ["retry_topic-original-timestamp", hex("018bcfe56800")],
  ["retry_topic-backoff-timestamp", hex("018bcfe56fd0")],
  ["retry_topic-attempts", hex("00000004")],
];

const CASES: Record<string, Case> = {
  "spring-kafka-dlt": {
    headers: SPRING,
    origin: { topic: "orders", partition: 3, offset: "42", consumer: "billing", originalAtMs: 1_700_000_000_000 },
    error: { type: "java.lang.IllegalArgumentException", message: "Listener failed; bad amount", stack: STACK },
    letter: { errorCode: "VALIDATION_ERROR", eventType: "com.acme.OrderCreated", failedAtMs: 1_700_000_500_000 },
  },
  "spring-kafka-dlt of a dead-letter topic's own dead letter: the first origin, the last error": {
    headers: [
      ...SPRING,
      ["kafka_dlt-original-topic", "orders.DLT"],
      ["kafka_dlt-original-partition", hex("00000000")],
      ["kafka_dlt-original-offset", hex("0000000000000001")],
      ["kafka_dlt-exception-cause-fqcn", "com.acme.SecondTimeoutException"],
    ],
    origin: { topic: "orders", partition: 3, offset: "42" },
    error: { type: "com.acme.SecondTimeoutException" },
    letter: { errorCode: "TIMEOUT" },
  },
  "spring-kafka-dlt of a key that could not be read": {
    headers: [
      ["kafka_dlt-original-topic", "orders"],
      ["kafka_dlt-key-exception-fqcn", "org.springframework.kafka.support.serializer.DeserializationException"],
      ["kafka_dlt-key-exception-message", "failed to deserialize"],
      ["springDeserializerExceptionKey", hex("aced0005")],
    ],
    origin: { topic: "orders" },
    error: {
      type: "org.springframework.kafka.support.serializer.DeserializationException",
      message: "failed to deserialize",
    },
    letter: { errorCode: "DESERIALIZATION_ERROR" },
  },
  "spring-kafka-retry-topic": {
    headers: RETRY_TOPIC,
    origin: { topic: "orders", partition: 1, offset: "7", consumer: "billing", originalAtMs: 1_700_000_000_000 },
    error: { type: "com.acme.StockTimeoutException", message: "no answer", stack: null },
    letter: { attempts: 3, errorCode: "TIMEOUT" },
  },
  "spring-kafka-retry-topic with the one-byte attempts of old versions": {
    headers: [
      ["kafka_original-topic", "orders"],
      ["retry_topic-attempts", hex("81")],
    ],
    origin: { topic: "orders" },
    error: { type: null },
    letter: { attempts: 128 },
  },
  // KafkaMessageChannelBinder
  "spring-cloud-stream-kafka": {
    headers: [
      ["x-original-topic", "orders"],
      ["x-original-partition", hex("00000002")],
      ["x-original-offset", hex("0000000000000009")],
      ["x-original-timestamp", hex("0000018bcfe56800")],
      ["x-original-timestamp-type", "CreateTime"],
      ["x-exception-fqcn", "org.springframework.messaging.MessageHandlingException"],
      ["x-exception-message", "bad amount"],
      ["x-exception-stacktrace", STACK],
    ],
    message: { topic: "error.orders.billing" },
    origin: { topic: "orders", partition: 2, offset: "9", originalAtMs: 1_700_000_000_000 },
    error: { type: "java.lang.IllegalArgumentException", message: "bad amount" },
  },
  // connect/runtime, DeadLetterQueueReporter: a record that died twice has each name twice.
  "kafka-connect": {
    headers: [
      ["app", "kept"],
      ["__connect.errors.topic", "orders"],
      ["__connect.errors.partition", "3"],
      ["__connect.errors.offset", "42"],
      ["__connect.errors.connector.name", "es-sink"],
      ["__connect.errors.task.id", "0"],
      ["__connect.errors.stage", "VALUE_CONVERTER"],
      ["__connect.errors.class.name", "org.apache.kafka.connect.json.JsonConverter"],
      ["__connect.errors.exception.class.name", "org.apache.kafka.connect.errors.DataException"],
      ["__connect.errors.exception.message", "Converting byte[] to Kafka Connect data failed"],
      ["__connect.errors.exception.stacktrace", null],
      ["__connect.errors.offset", "43"],
    ],
    origin: { topic: "orders", partition: 3, offset: "43", consumer: "es-sink", stage: "VALUE_CONVERTER", task: "0" },
    error: {
      type: "org.apache.kafka.connect.errors.DataException",
      message: "Converting byte[] to Kafka Connect data failed",
      stack: null,
    },
  },
  // streams, ExceptionHandlerUtils (KIP-1034)
  "kafka-streams": {
    headers: [
      ["__streams.errors.exception", "com.acme.BadEventException: amount < 0: refused"],
      ["__streams.errors.message", null],
      ["__streams.errors.stacktrace", "com.acme.BadEventException: amount < 0: refused\n\tat com.acme.A.b(A.java:1)"],
      ["__streams.errors.topic", "orders"],
      ["__streams.errors.partition", "0"],
      ["__streams.errors.offset", "5"],
    ],
    origin: { topic: "orders", partition: 0, offset: "5", headersAtSource: true },
    error: { type: "com.acme.BadEventException", message: "amount < 0: refused" },
  },
  // server, ShareGroupDLQStateManager (KIP-1191) with errors.deadletterqueue.copy.record.enable off
  "kafka-share-group": {
    headers: [
      ["__dlq.errors.topic", "orders"],
      ["__dlq.errors.partition", "2"],
      ["__dlq.errors.offset", "41"],
      ["__dlq.errors.group", "share"],
      ["__dlq.errors.delivery.count", "3"],
      ["__dlq.errors.message", "Offset delivery count exceeded the threshold."],
    ],
    message: { key: null, value: null },
    origin: {
      topic: "orders",
      partition: 2,
      offset: "41",
      consumer: "share",
      headersAtSource: true,
      payload: "reference-only",
      absentBody: true,
    },
    error: { type: null, message: "Offset delivery count exceeded the threshold." },
    letter: { attempts: 3 },
  },
  // KafkaDeadLetterQueue: its headers stand before the copied ones.
  smallrye: {
    headers: [
      ["dead-letter-exception-class-name", "java.lang.RuntimeException"],
      ["dead-letter-reason", "second"],
      ["dead-letter-cause-class-name", "java.net.SocketTimeoutException"],
      ["dead-letter-cause", "late"],
      ["dead-letter-topic", "orders"],
      ["dead-letter-partition", "1"],
      ["dead-letter-offset", "8"],
      ["dead-letter-reason", "first"],
      ["dead-letter-offset", "4"],
    ],
    origin: { topic: "orders", partition: 1, offset: "8" },
    error: {
      type: "java.net.SocketTimeoutException",
      message: "late",
      stack: "java.lang.RuntimeException: second\nCaused by: java.net.SocketTimeoutException: late",
    },
    letter: { failedAtMs: 1_700_000_500_000 },
  },
  // DlqAction of Confluent's schema rules
  "schema-registry-rule": {
    headers: [
      ["__rule.name", "checkAmount"],
      ["__rule.mode", "WRITE"],
      ["__rule.subject", "orders-value"],
      ["__rule.topic", "orders"],
      ["__rule.exception", "Expr failed: 'amount > 0'"],
    ],
    origin: { topic: "orders", consumer: "checkAmount", ruleMode: "WRITE", subject: "orders-value" },
    error: { message: "Expr failed: 'amount > 0'" },
  },
  // pro/processing/strategies/dlq/default.rb
  karafka: {
    headers: [
      ["source_topic", "orders"],
      ["source_partition", "4"],
      ["source_offset", "99"],
      ["source_consumer_group", "billing"],
      ["source_attempts", "6"],
      ["source_trace_id", "2f1a"],
    ],
    origin: { topic: "orders", partition: 4, offset: "99", consumer: "billing" },
    error: { type: null },
    letter: { attempts: 6 },
  },
  // DeadLetterQueueConstants.cs
  wolverine: {
    headers: [
      ["exception-type", "System.TimeoutException"],
      ["exception-message", "no answer"],
      ["exception-stack", "   at Acme.Orders.Handle()"],
      ["failed-at", "1700000000123"],
      ["original-destination", "kafka://topic/orders"],
      ["original-partition", "0"],
      ["original-offset", "12"],
    ],
    origin: { topic: "orders", partition: 0, offset: "12" },
    error: { type: "System.TimeoutException", message: "no answer" },
    letter: { failedAtMs: 1_700_000_000_123, errorCode: "TIMEOUT" },
  },
  // AWS Lambda developer guide: one record each for a Kafka destination. Header bytes are signed there.
  "lambda-kafka": {
    headers: [],
    message: {
      key: null,
      value: JSON.stringify({
        requestContext: {
          requestId: "316aa6d0",
          functionArn: "arn:aws:lambda:eu-west-1:123456789012:function:billing",
          condition: "RetryAttemptsExhausted",
          approximateInvokeCount: 3,
        },
        responseContext: { statusCode: 200, executedVersion: "$LATEST", functionError: "Unhandled" },
        version: "1.0",
        timestamp: "2019-11-14T18:16:05.568Z",
        KafkaBatchInfo: { batchSize: 1, recordInfo: { offset: 42, timestamp: 1_700_000_000_000 } },
        payload: {
          eventSource: "aws:kafka",
          records: {
            "orders-3": [
              {
                topic: "orders",
                partition: 3,
                offset: 42,
                timestamp: 1_700_000_000_000,
                timestampType: "CREATE_TIME",
                key: Buffer.from("order-7").toString("base64"),
                value: Buffer.from('{"amount":-1}').toString("base64"),
                headers: [{ tenant: [101, 117] }, { tenant: [-1] }],
              },
            ],
          },
        },
      }),
    },
    origin: {
      topic: "orders",
      partition: 3,
      offset: "42",
      key: Buffer.from("order-7").toString("base64"),
      consumer: "arn:aws:lambda:eu-west-1:123456789012:function:billing",
    },
    error: { type: null, message: "RetryAttemptsExhausted" },
    letter: {
      attempts: 3,
      failedAtMs: Date.parse("2019-11-14T18:16:05.568Z"),
      payload: Buffer.from('{"amount":-1}'),
      headers: [
        ["tenant", "eu"],
        ["tenant", "/w==", "bytes"],
      ],
      aggregateId: "order-7",
    },
  },
  // message/router/middleware/poison.go
  watermill: {
    headers: [
      ["reason_poisoned", "cannot decode"],
      ["topic_poisoned", "orders"],
      ["handler_poisoned", "billing"],
      ["subscriber_poisoned", "kafka.Subscriber"],
    ],
    origin: { topic: "orders", consumer: "billing" },
    error: { message: "cannot decode" },
  },
};

describe("a record of a dead-letter topic", () => {
  it.each(Object.entries(CASES))("%s", (name, { headers, message, origin, error, letter = {} }) => {
    const read = readMessage(record(headers, message), {});
    expect(read.origin).toMatchObject({ ...origin, convention: name.split(" ")[0] });
    expect(read.error).toMatchObject(error);
    expect(read).toMatchObject(letter);
  });

  it.each(Object.entries(CASES))("goes back without what the framework added: %s", (name, { headers, message }) => {
    const read = readMessage(record([["app", "x"], ...headers], message), {});
    const kept = stripFailureHeaders(read.headers, name.split(" ")[0]).map(([header]) => header);
    expect(kept.filter((header) => !["app", "tenant", "__TypeId__"].includes(header))).toEqual([]);
  });

  it("gives a tag Spring's numbers, which are bytes and may look like text", () => {
    const headers: Headers = [
      ["kafka_dlt-original-topic", "orders"],
      ["kafka_dlt-original-partition", hex("00000003")],
      ["kafka_dlt-original-offset", hex("4142434445464748")],
      ["x-original-offset", "12"],
    ];
    const [partition, offset] = ["kafka_dlt-original-partition", "kafka_dlt-original-offset"];
    const tags = { partition: partition!, offset: offset!, text: "x-original-offset" };
    const read = readMessage(record(headers), { tags });
    expect(read.tags).toEqual({ partition: "3", offset: "4702394921427289928", text: "12" });
  });

  it("keeps the words of other frameworks, which may be an application's own", () => {
    const own: Headers = [
      ["source_topic", "a"],
      ["failed-at", "b"],
      ["exception-type", "c"],
    ];
    const read = readMessage(record(own), {});
    expect(read.origin).toMatchObject({ convention: "generic" });
    expect(stripFailureHeaders(read.headers, "generic")).toHaveLength(3);
  });

  it("keeps null, empty, binary and repeated parts as they are", () => {
    const read = readMessage(
      record(
        [
          ["a", null],
          ["a", ""],
          ["b", hex("ff00fe")],
          ["a", "é"],
        ],
        { key: hex("00ff"), value: null },
      ),
      {},
    );
    expect(read.headers).toEqual([
      ["a", null],
      ["a", ""],
      ["b", "/wD+", "bytes"],
      ["a", "é"],
    ]);
    expect(read.origin).toMatchObject({ key: "AP8=", absentBody: true });
    expect(read.payload).toHaveLength(0);
    expect(readMessage(record([], { key: null, value: "" }), {}).origin).toMatchObject({ key: null });
    expect(readMessage(record([], { key: "", value: "" }), {}).origin).toMatchObject({ key: "" });
    expect(readMessage(record([], { value: "" }), {}).origin).not.toHaveProperty("absentBody");
  });

  it("names the schema of a registry's envelope and keeps the envelope", () => {
    const value = hex("00 0000002a 02 0a 62");
    const read = readMessage(record([], { value }), {});
    expect(read.origin).toMatchObject({ schemaRegistry: { value: 42 } });
    expect(Buffer.from(read.payload).equals(value)).toBe(true);
  });
});
