import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Channel, ChannelModel, GetMessage } from "amqplib";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  type Arrived,
  type BrokerHarness,
  consumerOf,
  describeBroker,
  type ExactMessage,
  eventually,
  outbound,
  readByDyingProcesses,
} from "@/lib/brokers/broker.conformance";
import { textOfValue, textOrNull } from "@/lib/brokers/message";
import type { OutboundMessage, Position, PublishError } from "@/lib/brokers/port";
import { rabbitmqAdapter } from "@/lib/brokers/rabbitmq/adapter";
import { keepExactProperties, publishExact, receivedProperties } from "@/lib/brokers/rabbitmq/exact-properties";
import type { FieldTable, FieldValue } from "@/lib/brokers/rabbitmq/field-table";
import type { RabbitmqConfig } from "@/lib/brokers/rabbitmq/kind.shapes";
import { headerValueOf, headerViewOf } from "@/lib/brokers/rabbitmq/message";
import { offsetOf, peekStream } from "@/lib/brokers/rabbitmq/streams";
import { filePositions, memoryPositions } from "@/lib/brokers/testing/positions";
import { backOut, parkOne, sendOne } from "@/lib/brokers/testing/round-trip";
import type { DeadLetter } from "@/lib/intake/dead-letter.pure";
import { systemClock } from "@/lib/platform/clock";
import { type TestCertificates, testCertificates } from "@/lib/testing/certificates";
import { describeWith } from "@/lib/testing/describe-with";
import { rabbitmq4Missing, rabbitmqMissing, type TestRabbitmq, testRabbitmq } from "@/lib/testing/rabbitmq";
import { startTcpProxy, type TcpProxy } from "@/lib/testing/tcp-proxy";

const never = new AbortController().signal;
const adapter = rabbitmqAdapter({ clock: systemClock, random: () => 0 });
let rabbit: TestRabbitmq;
let certificates: TestCertificates;
/** Of another authority. */
let foreign: TestCertificates;
/** Straight to the broker, for setting up and looking on; exact, to see what a consumer in any language would. */
let direct: ChannelModel;
let channel: Channel;

const unique = (name: string) => `${name}-${randomBytes(4).toString("hex")}`;

async function openDirect(): Promise<void> {
  direct = await rabbit.connect();
  direct.on("error", () => undefined); // the broker is killed on purpose
  keepExactProperties(direct);
  channel = await direct.createChannel();
}

/** Of the broker under test. */
const major = () => Number.parseInt(String((direct.connection as unknown as ServerFacts).serverProperties.version), 10);
type ServerFacts = { serverProperties: { version?: unknown } };

function exactOf(message: GetMessage) {
  const received = receivedProperties(message);
  if (!received.readable) throw new Error("unreadable");
  return received.properties;
}

async function takeAll(queue: string): Promise<GetMessage[]> {
  const messages: GetMessage[] = [];
  for (;;) {
    const message = await channel.get(queue, { noAck: true });
    if (message === false) return messages;
    messages.push(message);
  }
}

async function take(queue: string): Promise<GetMessage> {
  const taken: GetMessage[] = [];
  await eventually(async () => {
    const message = await channel.get(queue, { noAck: true });
    if (message) taken.push(message);
    return taken.length;
  }).toBe(1);
  return taken[0]!;
}

const depth = async (queue: string) => (await channel.checkQueue(queue)).messageCount;

/** A durable queue whose rejected messages end in a dead-letter queue of its own. */
async function queueWithDlq(change: { arguments?: object } = {}): Promise<{ queue: string; dlq: string }> {
  const queue = unique("orders");
  const dlq = `${queue}.dlq`;
  await channel.assertQueue(dlq, { durable: true });
  await channel.assertQueue(queue, {
    durable: true,
    arguments: { "x-dead-letter-exchange": "", "x-dead-letter-routing-key": dlq, ...change.arguments },
  });
  return { queue, dlq };
}

/** A consumer that rejects the next message of the queue, so that the broker dead-letters it. */
async function rejectNext(queue: string): Promise<void> {
  let rejected = false;
  await eventually(async () => {
    const message = await channel.get(queue);
    if (message) channel.reject(message, false);
    rejected ||= message !== false;
    return rejected;
  }).toBe(true);
}

const failure = (config: RabbitmqConfig, message: OutboundMessage) =>
  sendOne(adapter, config, message).then(
    () => Promise.reject(new Error("expected a failure")),
    (error: PublishError) => error,
  );

function asField([name, value]: [string, Buffer | null]): FieldTable[number] {
  if (value === null) return [name, { type: "void" }];
  const text = textOrNull(value);
  return [name, text === null ? { type: "bytes", value } : { type: "longstr", value: text }];
}

function bytesOf(field: FieldValue): Buffer | null {
  if (field.type === "void") return null;
  return "value" in field && field.value instanceof Uint8Array
    ? Buffer.from(field.value)
    : Buffer.from(textOfValue(headerValueOf(field)) ?? "");
}

