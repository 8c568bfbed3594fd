import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Job } from "bullmq";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { receive as receiveAmqp10 } from "@/lib/brokers/amqp10/message";
import { dataSection, writeSections } from "@/lib/brokers/amqp10/sections";
import { jobMessage } from "@/lib/brokers/bullmq/job-message";
import { letterOf as celeryLetter } from "@/lib/brokers/celery/envelope";
import { readDeadLetter } from "@/lib/brokers/conventions/read-dead-letter";
import { kafkaMessage } from "@/lib/brokers/kafka/message";
import type { Mapping } from "@/lib/brokers/kinds/fields.shapes";
import type { Kind } from "@/lib/brokers/kinds/kinds.shapes";
import { advisedMessage, advisoryOf, deadLetterMessage } from "@/lib/brokers/nats/message";
import type { OutboxConfig } from "@/lib/brokers/outbox/kind.shapes";
import { letterOf as outboxLetter } from "@/lib/brokers/outbox/row";
import { pubsubMessage } from "@/lib/brokers/pubsub/message";
import { decodeProperties } from "@/lib/brokers/rabbitmq/basic-properties";
import type { FieldValue } from "@/lib/brokers/rabbitmq/field-table";
import { letterOf as rabbitLetter } from "@/lib/brokers/rabbitmq/receive";
import { messageOf as entryMessage } from "@/lib/brokers/redis-streams/entry";
import { messageOf as sidekiqMessage } from "@/lib/brokers/sidekiq/job";
import { sqsMessage } from "@/lib/brokers/sqs/message";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import { isStorableText, storable } from "@/lib/platform/plain/storable.pure";

/** A message of any broker, as bytes that nobody has looked at. */
type Raw = { headers: [name: string, value: Buffer][]; body: Buffer };

/** Takes everything from the payload that a mapping can: a poison value must not get further than its own message. */
const MAPPING: Mapping = {
  eventId: "/id",
  aggregateType: "/type",
  aggregateId: "/aggregate",
  version: "/version",
  eventType: "header:x-type",
  errorCode: "header:x-error-code",
  tags: { tenant: "header:x-tenant", deep: "/a/b/c" },
};

const text = (bytes: Buffer) => bytes.toString("utf8");
const record = (headers: Raw["headers"]) => Object.fromEntries(headers.map(([name, value]) => [name, text(value)]));
const attempt = <T>(work: () => T): T | null => {
  try {
    return work();
  } catch {
    return null;
  }
};

