import { AckPolicy, jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect, headers as natsHeaders } from "@nats-io/transport-node";
import { Consumer, Producer } from "@platformatic/kafka";
import { Redis } from "ioredis";
import type { Kind } from "@/lib/brokers/kinds/kinds.shapes";
import { kafkaMissing, makeTopic, testKafka } from "@/lib/testing/kafka";
import { natsMissing, testNats } from "@/lib/testing/nats";
import { rabbitmqMissing, testRabbitmq } from "@/lib/testing/rabbitmq";
import { redisInstalled, testRedis } from "@/lib/testing/redis";

/** One broker with a dead-letter queue that is filled, and the queue that a redrive delivers to. */
export type RunningBroker = {
  config: Record<string, unknown>;
  /** Puts that many small dead letters where the source reads. */
  produce(count: number): Promise<void>;
  /** Reads that many by the broker's client alone, and acknowledges nothing. Messages a second. */
  readBare(count: number): Promise<number>;
  /** How many messages a redrive has delivered. */
  delivered(): Promise<number>;
  stop(): Promise<void>;
};

export type BrokerCase = {
  kind: Kind;
  /** Null, or why the broker cannot be had here. */
  missing: string | null;
  aimPerSecond: number | null;
  /** What its server holds here unacknowledged. */
  messagesMax: number;
  start(): Promise<RunningBroker>;
};

const BODY = (n: number) => Buffer.from(`{"orderId": ${n}, "currency": "EUR", "lines": "${"x".repeat(150)}"}`);
const STACK = "com.acme.StockException: no answer\n\tat com.acme.Stock.reserve(Stock.java:42)";
const PARTITIONS = 6;
const CHUNK = 1_000;

function int64(n: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(n));
  return bytes;
}

const kafka: BrokerCase = {
  kind: "kafka",
  missing: kafkaMissing,
  aimPerSecond: 8_000,
  messagesMax: Number.POSITIVE_INFINITY,
  start: async () => {
    const broker = await testKafka();
    for (const topic of ["orders", "orders.DLT"]) await makeTopic(broker, topic, { partitions: PARTITIONS });
    const client = { clientId: "bench", bootstrapBrokers: [broker.bootstrap], retries: 5 };
    const producer = new Producer(client);
    let made = 0;
    const letter = (n: number) => ({
      topic: "orders.DLT",
      partition: n % PARTITIONS,
      key: Buffer.from(`order-${n % 5_000}`),
      value: BODY(n),
      headers: new Map([
        [Buffer.from("event-id"), Buffer.from(`event-${n}`)],
        [Buffer.from("kafka_dlt-original-topic"), Buffer.from("orders")],
        [Buffer.from("kafka_dlt-original-offset"), int64(n)],
        [Buffer.from("kafka_dlt-exception-fqcn"), Buffer.from("com.acme.StockException")],
        [Buffer.from("kafka_dlt-exception-message"), Buffer.from("no answer")],
        [Buffer.from("kafka_dlt-exception-stacktrace"), Buffer.from(STACK)],
      ]),
    });
    return {
      config: { bootstrap: [broker.bootstrap], topics: ["orders.DLT"] },
      produce: async (count) => {
        for (const until = made + count; made < until; made += CHUNK)
          await producer.send({
            messages: Array.from({ length: Math.min(CHUNK, until - made) }, (_, n) => letter(made + n)),
          });
      },
      readBare: async (count) => {
        const consumer = new Consumer({ ...client, groupId: "bare" });
        const stream = await consumer.consume({
          topics: ["orders.DLT"],
          mode: "earliest",
          autocommit: false,
          maxBytes: 1_048_576,
          maxWaitTime: 200,
        });
        const startMs = performance.now();
        let seen = 0;
        for await (const _ of stream) {
          seen += 1;
          if (seen === count) break;
        }
        const perSecond = count / ((performance.now() - startMs) / 1000);
        await consumer.close(true);
        return perSecond;
      },
      delivered: async () => {
        const consumer = new Consumer({ ...client, groupId: "count" });
        try {
          const offsets = await consumer.listOffsets({ topics: ["orders"] });
          return Number(offsets.get("orders")!.reduce((sum, offset) => sum + offset, 0n));
        } finally {
          await consumer.close(true);
        }
      },
      stop: async () => {
        await producer.close();
        await broker.stop();
      },
    };
  },
};