async function makeHarness(): Promise<BrokerHarness<RabbitmqConfig>> {
  const proxy = await startTcpProxy(rabbit.port);
  const { queue, dlq } = await queueWithDlq();
  const url = (user: string) => `amqp://${user}@127.0.0.1:${proxy.port}`;
  const config: RabbitmqConfig = { url: url("guest:guest"), queue: dlq, prefetch: 100 };
  const over = (tls: RabbitmqConfig["tls"]): RabbitmqConfig => ({ ...config, url: rabbit.tlsUrl, tls });
  const arrived = async (): Promise<Arrived[]> =>
    (await takeAll(queue)).map((message) => {
      const { contentType, headers = [] } = exactOf(message);
      const view = headerViewOf(headers);
      return {
        body: message.content,
        contentType: typeof contentType === "string" ? contentType : null,
        headers: Object.fromEntries([...view.names()].map((name) => [name, view.text(name) ?? ""])),
      };
    });
  return {
    adapter,
    config,
    impatient: { ...config, url: `${url("guest:guest")}?heartbeat=1` },
    refusing: { ...config, redriveTo: { mode: "origin-queue", queue: unique("no-such-queue") } },
    proxy,
    origin: { queue },
    arrived,
    produce: async (bodies) => {
      const confirmed = await direct.createConfirmChannel();
      const options = { contentType: "text/plain", persistent: true };
      for (const body of bodies) confirmed.sendToQueue(dlq, Buffer.from(body), options);
      await confirmed.waitForConfirms(); // written to disk: a test may kill the broker
      await confirmed.close();
    },
    remaining: async () => {
      const { ready, unacknowledged } = await rabbit.messages(dlq);
      return ready + unacknowledged;
    },
    exact: {
      carries: {
        keys: false,
        absentBody: false,
        emptyBody: true,
        binaryBody: true,
        nullHeaders: true,
        // Version 4 stores a message as AMQP 1.0: names are unique, and sorted when the message is published.
        duplicateHeaders: major() < 4,
        ...(major() < 4 ? {} : { headerOrder: "sorted" as const }),
        binaryHeaders: true,
      },
      produceExact: async (messages) => {
        for (const { body, headers } of messages) await produceExact("", dlq, { headers: headers.map(asField) }, body!);
      },
      arrivedExact: async () =>
        (await takeAll(queue)).map((message) => ({
          key: null,
          body: message.content,
          headers: (exactOf(message).headers ?? []).map(([name, field]) => [name, bytesOf(field)]),
        })),
      bounce: async ({ body, headers }) => {
        await produceExact("", dlq, { headers: headers.map(asField) }, body!);
      },
      beforeRestart: () => rabbit.storeDefinitions(),
      restart: async () => {
        await rabbit.kill();
        await rabbit.start();
        await openDirect();
      },
      misconfigured: [
        [
          "a wrong password",
          { ...config, url: url("guest:hunter2") },
          /refuses the login: check the user and the password/,
        ],
        ["a queue that is not there", { ...config, queue: "not-there" }, /queue not-there does not exist/],
        [
          "another virtual host",
          { ...config, url: `${url("guest:guest")}/none` },
          /vhost none: it does not open this virtual host: it does not exist/,
        ],
        ["a user who may not read", { ...config, url: url("reader:hunter2") }, /needs the permission to read/],
        [
          "TLS towards a plain listener",
          { ...config, url: url("guest:guest").replace("amqp:", "amqps:") },
          /^cannot connect to \S+, vhost \/: \S+ does not speak TLS \(ERR_SSL_WRONG_VERSION_NUMBER\)/,
        ],
      ],
      tls: {
        good: over({ ca: certificates.ca, cert: certificates.client.cert, key: certificates.client.key }),
        refused: [
          ["no authority", over({}), /not trusted/],
          ["another authority", over({ ca: certificates.otherCa }), /not trusted/],
          ["another name", over({ ca: certificates.ca, servername: "elsewhere.invalid" }), /another name/],
          [
            "a client certificate that another authority signed",
            over({ ca: certificates.ca, cert: foreign.client.cert, key: foreign.client.key }),
            /cannot connect|lost/,
          ],
        ],
      },
    },
    stop: () => proxy.stop(),
  };
}

/** A stream of dead letters in place of the queue; what is redriven goes to a queue. */
async function makeStreamHarness(): Promise<BrokerHarness<RabbitmqConfig>> {
  const harness = await makeHarness();
  const exact = harness.exact!;
  const stream = await makeStream();
  const folder = mkdtempSync(join(tmpdir(), "parkade-stream-"));
  const positionFile = join(folder, "position");
  let produced = 0;
  const produceExactly = async ({ body, headers }: ExactMessage) => {
    await produceExact("", stream, { headers: headers.map(asField) }, body!);
    produced += 1;
  };
  return {
    ...harness,
    config: { ...harness.config, queue: stream },
    impatient: { ...harness.impatient!, queue: stream },
    refusing: { ...harness.refusing, queue: stream },
    keepsPosition: true,
    positionFile,
    produce: async (bodies) => {
      const confirmed = await direct.createConfirmChannel();
      for (const body of bodies) confirmed.sendToQueue(stream, Buffer.from(body), { contentType: "text/plain" });
      await confirmed.waitForConfirms();
      await confirmed.close();
      produced += bodies.length;
    },
    remaining: async () => {
      const position = await filePositions(positionFile).read(stream);
      return produced - 1 - Number(position?.offset ?? -1);
    },
    exact: {
      ...exact,
      // A stream is stored as AMQP 1.0 in each version, which sorts headers.
      carries: { ...exact.carries, headerOrder: "sorted" },
      produceExact: async (messages) => {
        for (const message of messages) await produceExactly(message);
      },
      bounce: produceExactly,
      restart: async () => {
        await exact.restart!();
        // A stream starts after its broker. Until then it takes nothing, and what is published to it is dropped.
        await eventually(async () => {
          const own = await direct.createChannel();
          own.on("error", () => undefined);
          const found = await own.checkQueue(stream).then(
            () => own.close().then(() => true),
            () => false,
          );
          return found;
        }).toBe(true);
      },
      tls: exact.tls === null ? null : { ...exact.tls, good: { ...exact.tls.good, queue: stream } },
    },
    stop: async () => {
      await harness.stop();
      rmSync(folder, { recursive: true });
    },
  };
}

async function makeStream(change: object = {}): Promise<string> {
  const stream = unique("stream");
  await channel.assertQueue(stream, { durable: true, arguments: { "x-queue-type": "stream", ...change } });
  return stream;
}

const suiteOf = (version: "installed" | "4") => () => {
  beforeAll(async () => {
    certificates = testCertificates();
    foreign = testCertificates();
    rabbit = await testRabbitmq({ version, certificates });
    await openDirect();
    await rabbit.ctl("add_user", "reader", "hunter2");
    await rabbit.ctl("set_permissions", "reader", "", "", "");
  });
  afterAll(async () => {
    for (const made of [certificates, foreign]) made.remove();
    await rabbit?.stop();
  });

  describeBroker<RabbitmqConfig>("rabbitmq", makeHarness);
  describe("a stream", () => describeBroker<RabbitmqConfig>("rabbitmq", makeStreamHarness));
  describe("reading a stream", () => streamTests());
  describe("a dead letter's way back", () => redriveTests());
  describe("publishing to RabbitMQ", () => publishTests());
  describe("consuming from RabbitMQ", () => consumeTests());
  // Last: it takes the broker down.
  describe("a broker that dies", () => restartTests());
};

