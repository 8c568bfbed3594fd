import { createHmac } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { CreateQueueCommand, ReceiveMessageCommand, SQS } from "@aws-sdk/client-sqs";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect as connectNats, headers as natsHeaders } from "@nats-io/transport-node";
import { Consumer, Producer } from "@platformatic/kafka";
import type { ConfirmChannel } from "amqplib";
import { Redis } from "ioredis";
import { Kafka, logLevel } from "kafkajs";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { confirmProcessed } from "@/lib/kit/inbox/confirm";
import { parkadeServer } from "@/lib/kit/testing/parkade-server";
import { serve } from "@/lib/kit/testing/serve";
import { describeWith } from "@/lib/testing/describe-with";
import { elasticmqMissing } from "@/lib/testing/elasticmq";
import { freePort } from "@/lib/testing/free-port";
import { type KafkaAddress, kafkaMissing, makeTopic } from "@/lib/testing/kafka";
import { natsMissing, type TestNats, testNats } from "@/lib/testing/nats";
import { rabbitmqMissing, type TestRabbitmq, testRabbitmq } from "@/lib/testing/rabbitmq";
import { redisInstalled, type TestRedis, testRedis } from "@/lib/testing/redis";
import { servicePoolOfFile } from "@/lib/testing/service-pool";
import { shared } from "@/lib/testing/shared-server";
import { insertOutbox, type OutboxEvent } from "../insert";
import type { Transport } from "../message";
import { type PublisherObserver, publishDue } from "../publisher";
import { outboxTableSql } from "../table";
import { httpTransport } from "./http";
import { kafkaTransport } from "./kafka";
import { natsTransport } from "./nats";
import { parkadeTransport } from "./parkade";
import { rabbitmqTransport } from "./rabbitmq";
import { redisStreamsTransport } from "./redis-streams";
import { routeTransport } from "./route";
import { fromPublisher } from "./send-each";
import { sqsTransport } from "./sqs";

const table = "shop_outbox";

const pool = servicePoolOfFile(4, outboxTableSql({ table }));
beforeEach(() => pool.query(`truncate ${table} restart identity`));

const AGGREGATES = 4;
const EACH = 6;
/** Ids are `<aggregate>-<n>`. */
function events(destination: string, headers: OutboxEvent["headers"] = [["trace", "t1"]]): OutboxEvent[] {
  return Array.from({ length: AGGREGATES * EACH }, (_, at) => {
    const aggregateId = `a${at % AGGREGATES}`;
    const id = `${aggregateId}-${Math.floor(at / AGGREGATES)}`;
    return { id, aggregateId, eventType: "order.moved", destination, payload: { id, text: "\u20ac" }, headers };
  });
}

type Failure = Parameters<NonNullable<PublisherObserver["failed"]>>[0];
async function publish(transport: Transport, inserted: OutboxEvent | readonly OutboxEvent[]) {
  await insertOutbox(pool, inserted, { table });
  const failures: Failure[] = [];
  const backoff = { kind: "fixed", delayMs: 3_600_000, jitter: { kind: "none" } } as const;
  const observer = { failed: (failure: Failure) => failures.push(failure) };
  const sent = await publishDue({
    pool,
    table,
    transport,
    backoff,
    observer,
    leaseMs: 60_000,
    publishTimeoutMs: 30_000,
  });
  return { sent, failures };
}

/** Each aggregate's ids in their order, whatever stands between. */
function expectAll(ids: readonly (string | undefined)[]): void {
  for (let n = 0; n < AGGREGATES; n++) {
    const own = ids.filter((id) => id?.startsWith(`a${n}-`));
    expect(own).toEqual(Array.from({ length: EACH }, (_, at) => `a${n}-${at}`));
  }
}

