import { Consumer, Producer } from "@platformatic/kafka";
import type { Kind } from "@/lib/kinds/kinds";
import { kafkaMissing, makeTopic, testKafka } from "@/lib/testing/kafka";
import { rabbitmqMissing, testRabbitmq } from "@/lib/testing/rabbitmq";

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

/** A broker more is a case more. */
export const BROKER_CASES: readonly BrokerCase[] = [kafka, rabbitmq];