describeWith(rabbitmqMissing, "RabbitMQ of the machine", suiteOf("installed"));
describeWith(await rabbitmq4Missing(), "RabbitMQ 4", suiteOf("4"));

const EVERY_TYPE: FieldTable = [
  ["10", { type: "longstr", value: "names that look like integers keep their place" }],
  ["text", { type: "longstr", value: "é" }],
  ["binary-string", { type: "longstr-bytes", value: Buffer.from([0xff, 0]) }],
  ["bytes", { type: "bytes", value: Buffer.from([0, 1, 2]) }],
  ["int8", { type: "int8", value: -5 }],
  ["uint8", { type: "uint8", value: 250 }],
  ["int16", { type: "int16", value: 5 }],
  ["uint16", { type: "uint16", value: 65_000 }],
  ["int32", { type: "int32", value: 5 }],
  ["uint32", { type: "uint32", value: 4_000_000_000 }],
  ["int64", { type: "int64", value: 9007199254740993n }],
  ["timestamp", { type: "timestamp", value: 1_795_163_502n }],
  ["float", { type: "float", value: 1.5 }],
  ["double", { type: "double", value: 0.1 }],
  ["decimal", { type: "decimal", places: 2, digits: 1234 }],
  ["yes", { type: "bool", value: true }],
  ["void", { type: "void" }],
  [
    "list",
    {
      type: "array",
      value: [
        { type: "int8", value: 1 },
        { type: "longstr", value: "x" },
      ],
    },
  ],
  ["table", { type: "table", value: [["nested", { type: "int64", value: 1n }]] }],
  ["1", { type: "longstr", value: "after ten" }],
];

const byName = ([a]: FieldTable[number], [b]: FieldTable[number]) => (a < b ? -1 : 1);

/** Tables in tables, deeper than Parkade reads. */
function nested(depth: number): FieldValue {
  let value: FieldValue = { type: "int8", value: 1 };
  for (let level = 0; level < depth; level += 1) value = { type: "table", value: [["in", value]] };
  return value;
}

/** Publishes exactly these properties, as a producer in another language would. */
async function produceExact(
  exchange: string,
  routingKey: string,
  properties: Parameters<typeof publishExact>[2]["properties"],
  body: string | Buffer = "{}",
): Promise<void> {
  const confirmed = await direct.createConfirmChannel();
  await new Promise<void>((resolve, reject) => {
    publishExact(confirmed, { exchange, routingKey }, { properties, content: Buffer.from(body) }, (error) =>
      error ? reject(error) : resolve(),
    );
  });
  await confirmed.close();
}