describeWith(kafkaMissing, "Kafka", () => {
  let kafka: KafkaAddress;
  let bootstrap: string;
  beforeAll(async () => {
    kafka = await shared("kafka");
    bootstrap = kafka.bootstrap;
  }, 180_000);

  async function read(topic: string, count: number) {
    const consumer = new Consumer({ clientId: "test", bootstrapBrokers: [bootstrap], groupId: `readers-of-${topic}` });
    const stream = await consumer.consume({ topics: [topic], mode: "earliest", maxWaitTime: 200, autocommit: false });
    const records = [];
    for await (const record of stream) if (records.push(record) === count) break;
    await consumer.close(true);
    return records;
  }

  const producers = {
    "@platformatic/kafka": async () => {
      const producer = new Producer({ clientId: "outbox", bootstrapBrokers: [bootstrap], idempotent: true });
      return { producer, close: () => producer.close() };
    },
    kafkajs: async () => {
      const producer = new Kafka({ brokers: [bootstrap], logLevel: logLevel.NOTHING }).producer({ idempotent: true });
      await producer.connect();
      return { producer, close: () => producer.disconnect() };
    },
  };

  test.each(Object.keys(producers) as (keyof typeof producers)[])(
    "by %s: in order, with bytes, key and headers; a record that is refused stops its aggregate alone",
    async (client) => {
      const topic = `outbox-${client.replace(/\W/g, "")}`;
      await makeTopic(kafka, topic, { partitions: 3, config: { "max.message.bytes": "20000" } });
      const { producer, close } = await producers[client]();
      try {
        const raw = new Uint8Array([0, 255]);
        const all = events(topic, [
          ["trace", "t1"],
          ["raw", raw],
          ["trace", "t2"],
        ]);
        const { sent } = await publish(kafkaTransport(producer), all);
        expect(sent).toBe(AGGREGATES * EACH);
        const records = await read(topic, AGGREGATES * EACH);
        const named = (record: (typeof records)[0], name: string) =>
          record.headerEntries.filter(([each]) => each.toString() === name).map(([, value]) => value);
        expectAll(records.map((record) => named(record, "event-id")[0]?.toString()));
        const [first] = records;
        expect(first!.key.toString()).toMatch(/^a\d$/);
        expect(JSON.parse(first!.value.toString()).text).toBe("\u20ac");
        expect(named(first!, "raw")).toEqual([Buffer.from(raw)]);
        expect(named(first!, "trace").map(String)).toEqual(["t1", "t2"]);

        await pool.query(`truncate ${table}`);
        const large = { ...events(topic)[0]!, id: "large", payload: "x".repeat(30_000) };
        const behind = { ...large, id: "behind", payload: "small" };
        const other = { ...large, id: "other", aggregateId: "other", payload: "small" };
        const second = await publish(kafkaTransport(producer), [large, behind, other]);
        expect([second.sent, second.failures.map(({ event }) => event.id)]).toEqual([1, ["large", "behind"]]);
        expect((await pool.query(`select id from ${table} where status = 'SENT'`)).rows).toEqual([{ id: "other" }]);
      } finally {
        await close();
      }
    },
  );

  test("a broker that is away is an outage: no attempt counts", async () => {
    const options = { clientId: "outbox", bootstrapBrokers: ["127.0.0.1:1"], retries: 0, connectTimeout: 500 };
    const producer = new Producer(options);
    await expect(publish(kafkaTransport(producer), events("none"))).rejects.toThrow();
    expect((await pool.query(`select distinct attempts, status from ${table}`)).rows).toEqual([
      { attempts: 0, status: "NEW" },
    ]);
    await producer.close();
  });
});

