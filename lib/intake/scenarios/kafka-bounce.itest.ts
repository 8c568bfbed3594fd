import { randomBytes } from "node:crypto";
import { Kafka, logLevel, Partitioners } from "kafkajs";
import { expect, test } from "vitest";
import { describeWith } from "@/lib/testing/describe-with";
import { kafkaMissing, makeTopic } from "@/lib/testing/kafka";
import { openWorld } from "@/lib/testing/redrive-world";
import { shared } from "@/lib/testing/shared-server";

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function int64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(value);
  return bytes;
}

/** A whole worker on a real Kafka, with a consumer that keeps neither the marks of a redrive nor any id. */
describeWith(kafkaMissing, "records of Kafka without an id, whose consumer drops the marks", () => {
  test("that fail again are bounces of their events, by the offset that the receipt of their send holds", async () => {
    const kafka = await shared("kafka");
    const world = await openWorld({ redisUrl: null });
    const [orders, dead] = ["orders", "orders.dlt"].map((name) => `${name}-${randomBytes(4).toString("hex")}`);
    await makeTopic(kafka, orders!, { partitions: 3 });
    await makeTopic(kafka, dead!);
    const client = new Kafka({ brokers: [kafka.bootstrap], logLevel: logLevel.NOTHING });
    const producer = client.producer({ createPartitioner: Partitioners.DefaultPartitioner });
    const consumer = client.consumer({ groupId: `billing-${orders}` });
    try {
      await producer.connect();
      await consumer.connect();
      await consumer.subscribe({ topic: orders!, fromBeginning: true });
      let failing = true;
      const rejected: string[] = [];
      await consumer.run({
        eachMessage: async ({ partition, message }) => {
          if (!failing) return;
          rejected.push(`${orders} [${partition}] offset ${message.offset}`);
          const headers = {
            "kafka_dlt-original-topic": orders!,
            "kafka_dlt-original-partition": int32(partition),
            "kafka_dlt-original-offset": int64(BigInt(message.offset)),
            "kafka_dlt-exception-fqcn": "com.acme.StockException",
            "kafka_dlt-exception-message": "out of stock",
          };
          await producer.send({ topic: dead!, messages: [{ key: message.key, value: message.value, headers }] });
        },
      });
      const sourceId = await world.source("dead");
      const config = { bootstrap: [kafka.bootstrap], topics: [dead] };
      await world.db.run("update sources set kind = 'kafka', config = $2::jsonb where id = $1", [
        sourceId,
        JSON.stringify(config),
      ]);
      await world.worker();
      // A key each: the first bounce of an aggregate would hold its later events.
      const messages = Array.from({ length: 30 }, (_, n) => ({ key: `order-${n}`, value: `{"n":${n % 4}}` }));
      await producer.send({ topic: orders!, messages });
      await expect.poll(world.statuses, { interval: 100 }).toEqual({ PENDING: 30 });
      await world.db.run("update dlq_events set cooldown_until = null");
      const { id } = await world.request({ select: { ids: await world.idsOf() }, brake: null });
      await world.ended(id);
      await expect.poll(async () => (await world.redrive(id)).bounced, { interval: 100 }).toBe(30);
      expect(await world.statuses()).toEqual({ PENDING: 30 });
      expect(new Set(rejected).size).toBe(60);
      failing = false;
      expect(await world.broken()).toEqual([]);
    } finally {
      await consumer.disconnect();
      await producer.disconnect();
      await world.close();
    }
  });
});