function redriveTests(): void {
  const configOf = (dlq: string, more: Partial<RabbitmqConfig> = {}): RabbitmqConfig => ({
    url: rabbit.url,
    queue: dlq,
    ...more,
  });

  it("gives the consumer the message it would have got the first time, every field type included", async () => {
    const { queue, dlq } = await queueWithDlq();
    await produceExact("", queue, {
      contentType: "application/json",
      contentEncoding: "identity",
      headers: EVERY_TYPE,
      deliveryMode: 1,
      priority: 4,
      correlationId: "c-1",
      replyTo: "answers",
      messageId: "m-1",
      timestamp: 9007199254740993n,
      type: "OrderPlaced",
      userId: "guest",
      appId: "shop",
    });
    await rejectNext(queue);
    const letter = await parkOne(adapter, configOf(dlq));
    expect(letter).toMatchObject({ eventId: "m-1", eventType: "OrderPlaced", errorCode: "REJECTED", attempts: 1 });
    // What was parked has been through the store: JSON and back.
    const stored = JSON.parse(JSON.stringify({ headers: letter.headers, origin: letter.origin }));
    await sendOne(adapter, configOf(dlq), backOut(letter, stored));
    const { headers, ...properties } = exactOf(await take(queue));
    expect(properties).toEqual({
      contentType: "application/json",
      contentEncoding: "identity",
      deliveryMode: 2,
      priority: 4,
      correlationId: "c-1",
      replyTo: "answers",
      messageId: "m-1",
      timestamp: 9007199254740993n,
      type: "OrderPlaced",
      appId: "shop",
    });
    const own = headers!.filter(([name]) => !name.startsWith("x-redrive-"));
    // The broker itself sorts headers when it dead-letters; after that their order is ours to keep.
    expect(own.toSorted(byName)).toEqual(EVERY_TYPE.toSorted(byName));
    const parkedOrder = letter.headers.map(([name]) => name).filter((name) => own.some(([other]) => other === name));
    expect(own.map(([name]) => name)).toEqual(parkedOrder);
  });

  it("leaves an absent content type absent", async () => {
    const { queue, dlq } = await queueWithDlq();
    await produceExact("", queue, {}, '{"a":1}');
    await rejectNext(queue);
    const letter = await parkOne(adapter, configOf(dlq));
    expect(letter.contentType).toBe("application/json");
    await sendOne(adapter, configOf(dlq), backOut(letter));
    expect(exactOf(await take(queue))).not.toHaveProperty("contentType");
  });

  it("is the same event when it dies again, also when the message has no id of its own", async () => {
    const { queue, dlq } = await queueWithDlq();
    await produceExact("", queue, { contentType: "text/plain" }, "no id");
    await rejectNext(queue);
    const first = await parkOne(adapter, configOf(dlq));
    expect(first.redrive).toBeNull();
    await sendOne(
      adapter,
      configOf(dlq),
      backOut(first, { redriveId: "018f9c4e-3333-7000-8000-000000000003", attempt: 2 }),
    );
    await rejectNext(queue);
    const second = await parkOne(adapter, configOf(dlq));
    expect(second.eventId).toBe(first.eventId);
    expect(second.redrive).toEqual({ redriveId: "018f9c4e-3333-7000-8000-000000000003", attempt: 2 });
    // The broker began to count anew: nothing of the first death went back with the message.
    expect(second.attempts).toBe(1);
    expect(second.origin.queue).toBe(queue);
  });

  it.each([
    ["expired", { "x-message-ttl": 1 }, "EXPIRED"],
    ["overflowed", { "x-max-length": 0 }, "MAXLEN"],
  ])("knows a message that %s", async (_, args, errorCode) => {
    const { queue, dlq } = await queueWithDlq({ arguments: args });
    await produceExact("", queue, { messageId: "m" });
    await eventually(() => depth(dlq)).toBe(1);
    const letter = await parkOne(adapter, configOf(dlq));
    expect(letter).toMatchObject({ errorCode, attempts: 0 });
    expect(letter.origin.queue).toBe(queue);
  });

  it("goes to the slow lane's queue when there is one", async () => {
    const { queue } = await queueWithDlq();
    const slow = unique("slow");
    await channel.assertQueue(slow, { durable: true });
    await sendOne(adapter, configOf("unused", { slowLaneQueue: slow }), outbound({ queue }), "slow");
    expect(await depth(slow)).toBe(1);
    await sendOne(adapter, configOf("unused"), outbound({ queue }), "slow");
    expect(await depth(queue)).toBe(1);
  });

  it("reaches one queue only, although the message once named others in CC", async () => {
    const { queue } = await queueWithDlq();
    const other = unique("other");
    await channel.assertQueue(other);
    const headers: OutboundMessage["headers"] = [["CC", JSON.stringify([other]), "amqp"]];
    await sendOne(adapter, configOf("unused"), outbound({ queue }, { headers }));
    expect([await depth(queue), await depth(other)]).toEqual([1, 0]);
  });

  it("goes back through its exchange on request, to all keys it was sent with", async () => {
    const exchange = unique("x");
    const [a, b] = [unique("a"), unique("b")];
    await channel.assertExchange(exchange, "direct");
    for (const [queue, key] of [
      [a, "k1"],
      [b, "k2"],
    ] as const) {
      await channel.assertQueue(queue);
      await channel.bindQueue(queue, exchange, key);
    }
    const config = configOf("unused", { redriveTo: { mode: "exchange" } });
    await sendOne(adapter, config, outbound({ exchange, routingKeys: ["k1", "k2"], queue: "not used" }));
    expect([await depth(a), await depth(b)]).toEqual([1, 1]);
    await sendOne(adapter, { ...config, redriveTo: { mode: "exchange", routingKey: "k2" } }, outbound({ exchange }));
    expect([await depth(a), await depth(b)]).toEqual([1, 2]);
  });

  it.each(["classic", "quorum"])(
    "goes from a retry topology of %s queues to the work queue, past the wait queue, or to every subscriber",
    async (type) => {
      const [exchange, dlx] = [unique("shop"), unique("dlx")];
      const [work, wait, audit, dlq] = ["work", "wait", "audit", "dlq"].map(unique) as [string, string, string, string];
      const of = (args: object) => ({ durable: true, arguments: { "x-queue-type": type, ...args } });
      await channel.assertExchange(exchange, "topic");
      await channel.assertExchange(dlx, "direct");
      await channel.assertQueue(work, of({ "x-dead-letter-exchange": dlx, "x-dead-letter-routing-key": "retry" }));
      const back = { "x-dead-letter-exchange": "", "x-dead-letter-routing-key": work, "x-message-ttl": 20 };
      await channel.assertQueue(wait, of(back));
      for (const queue of [audit, dlq]) await channel.assertQueue(queue, of({}));
      await channel.bindQueue(wait, dlx, "retry");
      for (const queue of [work, audit]) await channel.bindQueue(queue, exchange, "order.placed.#");
      await produceExact(exchange, "order.placed.7", { messageId: "m-1" });
      await take(audit);
      // The consumer fails three times, and then puts the message into the dead-letter queue as it is.
      for (let tries = 0; tries < 2; tries += 1) await rejectNext(work);
      const last = await take(work);
      await produceExact("", dlq, exactOf(last), last.content);
      const letter = await parkOne(adapter, configOf(dlq));
      expect(letter).toMatchObject({ errorCode: "REJECTED", attempts: 2 });
      expect(letter.origin).toMatchObject({ queue: work, exchange, routingKeys: ["order.placed.7"] });
      // A message that passes the wait queue brings its expiry there along.
      await sendOne(adapter, configOf(dlq), backOut(letter));
      expect((exactOf(await take(work)).headers ?? []).map(([name]) => name)).not.toContain("x-death");
      await sendOne(adapter, configOf(dlq, { redriveTo: { mode: "exchange" } }), backOut(letter));
      for (const queue of [work, audit]) {
        const arrived = await take(queue);
        expect(arrived.fields).toMatchObject({ exchange, routingKey: "order.placed.7" });
        expect((exactOf(arrived).headers ?? []).map(([name]) => name)).not.toContain("x-death");
      }
    },
  );

  it("arrives where a relay that republishes x-death loses the message", async () => {
    // orders expires into wait, and wait into the dead-letter queue.
    const [queue, wait, dlq] = [unique("orders"), unique("wait"), unique("dlq")];
    const expiresInto = (next: string) => ({
      arguments: { "x-message-ttl": 1, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": next },
    });
    await channel.assertQueue(queue, expiresInto(wait));
    await channel.assertQueue(wait, expiresInto(dlq));
    await channel.assertQueue(dlq);
    await produceExact("", queue, { messageId: "m-1" }, "first");
    await eventually(() => depth(dlq)).toBe(1);
    const dead = await channel.get(dlq, { noAck: true });
    const properties = exactOf(dead as GetMessage);
    // Up to 3.13 the broker reads the list as its own: the message seems to go round in a circle.
    await produceExact("", queue, properties, "by a naive relay");
    await produceExact("", queue, {}, "after it");
    await eventually(() => depth(dlq)).toBe(major() < 4 ? 1 : 2);
    const bodies = (await takeAll(dlq)).map(({ content }) => content.toString());
    expect(bodies).toEqual(major() < 4 ? ["after it"] : ["by a naive relay", "after it"]);
    await produceExact("", dlq, properties, "by Parkade");
    await sendOne(adapter, configOf(dlq), backOut(await parkOne(adapter, configOf(dlq)), { origin: { queue } }));
    expect((await take(dlq)).content.toString()).toBe("by Parkade");
  });

  it("reads x-last-death of version 4 when a client removed x-death", async (context) => {
    if (major() < 4) return context.skip("written since version 3.13");
    const { queue, dlq } = await queueWithDlq();
    await produceExact("", queue, { messageId: "m-1" });
    await rejectNext(queue);
    const { headers = [], ...rest } = exactOf(await take(dlq));
    const left = headers.filter(([name]) => name !== "x-death" && !name.startsWith("x-first-death"));
    expect(left.map(([name]) => name)).toContain("x-last-death-queue");
    await produceExact("", dlq, { ...rest, headers: left });
    const letter = await parkOne(adapter, configOf(dlq));
    expect(letter).toMatchObject({ errorCode: "REJECTED", origin: { queue, convention: "rabbitmq-x-death" } });
  });

  it.each<[string, Partial<OutboundMessage>, RabbitmqConfig["redriveTo"], string]>([
    ["no origin queue", { origin: { exchange: "x" } }, undefined, "AMQP_NO_ORIGIN_QUEUE"],
    ["no origin exchange", { origin: { queue: "q" } }, { mode: "exchange" }, "AMQP_NO_ORIGIN_EXCHANGE"],
    ["damaged headers", { origin: { queue: "q" }, headers: [["h", "{", "amqp"]] }, undefined, "AMQP_INVALID_MESSAGE"],
    ["properties nobody could read", { origin: { convention: "unreadable" } }, undefined, "AMQP_UNREADABLE"],
  ])("refuses a message with %s before anything is sent", async (_, change, redriveTo, code) => {
    expect(await failure(configOf("unused", { redriveTo }), outbound({}, change))).toMatchObject({ code, sent: "no" });
  });
}

function publishTests(): void {
  let proxy: TcpProxy;
  let config: RabbitmqConfig;
  let queue: string;
  const open: { close(): Promise<void> }[] = [];
  const publisherOf = (change: Partial<RabbitmqConfig> = {}) => {
    const publisher = adapter.publisher({ ...config, ...change });
    open.push(publisher);
    return publisher;
  };

  beforeEach(async () => {
    proxy = await startTcpProxy(rabbit.port);
    queue = (await queueWithDlq()).queue;
    config = { url: `amqp://guest:guest@127.0.0.1:${proxy.port}`, queue: "unused" };
  });
  afterEach(async () => {
    proxy.resume();
    await Promise.all(open.splice(0).map((one) => one.close()));
    await proxy.stop();
  });

  it("counts a returned message as failed, and only that one among many", async () => {
    const publisher = publisherOf();
    const missing = unique("missing");
    const outcomes = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        publisher.publish(outbound({ queue: index % 4 === 0 ? missing : queue }), never).then(
          () => "confirmed",
          (error: PublishError) => `${error.code} ${error.sent}`,
        ),
      ),
    );
    expect(outcomes).toEqual(
      Array.from({ length: 40 }, (_, index) => (index % 4 === 0 ? "AMQP_NO_ROUTE no" : "confirmed")),
    );
    expect(await depth(queue)).toBe(30);
  });

  it("counts a message as failed that a full queue refuses", async () => {
    const full = unique("full");
    await channel.assertQueue(full, { arguments: { "x-max-length": 1, "x-overflow": "reject-publish" } });
    const publisher = publisherOf();
    await publisher.publish(outbound({ queue: full }), never);
    await eventually(() =>
      publisher.publish(outbound({ queue: full }), never).then(
        () => "confirmed",
        (error: PublishError) => `${error.code} ${error.sent}`,
      ),
    ).toBe("AMQP_NACK no");
    expect(await publisher.publish(outbound({ queue }), never)).toEqual({ status: "confirmed" });
  });

  it("does not let a missing exchange harm what else is under way", async () => {
    const publisher = publisherOf({ redriveTo: { mode: "exchange" } });
    const exchange = unique("x");
    await channel.assertExchange(exchange, "fanout");
    await channel.bindQueue(queue, exchange, "");
    const good = () => publisher.publish(outbound({ exchange, routingKeys: [""] }), never);
    const bad = publisher.publish(outbound({ exchange: unique("none"), routingKeys: ["k"] }), never).then(
      () => null,
      (error: PublishError) => error,
    );
    await Promise.all([good(), good(), good()]);
    expect(await bad).toMatchObject({ code: "AMQP_NOT_FOUND", sent: "no" });
    await good();
    expect(await depth(queue)).toBe(4);
    expect(proxy.connections()).toBe(1);
  });

  it("sends more headers than amqplib can, and refuses what no frame holds without losing the connection", async () => {
    const publisher = publisherOf();
    const big = (bytes: number) => outbound({ queue }, { headers: [["big", "x".repeat(bytes)]] });
    await publisher.publish(big(100_000), never);
    const error = await publisher.publish(big(200_000), never).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "AMQP_HEADERS_TOO_LARGE", sent: "no" });
    await publisher.publish(outbound({ queue }), never);
    const [first] = await takeAll(queue);
    expect(headerViewOf(exactOf(first!).headers).text("big")).toHaveLength(100_000);
  });

  it("does not wait for the heartbeat when a connection has gone silent", async () => {
    const publisher = publisherOf();
    await publisher.publish(outbound({ queue }), never);
    proxy.halfOpen();
    const timeout = AbortSignal.timeout(1_200);
    await expect(publisher.publish(outbound({ queue }), timeout)).rejects.toMatchObject({ name: "TimeoutError" });
    expect(await publisher.publish(outbound({ queue }), never)).toEqual({ status: "confirmed" });
  });

  it("reports a broker in alarm as blocked, and goes on when it is over", async () => {
    const publisher = publisherOf();
    await publisher.publish(outbound({ queue }), never);
    await rabbit.ctl("set_vm_memory_high_watermark", "absolute", "1");
    try {
      // The broker looks at its memory once a second. The alarm reaches a connection with its next publish, which hangs
      // until it is over.
      const hanging: Promise<string>[] = [];
      await eventually(async () => {
        const publishing = publisher.publish(outbound({ queue }), never);
        hanging.push(publishing.then(({ status }) => status).catch(({ code }: PublishError) => code));
        return (await publisher.probe(never)).reachable;
      }).toBe(false);
      await expect(publisher.publish(outbound({ queue }), never)).rejects.toMatchObject({
        code: "AMQP_BLOCKED",
        sent: "no",
      });
      await rabbit.ctl("set_vm_memory_high_watermark", "absolute", "512MB");
      expect(await Promise.all(hanging)).toContain("confirmed");
    } finally {
      await rabbit.ctl("set_vm_memory_high_watermark", "absolute", "512MB");
    }
    await eventually(async () => (await publisher.probe(never)).reachable).toBe(true);
  });

  it("warns the dry run that every queue of an exchange gets what is sent there", async () => {
    const exchange = publisherOf({ redriveTo: { mode: "exchange", exchange: "amq.fanout" } });
    const probed = await exchange.probe(never);
    expect(probed).toMatchObject({
      reachable: true,
      detail: expect.stringMatching(/every queue bound to .*amq\.fanout/),
    });
    const missing = publisherOf({ redriveTo: { mode: "exchange", exchange: unique("none") } });
    expect(await missing.probe(never)).toMatchObject({ reachable: false, detail: expect.stringContaining("none") });
  });

  it("tells the depth of a configured queue to the dry run, and that it is missing", async () => {
    await produceExact("", queue, {});
    const to = (name: string) => publisherOf({ redriveTo: { mode: "origin-queue", queue: name } });
    expect(await to(queue).probe(never)).toMatchObject({ reachable: true, depth: 1 });
    expect(await to(unique("none")).probe(never)).toMatchObject({ reachable: false });
  });
}