describeWith(elasticmqMissing, "SQS", () => {
  let client: SQS;
  beforeAll(async () => {
    client = new SQS((await shared("elasticmq")).client);
  }, 180_000);
  afterAll(() => client?.destroy());

  async function receive(QueueUrl: string, count: number) {
    const messages = [];
    while (messages.length < count) {
      const { Messages = [] } = await client.send(
        new ReceiveMessageCommand({
          QueueUrl,
          MaxNumberOfMessages: 10,
          WaitTimeSeconds: 1,
          MessageAttributeNames: ["All"],
          MessageSystemAttributeNames: ["All"],
        }),
      );
      messages.push(...Messages);
      const Entries = Messages.map(({ ReceiptHandle }, at) => ({ Id: String(at), ReceiptHandle: ReceiptHandle! }));
      if (Entries.length > 0) await client.deleteMessageBatch({ QueueUrl, Entries });
    }
    return messages;
  }

  test("FIFO: in order, with group, attributes and deduplication by the event's id", async () => {
    const Attributes = { FifoQueue: "true" };
    const { QueueUrl } = await client.send(new CreateQueueCommand({ QueueName: "outbox.fifo", Attributes }));
    const all = events(QueueUrl!, [
      ["trace", "t1"],
      ["raw", new Uint8Array([255])],
      ["none", null],
    ]);
    expect((await publish(sqsTransport(client), all)).sent).toBe(AGGREGATES * EACH);
    await pool.query(`update ${table} set status = 'NEW' where id = 'a0-0'`);
    expect(await publishDue({ pool, table, transport: sqsTransport(client) })).toBe(1);
    const messages = await receive(QueueUrl!, AGGREGATES * EACH);
    expectAll(messages.map((message) => message.MessageAttributes?.["event-id"]?.StringValue));
    expect(messages[0]!.Attributes?.MessageGroupId).toMatch(/^a\d$/);
    expect(messages[0]!.MessageAttributes?.raw?.BinaryValue).toEqual(new Uint8Array([255]));
    expect(JSON.parse(messages[0]!.Body!).text).toBe("\u20ac");
    const { Messages = [] } = await client.send(new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 1 }));
    expect(Messages).toEqual([]);
  });

  test("bytes go as base64; more attributes than SQS takes fail their event alone; so does a queue that is not there", async () => {
    const { QueueUrl } = await client.send(new CreateQueueCommand({ QueueName: "outbox" }));
    const event = { ...events(QueueUrl!)[0]!, payload: new Uint8Array([0, 255]) };
    const many = Array.from({ length: 10 }, (_, n) => [`h${n}`, "x"] as const);
    const { sent, failures } = await publish(sqsTransport(client), [
      event,
      { ...event, id: "many", aggregateId: "many", headers: many },
      {
        ...event,
        id: "twice",
        aggregateId: "twice",
        headers: [
          ["h", "1"],
          ["h", "2"],
        ],
      },
      { ...event, id: "lost", aggregateId: "lost", destination: `${QueueUrl}-lost` },
    ]);
    expect(sent).toBe(1);
    const said = failures.map(({ event: { id }, final, error }) => [id, final, String(error)]).sort();
    expect(said).toMatchObject([
      ["lost", true, expect.stringMatching(/queue/i)],
      ["many", true, "TypeError: SQS accepts 10 attributes: event many has 12"],
      ["twice", true, "TypeError: SQS accepts each attribute once: header h of event twice occurs twice"],
    ]);
    const [message] = await receive(QueueUrl!, 1);
    expect(message!.Body).toBe("AP8=");
    expect(message!.MessageAttributes?.["content-encoding"]?.StringValue).toBe("base64");
  });
});

describeWith(natsMissing, "NATS JetStream", () => {
  let nats: TestNats;
  beforeAll(async () => {
    nats = await testNats();
  }, 180_000);
  afterAll(() => nats?.stop());

  test("in order, and a repeat within the window is stored once; a subject without a stream fails alone", async () => {
    const connection = await connectNats({ servers: nats.address });
    const manager = await jetstreamManager(connection);
    await manager.streams.add({ name: "ORDERS", subjects: ["orders.>"] });
    const transport = natsTransport({ jetstream: jetstream(connection), headers: natsHeaders });
    expect((await publish(transport, events("orders.moved"))).sent).toBe(AGGREGATES * EACH);
    await pool.query(`update ${table} set status = 'NEW' where id = 'a0-0'`);
    await publishDue({ pool, table, transport });
    const { state } = await manager.streams.info("ORDERS");
    expect(state.messages).toBe(AGGREGATES * EACH);
    const stored = [];
    for (let seq = 1; seq <= state.messages; seq++) stored.push(await manager.streams.getMessage("ORDERS", { seq }));
    expectAll(stored.map((message) => message?.header.get("event-id")));
    expect([stored[0]?.header.get("Nats-Msg-Id"), stored[0]?.header.get("trace")]).toEqual(["a0-0", "t1"]);
    const lost = { ...events("nowhere")[0]!, id: "lost", aggregateId: "lost" };
    const good = { ...events("orders.moved")[0]!, id: "good", aggregateId: "good" };
    const { sent, failures } = await publish(transport, [lost, good]);
    expect([sent, failures.map(({ event }) => event.id)]).toEqual([1, ["lost"]]);
    await connection.close();
  });
});