/** How each kind makes a dead letter of what it received: its own conversion, and the conventions. */
const KINDS: Record<Exclude<Kind, "http">, (raw: Raw) => DeadLetter[]> = {
  kafka: ({ headers, body }) => [
    readDeadLetter(
      kafkaMessage(
        {
          key: body,
          value: body,
          headers: headers.map(([name, value]) => [Buffer.from(name, "latin1"), value]),
          offset: 7n,
          timestampMs: -1,
        },
        { topic: "orders.DLT", topicId: "t", partition: 0 },
      ),
      MAPPING,
    ),
  ],
  rabbitmq: ({ headers, body }) => {
    const delivery = { exchange: "", routingKey: "q", body };
    const table = headers.map(([name, value]): [string, FieldValue] => [
      name,
      value.length % 2 === 0 ? { type: "longstr", value: text(value) } : { type: "longstr-bytes", value },
    ]);
    const properties = { headers: table };
    // A list of properties as the broker sends it: any bytes.
    const decoded = attempt(() => decodeProperties(body));
    return [
      rabbitLetter({ ...delivery, properties: { readable: true, properties } }, "q", MAPPING),
      decoded === null
        ? rabbitLetter({ ...delivery, properties: { readable: false, raw: body, problem: "cut" } }, "q", MAPPING)
        : rabbitLetter({ ...delivery, properties: { readable: true, properties: decoded } }, "q", MAPPING),
    ];
  },
  amqp10: ({ headers, body }) => {
    const application = headers.map(([name, value]): [string, { type: "string"; value: string }] => [
      name,
      { type: "string", value: text(value) },
    ]);
    const config = { address: "DLA", mapping: MAPPING };
    const whole = writeSections({
      properties: {},
      application,
      annotations: [],
      priority: undefined,
      body: dataSection(body),
    });
    return [receiveAmqp10(whole, config).letter, receiveAmqp10(body, config).letter];
  },
  "redis-stream": ({ headers, body }) => [
    readDeadLetter(
      entryMessage(
        {
          id: "1-1",
          fields: [
            ...headers.map(([name, value]): [Buffer, Buffer] => [Buffer.from(name, "latin1"), value]),
            [Buffer.from("payload"), body],
          ],
        },
        { stream: "s", group: "g", payloadField: undefined, deliveries: 3 },
      ),
      MAPPING,
    ),
  ],
  nats: ({ headers, body }) => {
    const lines = headers.flatMap(([name, value]) => [Buffer.from(`\r\n${name}: `), value]);
    const block = Buffer.concat([Buffer.from("NATS/1.0"), ...lines, Buffer.from("\r\n\r\n")]);
    const from = { stream: "s", subject: "s.a", seq: 1, timeNanos: "1", headers: block, data: body };
    const advisory = advisoryOf(body) ?? advisoryOf(Buffer.from(JSON.stringify({ ...ADVISORY, ...record(headers) })));
    return [
      readDeadLetter(deadLetterMessage({ ...from }), MAPPING),
      readDeadLetter(deadLetterMessage({ ...from, headers: body }), MAPPING),
      ...(advisory === null ? [] : [readDeadLetter(advisedMessage(from, advisory, from), MAPPING)]),
    ];
  },
  sqs: ({ headers, body }) => [
    readDeadLetter(
      sqsMessage(
        {
          MessageId: "m",
          Body: text(body),
          Attributes: record(headers) as never,
          MessageAttributes: Object.fromEntries(
            headers.map(([name, value], index) => [
              name,
              index % 2 === 0
                ? { DataType: "String", StringValue: text(value) }
                : { DataType: "Binary", BinaryValue: value },
            ]),
          ),
        },
        "orders-dlq",
      ),
      MAPPING,
    ),
  ],
  pubsub: ({ headers, body }) => [
    readDeadLetter(
      pubsubMessage(
        {
          ackId: "a",
          message: {
            data: body,
            attributes: record(headers),
            messageId: "m",
            publishTime: null,
            orderingKey: text(body),
          },
          deliveryAttempt: 3,
        },
        "orders-dlq",
      ),
      MAPPING,
    ),
  ],
  outbox: ({ headers, body }) => {
    const row = {
      ...{
        id: "1",
        version: "1",
        position: null,
        status: "DEAD",
        attempts: text(body),
        error: text(body),
        created_ms: 1,
      },
      ...{ aggregate_type: text(body), aggregate_id: text(body), event_type: text(body) },
    };
    const config = { table: "outbox", mapping: MAPPING } as OutboxConfig;
    return [
      outboxLetter({ ...row, payload: body, headers: JSON.stringify(record(headers)) }, config),
      outboxLetter({ ...row, payload: text(body), headers: text(body) }, config),
    ];
  },
  sidekiq: ({ headers, body }) => [
    readDeadLetter(sidekiqMessage(body, 1.5), MAPPING),
    readDeadLetter(
      sidekiqMessage(Buffer.from(JSON.stringify({ ...record(headers), error_backtrace: text(body) })), Number.NaN),
      MAPPING,
    ),
  ],
  celery: ({ headers, body }) => [
    celeryLetter(body, { queue: "q", mapping: MAPPING }),
    celeryLetter(
      Buffer.from(JSON.stringify({ body: text(body), headers: record(headers), properties: record(headers) })),
      { queue: "q", mapping: MAPPING },
    ),
  ],
  bullmq: ({ headers, body }) => {
    const job = {
      ...{
        id: text(body).slice(0, 300),
        name: text(body),
        queueName: "q",
        attemptsMade: 1,
        timestamp: 1,
        opts: record(headers),
      },
      ...{ failedReason: text(body), finishedOn: 2, stacktrace: [text(body)], parentKey: text(body) },
    } as unknown as Job;
    return [readDeadLetter(jobMessage(job, text(body), { parked: null, redrive: null }), MAPPING)];
  },
};

const ADVISORY = { type: "io.nats.jetstream.advisory.v1.max_deliver", stream: "s", consumer: "c", stream_seq: 7 };

