import { Kafka, logLevel } from "kafkajs";
import { describe, expect, it } from "vitest";
import { describeBrokerOutages, eventually, outbound } from "@/lib/brokers/broker.conformance";
import type { KafkaConfig } from "@/lib/brokers/kafka/kind.shapes";
import {
  adapter,
  admin,
  bodies,
  committed,
  endAfterEach,
  failure,
  headersOf,
  kafka,
  makeHarness,
  never,
  newTopic,
  onKafka,
  parking,
  producer,
  publisherTo,
  read,
  recordsFrom,
  send,
  unique,
} from "@/lib/brokers/kafka/testing/kafka-broker";
import { UNPACKED_BYTES_MAX } from "@/lib/brokers/kafka/unpack";
import { systemClock } from "@/lib/platform/clock";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import { describeWith } from "@/lib/testing/describe-with";
import { kafkaMissing, makeTopic, runShareGroup } from "@/lib/testing/kafka";

describeWith(kafkaMissing, "kafka", () => {
  onKafka();

  describeBrokerOutages<KafkaConfig>("kafka", () => makeHarness(adapter));

  describe("a consumer group", () => {
    endAfterEach();

    it("is refused when a stopped application left offsets of other topics in it, by the probe too", async () => {
      const [topic, orders] = [unique("dead"), unique("orders")];
      await makeTopic(kafka, topic);
      await makeTopic(kafka, orders);
      const groupId = unique("app");
      const application = new Kafka({ brokers: [kafka.bootstrap], clientId: "billing", logLevel: logLevel.NOTHING });
      const theirs = application.admin();
      await theirs.connect();
      await theirs.setOffsets({ groupId, topic: orders, partitions: [{ partition: 0, offset: "0" }] });
      await theirs.disconnect();
      const { consumer, config } = read({ topics: [topic], groupId }, parking().park);
      const says = `group ${groupId} is used by an application (it has offsets of topic ${orders}`;
      await eventually(() => consumer.state().lastError).toContain(says);
      expect(await adapter.probe(config, never)).toMatchObject({
        reachable: false,
        detail: expect.stringContaining(says),
      });
    });

    it("moves no offset back and loses nothing while a second worker joins and leaves", async () => {
      const topic = unique("balanced");
      const partitions = 4;
      await makeTopic(kafka, topic, { partitions });
      const values = Array.from({ length: 12_000 }, (_, n) => `${n}`);
      await send(topic, ...values.map((value, n) => ({ value: Buffer.from(value), partition: n % partitions })));
      const seen: string[] = [];
      // Small batches that take a moment: a rebalance finds some of them in hand.
      const slow = async (batch: DeadLetter[]) => {
        await systemClock.sleep(20, never);
        seen.push(...bodies(batch));
      };
      const { config } = read({ topics: [topic], batchSize: 25 }, slow);
      const highest = new Map<number, bigint>();
      const back: string[] = [];
      const watch = async () => {
        for (const [partition, offset] of await committed(config.groupId, topic)) {
          const before = highest.get(partition) ?? 0n;
          if (offset < before) back.push(`${partition}: ${before} to ${offset}`);
          highest.set(partition, offset);
        }
      };
      for (const turn of [1, 2]) {
        await eventually(() => seen.length).toBeGreaterThan(300 * turn);
        const { consumer: second } = read(config, slow);
        await eventually(async () => {
          await watch();
          return second.state().parts.length;
        }).toBe(partitions / 2);
        await eventually(async () => {
          await watch();
          return second.state().parked;
        }).toBeGreaterThan(100);
        await second.stop();
      }
      await eventually(async () => {
        await watch();
        return [...highest.values()].reduce((sum, offset) => sum + offset, 0n);
      }).toBe(BigInt(values.length));
      expect(back).toEqual([]);
      expect([...new Set(seen)].sort()).toEqual([...values].sort());
      // Only what was in hand at a rebalance comes twice.
      expect(seen.length - values.length).toBeLessThan(25 * 2 * partitions * 4);
    });
  });

  describe("dead letters that refer to a record", () => {
    endAfterEach();

    it.each([true, false])(
      "brings the record of a share group back with its own headers (copied: %s)",
      async (copy) => {
        const topic = unique("shared");
        const dlq = `dlq.${topic}` as const;
        await makeTopic(kafka, topic);
        await send(topic, {
          value: Buffer.from("body"),
          key: Buffer.from("k"),
          headers: [[Buffer.from("tenant"), Buffer.from("eu")]],
        });
        const share = { acknowledgement: "REJECT", deliveryLimit: 2, deliveries: 1, copy } as const;
        await runShareGroup(kafka, { ...share, topic, group: unique("share"), deadLetterTopic: dlq });
        const { parked, park } = parking();
        read({ topics: [dlq] }, park);
        await eventually(() => parked.length).toBe(1);
        const letter = parked[0]!;
        expect(letter.origin).toMatchObject({ convention: "kafka-share-group", topic, partition: 0, offset: "0" });
        expect(letter.origin.payload).toBe(copy ? undefined : "reference-only");
        const again = outbound(letter.origin, {
          headers: letter.headers,
          payload: letter.payload,
          contentType: letter.contentType,
        });
        const publisher = publisherTo();
        await publisher.publish(again, never);
        const [, redriven] = await recordsFrom(topic);
        expect([redriven!.key!.toString(), redriven!.value!.toString()]).toEqual(["k", "body"]);
        expect(headersOf(redriven!)).toMatchObject({ tenant: "eu" });
        expect(Object.keys(headersOf(redriven!)).filter((name) => name.startsWith("__dlq"))).toEqual([]);
        // Retention has removed the record.
        await admin.deleteRecords({ topics: [{ name: topic, partitions: [{ partition: 0, offset: 1n }] }] });
        const gone = { ...again, attempt: 2 };
        if (copy) expect((await publisher.publish(gone, never)).status).toContain("its original headers are lost");
        else
          expect(await failure(publisher.publish(gone, never))).toMatchObject({
            code: "KAFKA_ORIGINAL_GONE",
            sent: "no",
          });
      },
    );
  });

  // Last: they take the broker down.
  describe("a broker that dies", () => {
    endAfterEach();

    it("keeps the order of sending also where nobody waits for an answer", async () => {
      const topic = await newTopic("stream");
      const publisher = publisherTo();
      const key = Buffer.from("one key").toString("base64");
      const sending: Promise<unknown>[] = [];
      const wave = async () => {
        for (let n = 0; n < 25; n += 1) {
          const payload = Buffer.from(String(sending.length));
          // One that fails stays away: the order of the others is looked at.
          sending.push(publisher.publish(outbound({ topic, key }, { payload }), never).catch(() => null));
        }
        await systemClock.sleep(20, never);
      };
      for (let n = 0; n < 10; n += 1) await wave();
      let down = true;
      const outage = kafka
        .kill()
        .then(() => kafka.start())
        .finally(() => {
          down = false;
        });
      while (down) await wave();
      for (let n = 0; n < 10; n += 1) await wave();
      await Promise.all([outage, ...sending]);
      const arrived = [...new Set((await recordsFrom(topic)).map(({ value }) => Number(value)))];
      expect(arrived.length).toBeGreaterThan(250);
      expect(arrived).toEqual([...arrived].sort((a, b) => a - b));
    });

    it("parks a batch packed that is too large when unpacked, and reads on behind it", async () => {
      const topic = await newTopic("bomb");
      const zeros = Buffer.alloc(2 * UNPACKED_BYTES_MAX);
      await producer.send({ messages: [{ topic, value: zeros }], compression: "gzip" });
      await send(topic, { value: Buffer.from("after") });
      const { parked, park } = parking();
      const { config } = read({ topics: [topic] }, park);
      await eventually(() => parked.length).toBe(2);
      expect(parked.map(({ origin }) => origin.convention)).toEqual(["unreadable", "generic"]);
      expect(parked[0]!.error.message).toContain(
        `record batch 0 to 0 of ${topic} [0]: it is larger than 67108864 bytes when unpacked`,
      );
      expect(parked[0]!.payload.byteLength).toBeLessThan(1_000_000);
      // A dead letter whose headers lie in that record fails by itself: its target is there.
      const refers = outbound({ topic, partition: 0, offset: "0", headersAtSource: true });
      expect(await failure(publisherTo().publish(refers, never))).toMatchObject({
        code: "KAFKA_UNREADABLE",
        sent: "no",
      });
      await eventually(async () => (await committed(config.groupId, topic)).get(0)).toBe(2n);
    });
  });
});