describeWith(rabbitmqMissing, "RabbitMQ", () => {
  let rabbit: TestRabbitmq;
  beforeAll(async () => {
    rabbit = await testRabbitmq();
  }, 180_000);
  afterAll(() => rabbit?.stop());

  test("in order, persistent, with confirms; what reaches no queue fails alone; a new channel after a lost connection", async () => {
    const connect = async () => {
      const made = await rabbit.connect();
      made.on("error", () => undefined);
      return made;
    };
    let connection = await connect();
    let opened: Promise<ConfirmChannel> | null = null;
    const channel = () => {
      opened ??= connection.createConfirmChannel().then((made) => {
        made.on("error", () => undefined);
        made.on("close", () => {
          opened = null;
        });
        return made;
      });
      return opened;
    };
    const setUp = await channel();
    await setUp.assertQueue("outbox", { durable: true });
    await setUp.assertExchange("shop", "topic");
    await setUp.bindQueue("outbox", "shop", "order.*");
    const transport = rabbitmqTransport(channel);
    expect((await publish(transport, events("shop/order.moved"))).sent).toBe(AGGREGATES * EACH);
    const got = [];
    for (let n = 0; n < AGGREGATES * EACH; n++) got.push(await (await channel()).get("outbox", { noAck: true }));
    expectAll(got.map((message) => (typeof message === "object" ? message.properties.messageId : undefined)));
    expect(got[0]).toMatchObject({ properties: { deliveryMode: 2, type: "order.moved", headers: { trace: "t1" } } });
    const event = events("outbox")[0]!;
    const lost = { ...event, id: "lost", aggregateId: "lost", destination: "shop/nobody" };
    const { sent, failures } = await publish(transport, [lost, { ...event, id: "good", aggregateId: "good" }]);
    expect([sent, failures.map(({ error }) => String(error))]).toEqual([
      1,
      [expect.stringMatching(/no queue is bound for shop\/nobody/)],
    ]);
    await connection.close();
    await expect(publish(transport, { ...event, id: "later", aggregateId: "later" })).rejects.toThrow();
    connection = await connect();
    opened = null;
    expect(await publishDue({ pool, table, transport })).toBe(1);
    await connection.close();
  });
});

describe.skipIf(!redisInstalled)("Redis Streams (skipped without redis-server)", () => {
  let server: TestRedis;
  beforeAll(async () => {
    server = await testRedis();
  });
  afterAll(() => server?.stop());

  test("in order, with the bytes of payload and headers; a key of another type fails alone", async () => {
    const redis = new Redis(server.url);
    await redis.set("text", "x");
    const all = events("orders", [
      ["raw", new Uint8Array([0, 255])],
      ["none", null],
    ]);
    const wrong = { ...all[0]!, id: "wrong", aggregateId: "wrong", destination: "text" };
    const { sent, failures } = await publish(redisStreamsTransport(redis), [...all, wrong]);
    expect([sent, failures.map(({ event }) => event.id)]).toEqual([AGGREGATES * EACH, ["wrong"]]);
    const entries = (await redis.xrangeBuffer("orders", "-", "+")).map(([, fields]) => {
      return Object.fromEntries(
        fields.flatMap((field, at) => (at % 2 === 0 ? [[field.toString(), fields[at + 1]!]] : [])),
      );
    });
    expectAll(entries.map((entry) => entry.id?.toString()));
    expect(Object.keys(entries[0]!)).toEqual(["id", "key", "type", "payload", "h:raw"]);
    expect(entries[0]!["h:raw"]).toEqual(Buffer.from([0, 255]));
    redis.disconnect();
    const gone = new Redis(server.url, { lazyConnect: true, enableOfflineQueue: false });
    gone.on("error", () => undefined);
    await pool.query(`truncate ${table}`);
    await expect(publish(redisStreamsTransport(gone), all)).rejects.toThrow();
  });
});

