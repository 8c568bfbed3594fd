import { type BaseOptions, Consumer, Producer, stringDeserializers, stringSerializers } from "@platformatic/kafka";
import { afterAll, beforeAll, expect, test } from "vitest";
import { testCertificates } from "./certificates.ts";
import { describeWith } from "./describe-with.ts";
import { kafkaMissing, makeTopic, runShareGroup, type TestKafka, testKafka } from "./kafka.ts";
import { processesOf } from "./server-process.ts";

type Connection = Pick<BaseOptions, "bootstrapBrokers" | "tls" | "sasl">;

/** Sends one record; a wrong password or an unknown authority rejects at once. */
async function send(connection: Connection, topic: string, value: string): Promise<void> {
  const producer = new Producer({ clientId: "test", retries: false, serializers: stringSerializers, ...connection });
  try {
    await producer.send({ messages: [{ topic, key: "k", value }] });
  } finally {
    await producer.close();
  }
}

/** The values of a topic's first `count` records. */
async function read(kafka: TestKafka, topic: string, count: number): Promise<string[]> {
  const options = { clientId: "test", bootstrapBrokers: [kafka.bootstrap], groupId: `readers-of-${topic}` };
  const consumer = new Consumer({ ...options, deserializers: stringDeserializers, sessionTimeout: 6_000 });
  const stream = await consumer.consume({ topics: [topic], mode: "earliest", maxWaitTime: 200, autocommit: false });
  const values: string[] = [];
  for await (const message of stream) if (values.push(message.value!) === count) break;
  await consumer.close(true);
  return values;
}

describeWith(kafkaMissing, "test Kafka", () => {
  const certificates = testCertificates();
  const secured = { certificates, user: "app", password: "s3cret-7" };
  let kafka: TestKafka;
  beforeAll(async () => {
    kafka = await testKafka({ secured });
  });
  afterAll(async () => {
    certificates.remove();
    await kafka?.stop();
  });

  test("keeps its records when killed, and comes back at its address", async () => {
    await makeTopic(kafka, "kept", { config: { "retention.ms": "-1" } });
    await send({ bootstrapBrokers: [kafka.bootstrap] }, "kept", "before");
    await kafka.kill();
    await expect(send({ bootstrapBrokers: [kafka.bootstrap] }, "kept", "meanwhile")).rejects.toThrow();
    await kafka.start();
    // The broker answers before its topics have leaders again.
    const after = () => send({ bootstrapBrokers: [kafka.bootstrap] }, "kept", "after").then(() => "sent", String);
    await expect.poll(after).toBe("sent");
    expect(await read(kafka, "kept", 2)).toEqual(["before", "after"]);
  });

  test("asks for a password over TLS, by two mechanisms", async () => {
    await makeTopic(kafka, "secured");
    const tls = { ca: certificates.ca };
    for (const mechanism of ["PLAIN", "SCRAM-SHA-512"] as const) {
      const bootstrapBrokers = [kafka.securedBootstrap!];
      const sasl = { mechanism, username: secured.user, password: secured.password };
      await send({ bootstrapBrokers, tls, sasl }, "secured", mechanism);
      await expect(send({ bootstrapBrokers, tls, sasl: { ...sasl, password: "x" } }, "secured", "x")).rejects.toThrow();
      const unknown = { ca: certificates.otherCa };
      await expect(send({ bootstrapBrokers, tls: unknown, sasl }, "secured", "x")).rejects.toThrow();
    }
    expect(await read(kafka, "secured", 2)).toEqual(["PLAIN", "SCRAM-SHA-512"]);
  });

  test.each([
    { acknowledgement: "REJECT" as const, deliveries: 1 },
    { acknowledgement: "RELEASE" as const, deliveries: 2 },
  ])(
    "writes a dead letter for a share group's $acknowledgement",
    async ({ acknowledgement, deliveries }) => {
      const topic = `shared-${acknowledgement}`;
      const deadLetterTopic = `dlq.${topic}` as const;
      await makeTopic(kafka, topic);
      await send({ bootstrapBrokers: [kafka.bootstrap] }, topic, "unreadable");
      await runShareGroup(kafka, {
        topic,
        group: `g-${topic}`,
        deadLetterTopic,
        acknowledgement,
        deliveryLimit: 2,
        deliveries,
      });
      expect(await read(kafka, deadLetterTopic, 1)).toEqual(["unreadable"]);
    },
    120_000,
  );

  test("leaves no process when it is stopped", async () => {
    const other = await testKafka();
    expect(processesOf(other.folder)).not.toEqual([]);
    await other.stop();
    expect(processesOf(other.folder)).toEqual([]);
  }, 180_000);
});