function consumeTests(): void {
  const running: { stop(): Promise<void> }[] = [];
  const consume = (
    config: Partial<RabbitmqConfig> & { queue: string },
    park: (batch: DeadLetter[]) => Promise<void> = async () => undefined,
  ) => {
    const consumer = consumerOf(adapter, { url: rabbit.url, ...config }, park);
    running.push(consumer);
    return consumer;
  };
  afterEach(async () => {
    await Promise.all(running.splice(0).map((consumer) => consumer.stop()));
  });

  it("says that the queue is missing, creates none, and starts when it appears", async () => {
    const queue = unique("late");
    const consumer = consume({ queue });
    await eventually(() => consumer.state().state).toBe("failing");
    expect(consumer.state().lastError).toContain(`queue ${queue} does not exist`);
    const own = await direct.createChannel();
    own.on("error", () => undefined);
    await expect(own.checkQueue(queue)).rejects.toMatchObject({ code: 404 });
    await channel.assertQueue(queue);
    await eventually(() => consumer.state()).toMatchObject({ state: "running", lastError: null });
  });

  it("asks for a sign of life every ten seconds where the address names no heartbeat", async () => {
    const queue = unique("alive");
    await channel.assertQueue(queue);
    const consumer = consume({ queue });
    await eventually(() => consumer.state().state).toBe("running");
    const connections = await rabbit.ctl("list_connections", "client_properties", "timeout");
    const ours = connections.split("\n").filter((line) => line.includes("parkade"));
    expect(ours).not.toEqual([]);
    for (const line of ours) expect(line.split("\t").at(-1)).toBe("10");
  });

  it("says that the queue was deleted under it", async () => {
    const queue = unique("gone");
    await channel.assertQueue(queue);
    const consumer = consume({ queue });
    await eventually(() => consumer.state().state).toBe("running");
    await channel.deleteQueue(queue);
    await eventually(() => consumer.state().state).toBe("failing");
    expect(consumer.state().lastError).toContain(queue);
  });

  it("says that the login was refused, without the password", async () => {
    const consumer = consume({ queue: "any", url: rabbit.url.replace("guest:guest", "guest:hunter2") });
    await eventually(() => consumer.state().state).toBe("failing");
    expect(consumer.state().lastError).toContain("refuses the login");
    expect(consumer.state().lastError).not.toContain("hunter2");
  });

  it("tells how many wait", async () => {
    const queue = unique("lag");
    await channel.assertQueue(queue);
    for (let n = 0; n < 7; n += 1) channel.sendToQueue(queue, Buffer.from("x"));
    await channel.checkQueue(queue);
    const hold = Promise.withResolvers<void>();
    const consumer = consume({ queue, prefetch: 1 }, () => hold.promise);
    await eventually(() => consumer.state().lag).toBe(7);
    hold.resolve();
  });

  it.each(["classic", "quorum"])(
    "hands out a message of a %s queue again whose acknowledgement was lost, with the same event id",
    async (type) => {
      const dlq = unique("dlq");
      await channel.assertQueue(dlq, { durable: true, arguments: { "x-queue-type": type } });
      const sent = ["with headers", "without headers", "unreadable headers"];
      await produceExact("", dlq, { headers: [["x-tenant", { type: "longstr", value: "eu" }]] }, sent[0]);
      await produceExact("", dlq, {}, sent[1]);
      await produceExact("", dlq, { headers: [["deep", nested(70)]] }, sent[2]);
      const ids = new Map<string, string[]>(sent.map((body) => [body, []]));
      // The first and the second time the connection is gone after the commit and before the acknowledgement.
      for (let time = 1; time <= 3; time += 1) {
        const proxy = await startTcpProxy(rabbit.port);
        const offered = new Set<string>();
        const consumer = consume({ queue: dlq, url: `amqp://guest:guest@127.0.0.1:${proxy.port}` }, async (batch) => {
          for (const letter of batch) {
            const body = Buffer.from(letter.payload).toString();
            if (offered.has(body)) continue;
            offered.add(body);
            ids.get(body)!.push(letter.eventId);
          }
          if (time < 3) await proxy.refuse().then(() => proxy.cut());
        });
        await eventually(() => [...offered].sort()).toEqual([...sent].sort());
        if (time === 3) await eventually(() => rabbit.messages(dlq)).toEqual({ ready: 0, unacknowledged: 0 });
        await consumer.stop();
        await proxy.stop();
      }
      for (const [body, all] of ids) expect([all.length, new Set(all).size], body).toEqual([3, 1]);
      expect(new Set([...ids.values()].flat()).size).toBe(sent.length);
    },
  );

  it("commits each message of a quorum queue under one id, also when its worker is killed before the acknowledgement", async () => {
    const queue = unique("killed");
    await channel.assertQueue(queue, { durable: true, arguments: { "x-queue-type": "quorum" } });
    const confirmed = await direct.createConfirmChannel();
    for (let n = 0; n < 200; n += 1) confirmed.sendToQueue(queue, Buffer.from(`m-${n}`));
    await confirmed.waitForConfirms();
    const config: RabbitmqConfig = { url: rabbit.url, queue };
    // What the killed worker has committed comes again, before or after the others.
    const remaining = (payloads: Buffer[]) =>
      200 - new Set(payloads.map(String)).size + (payloads.length > 200 ? 0 : 1);
    const committed = await readByDyingProcesses("rabbitmq", { config }, "before-acknowledgement", remaining);
    expect(new Set(committed.map(({ eventId }) => eventId)).size).toBe(200);
  });

  it("never lets a quorum queue drop a message because the store was down for long", async () => {
    const queue = unique("quorum");
    await channel.assertQueue(queue, {
      durable: true,
      arguments: { "x-queue-type": "quorum", "x-delivery-limit": 3 },
    });
    await produceExact("", queue, { messageId: "precious" });
    let commits = 0;
    const parked: string[] = [];
    consume({ queue }, async (batch) => {
      commits += 1;
      // More failures than the delivery limit allows returns.
      if (commits <= 7) throw new Error("store is down");
      parked.push(...batch.map((letter) => letter.eventId));
    });
    await eventually(() => parked).toEqual(["precious"]);
  });

  it("reads a large backlog in batches and acknowledges all of it", async () => {
    const queue = unique("backlog");
    await channel.assertQueue(queue);
    for (let n = 0; n < 5_000; n += 1) channel.sendToQueue(queue, Buffer.from(String(n)));
    await channel.checkQueue(queue);
    const seen: string[] = [];
    let largest = 0;
    consume({ queue, prefetch: 200 }, async (batch) => {
      largest = Math.max(largest, batch.length);
      seen.push(...batch.map((letter) => Buffer.from(letter.payload).toString()));
    });
    await eventually(() => seen.length).toBe(5_000);
    expect(seen).toEqual(Array.from({ length: 5_000 }, (_, n) => String(n)));
    expect(largest).toBe(100);
    await eventually(() => rabbit.messages(queue)).toEqual({ ready: 0, unacknowledged: 0 });
  });
}