const rabbitmq: BrokerCase = {
  kind: "rabbitmq",
  missing: rabbitmqMissing,
  aimPerSecond: 6_000,
  messagesMax: 100_000,
  start: async () => {
    const broker = await testRabbitmq();
    const connection = await broker.connect();
    const channel = await connection.createConfirmChannel();
    for (const queue of ["orders", "orders.dlq"]) await channel.assertQueue(queue, { durable: true });
    let made = 0;
    return {
      config: { url: broker.url, queue: "orders.dlq", redriveTo: { queue: "orders" } },
      produce: async (count) => {
        for (const until = made + count; made < until; ) {
          for (let n = 0; n < CHUNK && made < until; n += 1, made += 1)
            channel.sendToQueue("orders.dlq", BODY(made), {
              persistent: true,
              contentType: "application/json",
              messageId: `event-${made}`,
              headers: {
                "x-error-type": "com.acme.StockException",
                "x-error-message": "no answer",
                "x-error-stack": STACK,
              },
            });
          await channel.waitForConfirms();
        }
      },
      readBare: async (count) => {
        // What is not acknowledged goes back when the channel closes.
        const reading = await connection.createChannel();
        const all = Promise.withResolvers<void>();
        let seen = 0;
        const startMs = performance.now();
        await reading.consume("orders.dlq", () => {
          seen += 1;
          if (seen === count) all.resolve();
        });
        await all.promise;
        const perSecond = count / ((performance.now() - startMs) / 1000);
        await reading.close();
        return perSecond;
      },
      delivered: async () => (await channel.checkQueue("orders")).messageCount,
      stop: async () => {
        await connection.close();
        await broker.stop();
      },
    };
  },
};

const nats: BrokerCase = {
  kind: "nats",
  missing: natsMissing,
  aimPerSecond: null,
  messagesMax: 100_000,
  start: async () => {
    const broker = await testNats();
    const connection = await connect({ servers: broker.address });
    const jsm = await jetstreamManager(connection);
    const js = jetstream(connection);
    for (const name of ["ORDERS", "ORDERS_DLQ"]) await jsm.streams.add({ name, subjects: [name.toLowerCase()] });
    let made = 0;
    return {
      config: { servers: [broker.address], stream: "ORDERS_DLQ", redriveTo: { subject: "orders" } },
      produce: async (count) => {
        for (const until = made + count; made < until; ) {
          const sent: Promise<unknown>[] = [];
          for (; sent.length < CHUNK && made < until; made += 1) {
            const headers = natsHeaders();
            headers.set("event-id", `event-${made}`);
            headers.set("x-error-type", "com.acme.StockException");
            headers.set("x-error-message", "no answer");
            sent.push(js.publish("orders_dlq", BODY(made), { headers }));
          }
          await Promise.all(sent);
        }
      },
      readBare: async (count) => {
        await jsm.consumers.add("ORDERS_DLQ", { durable_name: "bare", ack_policy: AckPolicy.None });
        const messages = await (await js.consumers.get("ORDERS_DLQ", "bare")).consume({ max_messages: 500 });
        const startMs = performance.now();
        let seen = 0;
        for await (const _ of messages) {
          seen += 1;
          if (seen === count) break;
        }
        const perSecond = count / ((performance.now() - startMs) / 1000);
        await jsm.consumers.delete("ORDERS_DLQ", "bare");
        return perSecond;
      },
      delivered: async () => (await jsm.streams.info("ORDERS")).state.messages,
      stop: async () => {
        await connection.close();
        await broker.stop();
      },
    };
  },
};

const redisStream: BrokerCase = {
  kind: "redis-stream",
  missing: redisInstalled ? null : "redis-server is not installed",
  aimPerSecond: null,
  // The server keeps a stream in memory, some 500 bytes an entry.
  messagesMax: 500_000,
  start: async () => {
    const broker = await testRedis();
    const redis = new Redis(broker.url);
    let made = 0;
    // An empty stream: a redrive does not make a missing one.
    await redis.xadd("orders", "*", "payload", "{}");
    await redis.xtrim("orders", "MAXLEN", 0);
    return {
      config: { url: broker.url, stream: "orders.dlq", read: "stream", redriveTo: { stream: "orders" } },
      produce: async (count) => {
        for (const until = made + count; made < until; ) {
          const entries = redis.pipeline();
          for (let n = 0; n < CHUNK && made < until; n += 1, made += 1)
            entries.xadd(
              "orders.dlq",
              "*",
              ...["payload", BODY(made), "event-id", `event-${made}`, "content-type", "application/json"],
              ...["x-error-type", "com.acme.StockException", "x-error-message", "no answer", "x-error-stack", STACK],
            );
          await entries.exec();
        }
      },
      readBare: async (count) => {
        await redis.xgroup("CREATE", "orders.dlq", "bare", "0");
        const startMs = performance.now();
        for (let seen = 0; seen < count; ) {
          const from = ["GROUP", "bare", "one", "COUNT", CHUNK, "STREAMS", "orders.dlq", ">"];
          const [, entries] = (await redis.callBuffer("XREADGROUP", ...from)) as [Buffer, unknown[]];
          seen += entries.length;
        }
        const perSecond = count / ((performance.now() - startMs) / 1000);
        await redis.xgroup("DESTROY", "orders.dlq", "bare");
        return perSecond;
      },
      delivered: () => redis.xlen("orders"),
      stop: async () => {
        redis.disconnect();
        await broker.stop();
      },
    };
  },
};

/** A broker more is a case more. */
export const BROKER_CASES: readonly BrokerCase[] = [kafka, rabbitmq, redisStream, nats];