/** Every text in the sources that could be the name of a header: those of all conventions are among them. */
const NAMES = [
  ...new Set(
    ["conventions", "celery", "sidekiq", "redis-streams", "outbox", "bullmq", "nats"].flatMap((folder) =>
      readdirSync(join("lib/brokers", folder), { recursive: true, encoding: "utf8" })
        .filter((file) => file.endsWith(".ts") && !file.includes("test"))
        .flatMap((file) => [
          ...readFileSync(join("lib/brokers", folder, file), "utf8").matchAll(/["`]([A-Za-z_][\w.:-]{1,60})["`]/g),
        ])
        .map(([, name]) => name!),
    ),
  ),
];

/** What the store does with a letter before it writes it; a defect of a parser is told from a message that is none. */
function assertHarmless(letters: readonly DeadLetter[]): void {
  for (const letter of letters) {
    const kept = storable(letter);
    expect(kept.eventId.length).toBeGreaterThan(0);
    expect(Number.isInteger(kept.attempts)).toBe(true);
    const { payload: _, version, ...texts } = kept;
    expect(version === null || typeof version === "bigint").toBe(true);
    // One assertion for all texts: a letter has up to 10,000 of them.
    const unstorable: string[] = [];
    JSON.parse(JSON.stringify(texts), (name, value) => {
      if (!isStorableText(name) || (typeof value === "string" && !isStorableText(value))) unstorable.push(name);
      return value;
    });
    expect(unstorable).toEqual([]);
    expect(letter.error.message ?? "").not.toMatch(
      /could not be read: (Cannot |.* is not a function|.* is not iterable|Maximum call|Invalid (array|string|time)|.* is not defined)/,
    );
  }
}

const deep = 100_000;
const POISONS: [title: string, raw: Raw][] = [
  ["a deep array", { headers: [], body: Buffer.from("[".repeat(deep) + "]".repeat(deep)) }],
  ["a deep object", { headers: [], body: Buffer.from(`${'{"a":'.repeat(deep)}1${"}".repeat(deep)}`) }],
  ["a deep object that is cut", { headers: [], body: Buffer.from('{"a":'.repeat(deep)) }],
  ["a deep header", { headers: [["x-death", Buffer.from("[".repeat(deep))]], body: Buffer.from("{}") }],
  [
    "bytes that are no text",
    { headers: [["x-type", Buffer.from([0xff, 0xfe, 0xc0])]], body: Buffer.from([0xff, 0xfe, 0x00]) },
  ],
  ["a header of 1 MB", { headers: [["x-error-message", Buffer.alloc(1_000_000, "x")]], body: Buffer.from("{}") }],
  [
    "10,000 headers",
    { headers: Array.from({ length: 10_000 }, (_, n) => [`x-${n}`, Buffer.from("1")]), body: Buffer.from("{}") },
  ],
  ["the envelope of a schema registry", { headers: [], body: Buffer.from([0, 0, 0, 0, 7, 2, 6, 0x6f, 0x2d, 0x37]) }],
  [
    "protobuf",
    {
      headers: [["content-type", Buffer.from("application/x-protobuf")]],
      body: Buffer.from("0a036f2d371096019a0108ffffffffffffffff01", "hex"),
    },
  ],
  [
    "NUL and half pairs",
    {
      headers: [["x-type", Buffer.from("a\0b")]],
      body: Buffer.from(
        '{"id":"a\\u0000b","type":"\\ud800","aggregate":"\\udfff","version":"\\u0000","a":{"b":{"c":"\\ud800"}}}',
      ),
    },
  ],
  [
    "numbers without an end",
    {
      headers: [["x-retry-count", Buffer.from("9".repeat(400))]],
      body: Buffer.from(`{"id":${"9".repeat(50_000)},"version":1e400,"aggregate":-0}`),
    },
  ],
  [
    "names of the language",
    {
      headers: [
        ["__proto__", Buffer.from("x")],
        ["constructor", Buffer.from("y")],
        ["toString", Buffer.from("z")],
      ],
      body: Buffer.from('{"__proto__":{"id":1},"constructor":null,"id":{"toString":1}}'),
    },
  ],
  ["nothing", { headers: [["", Buffer.alloc(0)]], body: Buffer.alloc(0) }],
];

describe.each(Object.entries(KINDS))("a poison message of %s", (_, convert) => {
  it.each(POISONS)("harms nobody: %s", (__, poison) => {
    const good: Raw = {
      headers: [["x-type", Buffer.from("OrderPlaced")]],
      body: Buffer.from('{"id":"o-7","type":"order"}'),
    };
    const before = convert(good);
    const letters = convert(poison);
    assertHarmless(letters);
    // The neighbours are read as if it had not been there.
    expect(convert(good)).toEqual(before);
  });

  it("harms nobody, whatever its bytes, under the headers of every convention", () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 200 }).map((list) => Buffer.from(list)),
      fc.json({ maxDepth: 4 }).map((json) => Buffer.from(json)),
      fc.string({ unit: "binary", maxLength: 60 }).map((one) => Buffer.from(one)),
      fc
        .constantFrom("", "-1", "1e9", "[]", "{}", "null", "2026-13-45T99:99:99Z", "[[", '[{"count":"x"}]')
        .map((one) => Buffer.from(one)),
    );
    const name = fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...NAMES) }, fc.string({ maxLength: 20 }));
    const object = fc
      .array(fc.tuple(fc.constantFrom(...NAMES), fc.jsonValue({ maxDepth: 2 })), { maxLength: 8 })
      .map((pairs) => Buffer.from(JSON.stringify(Object.fromEntries(pairs))));
    const raw = fc.record({
      headers: fc.array(fc.tuple(name, bytes), { maxLength: 8 }),
      body: fc.oneof(bytes, object),
    });
    fc.assert(
      fc.property(raw, (one) => assertHarmless(convert(one))),
      { numRuns: 50 },
    );
  });
});