function streamTests(): void {
  const running: { stop(): Promise<void> }[] = [];
  afterEach(async () => {
    await Promise.all(running.splice(0).map((consumer) => consumer.stop()));
  });
  const publish = async (stream: string, bodies: string[]) => {
    const confirmed = await direct.createConfirmChannel();
    for (const body of bodies) confirmed.sendToQueue(stream, Buffer.from(body));
    await confirmed.waitForConfirms();
    await confirmed.close();
  };
  const numbered = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => `m-${from + n}`);
  const read = (config: Partial<RabbitmqConfig> & { queue: string }, stored = new Map<string, Position>()) => {
    const bodies: string[] = [];
    const letters: DeadLetter[] = [];
    const park = async (batch: DeadLetter[]) => {
      letters.push(...batch);
      bodies.push(...batch.map((letter) => Buffer.from(letter.payload).toString()));
    };
    const consumer = consumerOf(adapter, { url: rabbit.url, ...config }, park, memoryPositions(stored));
    running.push(consumer);
    return { bodies, letters, consumer, stored };
  };

  it("goes on where it ended, and tells what remains", async () => {
    const stream = await makeStream();
    await publish(stream, numbered(0, 20));
    const first = read({ queue: stream });
    await eventually(() => first.bodies).toEqual(numbered(0, 20));
    await first.consumer.stop();
    await publish(stream, numbered(20, 30));
    const second = read({ queue: stream }, first.stored);
    await eventually(() => second.bodies).toEqual(numbered(20, 30));
    await eventually(() => second.consumer.state()).toMatchObject({ state: "running", lag: 0, lastError: null });
  });

  it.each([
    ["an offset", "7", numbered(7, 10)],
    ["a time before all of them", "2020-01-01T00:00:00Z", numbered(0, 10)],
    ["nothing that is there", "next", []],
  ])("begins at %s, as it is told", async (_, streamOffset, expected) => {
    const stream = await makeStream();
    await publish(stream, numbered(0, 10));
    const reading = read({ queue: stream, streamOffset });
    // With `next` the position is stored before there is any message for it.
    if (streamOffset === "next") await eventually(() => reading.stored.get(stream)?.offset).toBe(9n);
    await reading.consumer.stop();
    await publish(stream, ["late"]);
    const again = read({ queue: stream, streamOffset }, reading.stored);
    await eventually(() => again.bodies.at(-1)).toBe("late");
    expect([...new Set([...reading.bodies, ...again.bodies])]).toEqual([...expected, "late"]);
  });

  it("tells how many messages its retention removed unread", async () => {
    const stream = await makeStream({ "x-max-length-bytes": 20_000, "x-stream-max-segment-size-bytes": 10_000 });
    await publish(stream, ["0"]);
    const first = read({ queue: stream });
    await eventually(() => first.bodies).toEqual(["0"]);
    await first.consumer.stop();
    const filler = "x".repeat(1_000);
    await eventually(async () => {
      for (let n = 0; n < 40; n += 1) await publish(stream, [filler]);
      return (await oldestOffset(stream)) > 0n;
    }).toBe(true);
    const second = read({ queue: stream }, first.stored);
    await eventually(() => second.bodies.length).toBeGreaterThan(0);
    const oldest = Number(await oldestOffset(stream));
    expect(second.consumer.state().lastError).toBe(
      `retention removed at most ${oldest - 1} messages of stream ${stream} before they were read: it goes on at offset ${oldest}`,
    );
    expect(second.consumer.state().state).toBe("running");
  });

  it.each([
    ["shorter", 3, /it ends at offset 2, and 9 was read before/],
    ["longer", 15, /offset 9 was read before, and was another message/],
    ["empty", 0, /it is empty, and offset 9 was read before/],
  ])("notices a stream that was made anew, and reads it from its start: %s", async (_, length, says) => {
    const stream = await makeStream();
    await publish(stream, numbered(0, 10));
    const first = read({ queue: stream });
    await eventually(() => first.bodies.length).toBe(10);
    await first.consumer.stop();
    await channel.deleteQueue(stream);
    await channel.assertQueue(stream, { durable: true, arguments: { "x-queue-type": "stream" } });
    const anew = numbered(100, 100 + length);
    await publish(stream, anew);
    const second = read({ queue: stream }, first.stored);
    await expect.poll(() => second.consumer.state().lastError).toMatch(says);
    await publish(stream, ["late"]);
    await eventually(() => second.bodies).toEqual([...anew, "late"]);
  });

  it("says that the stream was deleted under it, and reads the next one of its name from its start", async () => {
    const stream = await makeStream();
    await publish(stream, ["a"]);
    const reading = read({ queue: stream });
    await eventually(() => reading.bodies).toEqual(["a"]);
    await channel.deleteQueue(stream);
    await eventually(() => reading.consumer.state().state).toBe("failing");
    expect(reading.consumer.state().lastError).toContain(stream);
    await channel.assertQueue(stream, { durable: true, arguments: { "x-queue-type": "stream" } });
    await publish(stream, ["b", "c"]);
    await eventually(() => reading.bodies).toEqual(["a", "b", "c"]);
  });

  it("drains to the end that the stream had when the drain began, while more comes", async () => {
    const stream = await makeStream();
    await publish(stream, numbered(0, 500));
    const reading = read({ queue: stream, prefetch: 20 });
    reading.consumer.steer("draining");
    const more = setInterval(() => void publish(stream, ["more"]).catch(() => undefined), 50);
    try {
      await eventually(() => reading.consumer.state().state).toBe("drained");
    } finally {
      clearInterval(more);
    }
    expect(reading.bodies.slice(0, 500)).toEqual(numbered(0, 500));
  });

  it("parks what RabbitMQ itself dead-letters into a stream, and sends it back to the queue it died in", async () => {
    const stream = await makeStream();
    const queue = unique("orders");
    await channel.assertQueue(queue, {
      durable: true,
      arguments: {
        "x-dead-letter-exchange": "",
        "x-dead-letter-routing-key": stream,
        // RabbitMQ before 3.11.14 drops what is dead-lettered into a stream in any other way.
        "x-queue-type": "quorum",
        "x-dead-letter-strategy": "at-least-once",
        "x-overflow": "reject-publish",
      },
    });
    await produceExact("", queue, { messageId: "m-1", contentType: "application/json" });
    await rejectNext(queue);
    const { letters } = read({ queue: stream });
    await eventually(() => letters.length).toBe(1);
    const [letter] = letters;
    expect(letter).toMatchObject({ eventId: "m-1", errorCode: "REJECTED", origin: { queue } });
    await sendOne(adapter, { url: rabbit.url, queue: stream }, backOut(letter!));
    const names = (exactOf(await take(queue)).headers ?? []).map(([name]) => name);
    expect(names.filter((name) => /^x-(death|stream|first|last)/.test(name))).toEqual([]);
    expect(names).toContain("x-redrive-id");
  });

  it("keeps two messages without an id apart, and knows one that is read twice", async () => {
    const stream = await makeStream();
    await publish(stream, ["same", "same"]);
    const first = read({ queue: stream });
    await eventually(() => first.letters.length).toBe(2);
    const again = read({ queue: stream });
    await eventually(() => again.letters.length).toBe(2);
    const ids = first.letters.map(({ eventId }) => eventId);
    expect(new Set(ids).size).toBe(2);
    expect(again.letters.map(({ eventId }) => eventId)).toEqual(ids);
  });

  it("sends a redrive into a stream, confirmed", async () => {
    const stream = await makeStream();
    const config: RabbitmqConfig = {
      url: rabbit.url,
      queue: "unused",
      redriveTo: { mode: "origin-queue", queue: stream },
    };
    expect(await sendOne(adapter, config, outbound({}, { payload: Buffer.from("back") }))).toEqual({
      status: "confirmed",
    });
    const { bodies } = read({ queue: stream });
    await eventually(() => bodies).toEqual(["back"]);
  });

  it("shows its first messages and its depth to a probe, and that there is none", async () => {
    const stream = await makeStream();
    expect(await adapter.probe({ url: rabbit.url, queue: stream }, never)).toMatchObject({ depth: 0, sample: [] });
    await publish(stream, numbered(0, 50));
    const probed = await adapter.probe({ url: rabbit.url, queue: stream, streamOffset: "10" }, never);
    expect(probed).toMatchObject({ reachable: true, depth: 40, detail: expect.stringContaining(`stream ${stream}`) });
    expect(probed.reachable && probed.sample.map(({ message }) => message.payload)).toEqual(numbered(10, 13));
  });

  /** The oldest that retention has left. */
  async function oldestOffset(stream: string): Promise<bigint> {
    let oldest = 0n;
    await peekStream(direct, stream, { start: "first", max: 1, clock: systemClock }, (message) => {
      oldest = offsetOf(message) ?? 0n;
    });
    return oldest;
  }
}

function restartTests(): void {
  it("comes back, and consumer and publisher go on without a loss", async () => {
    const { queue, dlq } = await queueWithDlq();
    await rabbit.storeDefinitions();
    const parked = new Set<string>();
    const config: RabbitmqConfig = { url: rabbit.url, queue: dlq };
    const consumer = consumerOf(adapter, config, async (batch) => {
      for (const letter of batch) parked.add(letter.eventId);
    });
    const publisher = adapter.publisher(config);
    await publisher.publish(outbound({ queue }), never);
    for (const id of ["a", "b"]) await produceExact("", dlq, { messageId: id, deliveryMode: 2 });
    await eventually(() => parked.size).toBe(2);
    await rabbit.kill();
    await eventually(() => consumer.state().state).toBe("failing");
    await expect(publisher.publish(outbound({ queue }), never)).rejects.toMatchObject({ sent: "no" });
    await rabbit.start();
    await openDirect();
    await produceExact("", dlq, { messageId: "c", deliveryMode: 2 });
    await eventually(() => parked.has("c")).toBe(true);
    await publisher.publish(outbound({ queue }), never);
    expect(await depth(queue)).toBe(2);
    await Promise.all([consumer.stop(), publisher.close()]);
  });
}