describe("HTTP", () => {
  type Got = { path: string; headers: IncomingHttpHeaders; body: string };
  async function receiver(answer: (got: Got) => { status: number; headers?: Record<string, string> }) {
    const got: Got[] = [];
    const url = await serve(async (request, response) => {
      const body = Buffer.concat(await request.toArray()).toString();
      got.push({ path: request.url!, headers: request.headers, body });
      const { status, headers } = answer(got.at(-1)!);
      response.writeHead(status, headers).end();
    });
    return { got, url };
  }

  test("in order, with the id as its key, signed by Standard Webhooks", async () => {
    const { got, url } = await receiver(() => ({ status: 204 }));
    const secret = `whsec_${Buffer.from("0123456789abcdef01234567").toString("base64")}`;
    const transport = httpTransport({ url, secret, headers: { authorization: "Bearer t" } });
    expect((await publish(transport, events("/hooks/orders"))).sent).toBe(AGGREGATES * EACH);
    expectAll(got.map(({ headers }) => String(headers["idempotency-key"]).slice(1, -1)));
    const { headers, body, path } = got[0]!;
    expect([path, headers.authorization, headers.trace, headers["content-type"]]).toEqual([
      "/hooks/orders",
      "Bearer t",
      "t1",
      "application/json",
    ]);
    const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
    const expected = createHmac("sha256", "0123456789abcdef01234567").update(signed).digest("base64");
    expect(headers["webhook-signature"]).toBe(`v1,${expected}`);
  });

  test("422 ends the event, 500 counts an attempt, 503 waits as long as it asks and counts none", async () => {
    const { url } = await receiver(({ path }) => ({
      status: Number(path.slice(1)),
      ...(path === "/503" && { headers: { "retry-after": "7200" } }),
    }));
    const [event] = events(url);
    const all = ["422", "500", "503", "200"].map((status) => ({
      ...event!,
      id: status,
      aggregateId: status,
      destination: `${url}/${status}`,
    }));
    await publish(httpTransport(), all);
    const { rows } = await pool.query(
      `select id, status, attempts, available_at > now() + interval '110 minutes' as late from ${table} order by id`,
    );
    expect(rows).toEqual([
      { id: "200", status: "SENT", attempts: 1, late: false },
      { id: "422", status: "FAILED", attempts: 1, late: false },
      { id: "500", status: "NEW", attempts: 1, late: false },
      { id: "503", status: "NEW", attempts: 0, late: true },
    ]);
    const destination = `http://127.0.0.1:${await freePort()}`;
    const gone = { ...event!, id: "gone", aggregateId: "gone", destination };
    await pool.query(`truncate ${table}`);
    await expect(publish(httpTransport(), gone)).rejects.toThrow(/fetch failed/);
  });
});

describe("Parkade", () => {
  test("confirmations reach Parkade in one request for each source and consumer", async () => {
    const parkade = await parkadeServer();
    const confirm = (eventId: string, consumer: string, source = "orders") =>
      confirmProcessed(pool, { source, eventId, consumer }, { table });
    for (let n = 0; n < 30; n++) await confirm(`e${n}`, n % 2 === 0 ? "billing" : "mail");
    await confirm("e0", "billing", "unknown");
    const bad = { id: "bad", aggregateId: "bad", eventType: "x", destination: "parkade:confirm", payload: "no json" };
    const { sent, failures } = await publish(parkadeTransport({ url: parkade.url }), bad);
    expect([sent, parkade.requests()]).toEqual([30, 3]);
    expect(failures.map(({ event, final }) => [event.aggregateId, final]).sort()).toEqual([
      ["bad", true],
      ["unknown/e0", false],
    ]);
    const rows = await parkade.console.deps.db.query<{ consumer: string; n: number }>(
      "select consumer, count(*)::int as n from processed_events group by 1 order by 1",
    );
    expect(rows).toEqual([
      { consumer: "billing", n: 15 },
      { consumer: "mail", n: 15 },
    ]);
    await parkade.stop();
  });

  test.each([400, 403, 404, 422, 502])(
    "a gateway's %d gives up no confirmation: Parkade has not read it",
    async (status) => {
      const url = await serve((request, response) => {
        request.resume();
        response.writeHead(status, { "content-type": "text/html" }).end("<h1>nginx</h1>");
      });
      await confirmProcessed(pool, { source: "orders", eventId: "e1", consumer: "billing" }, { table });
      await expect(publishDue({ pool, table, transport: parkadeTransport({ url }) })).rejects.toThrow(String(status));
      expect((await pool.query(`select status, attempts from ${table}`)).rows).toEqual([
        { status: "NEW", attempts: 0 },
      ]);
    },
  );
});

describe("a route", () => {
  test("chooses by destination; a receiver that is away holds up its own events alone", async () => {
    const got: string[] = [];
    const up = fromPublisher(async ({ id }) => got.push(id));
    const down: Transport = { publishMany: () => Promise.reject(new Error("away")) };
    const [event] = events("x");
    const all = ["up-1", "down-1", "up-2"].map((id) => ({
      ...event!,
      id,
      aggregateId: id,
      destination: id.split("-")[0]!,
    }));
    const { sent, failures } = await publish(
      routeTransport(({ destination }) => (destination === "up" ? up : down)),
      all,
    );
    expect([sent, got, failures.map(({ event: { id }, attempts }) => [id, attempts])]).toEqual([
      2,
      ["up-1", "up-2"],
      [["down-1", 0]],
    ]);
  });
});
