import { randomBytes } from "node:crypto";
import {
  AclOperations,
  AclPermissionTypes,
  Admin,
  Producer,
  ResourcePatternTypes,
  ResourceTypes,
} from "@platformatic/kafka";
import { afterAll, afterEach, beforeAll } from "vitest";
import { type Arrived, type BrokerHarness, consumerOf, type ExactMessage } from "@/lib/brokers/broker.conformance";
import { kafkaAdapter } from "@/lib/brokers/kafka/adapter";
import { clusterFacts } from "@/lib/brokers/kafka/client";
import { fetchFrom } from "@/lib/brokers/kafka/fetch";
import type { KafkaConfig } from "@/lib/brokers/kafka/kind.shapes";
import { type KafkaRecord, recordsOf } from "@/lib/brokers/kafka/record-batch";
import type { Adapter, PublishError } from "@/lib/brokers/port";
import { type Clock, systemClock } from "@/lib/platform/clock";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import { testCertificates } from "@/lib/testing/certificates";
import { makeTopic, type TestKafka, testKafka } from "@/lib/testing/kafka";
import { startTcpProxy, type TcpProxy } from "@/lib/testing/tcp-proxy";

export const never = new AbortController().signal;
export const deps = { clock: systemClock, random: () => 0 };
export const adapter = kafkaAdapter(deps);
/** Gives a send up within two seconds. */
export const impatientAdapter = kafkaAdapter({ ...deps, sendMs: 2_000 });
/** Sleeps a tenth: topics are looked up, and lags are read, each second and half a second. */
const hurriedClock: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(ms / 10, signal) };
const hurriedAdapter = kafkaAdapter({ ...deps, clock: hurriedClock });
export let kafka: TestKafka;
export let proxy: TcpProxy;
/** Straight to the broker, for setting up and looking on. */
export let admin: Admin;
export let producer: Producer;

export const unique = (name: string) => `${name}-${randomBytes(4).toString("hex")}`;

/** A topic that no other test has. */
export async function newTopic(name: string, settings?: Parameters<typeof makeTopic>[2]): Promise<string> {
  const topic = unique(name);
  await makeTopic(kafka, topic, settings);
  return topic;
}

type Sent = { value?: Buffer; key?: Buffer; partition?: number; headers?: [Buffer, Buffer | null][] };

export async function send(topic: string, ...records: Sent[]): Promise<void> {
  await producer.send({
    messages: records.map(({ headers, ...rest }) => ({
      topic,
      ...rest,
      ...(headers === undefined ? {} : { headers: new Map(headers) as Map<Buffer, Buffer> }),
    })),
  });
}

/** The committed records of a partition from an offset on. */
export async function recordsFrom(topic: string, partition = 0, offset = 0n): Promise<KafkaRecord[]> {
  const { topics, brokers } = await clusterFacts(admin, [topic]);
  const from = { topic, topicId: topics[0]!.id, partition, offset };
  const [fetched] = await fetchFrom(admin, brokers.get(topics[0]!.leaders[partition]!)!, [from], {
    maxBytes: 10_000_000,
    maxWaitMs: 50,
  });
  return (fetched?.batches ?? []).flatMap(recordsOf).filter((record) => record.offset >= offset);
}

export async function endOffset(topic: string, partition = 0): Promise<bigint> {
  const [listed] = await admin.listOffsets({
    topics: [{ name: topic, partitions: [{ partitionIndex: partition, timestamp: -1n }] }],
  });
  return listed!.partitions[0]!.offset;
}

export async function committed(groupId: string, topic: string): Promise<Map<number, bigint>> {
  const [group] = await admin.listConsumerGroupOffsets({ groups: [groupId] });
  const found = group?.topics.find(({ name }) => name === topic)?.partitions ?? [];
  return new Map(found.map(({ partitionIndex, committedOffset }) => [partitionIndex, committedOffset]));
}

export function headersOf(record: KafkaRecord): Record<string, string> {
  return Object.fromEntries(
    record.headers.map(([name, value]) => [name.toString().toLowerCase(), value?.toString() ?? ""]),
  );
}

let refused = false;

/** The one proxy that the broker announces; each test gets it open and without connections. */
async function cleanProxy(): Promise<TcpProxy> {
  if (refused) await proxy.accept();
  refused = false;
  return {
    ...proxy,
    refuse: async () => {
      refused = true;
      await proxy.refuse();
    },
    accept: async () => {
      refused = false;
      await proxy.accept();
    },
    stop: async () => proxy.cut(),
  };
}

const certificates = testCertificates();
const LOGIN = { user: "app", password: "s3cret-7" };
/** A topic and a group that the user may not READ. */
export const DENIED = "denied";

export function secured(
  config: KafkaConfig,
  change: Partial<NonNullable<KafkaConfig["sasl"]>> = {},
  ca = certificates.ca,
): KafkaConfig {
  const sasl = { mechanism: "PLAIN" as const, username: LOGIN.user, password: LOGIN.password, ...change };
  return { ...config, bootstrap: [kafka.securedBootstrap!], tls: { ca }, sasl };
}

/** Allows DESCRIBE alone. */
async function denyRead(): Promise<void> {
  await makeTopic(kafka, DENIED);
  const creations = [ResourceTypes.TOPIC, ResourceTypes.GROUP].map((resourceType) => ({
    resourceType,
    resourceName: DENIED,
    resourcePatternType: ResourcePatternTypes.LITERAL,
    principal: `User:${LOGIN.user}`,
    host: "*",
    operation: AclOperations.DESCRIBE,
    permissionType: AclPermissionTypes.ALLOW,
  }));
  await admin.createAcls({ creations });
}

function sentOf({ key, body, headers }: ExactMessage): Sent {
  return {
    partition: 0,
    ...(key === null ? {} : { key }),
    ...(body === null ? {} : { value: body }),
    headers: headers.map(([name, value]) => [Buffer.from(name), value]),
  };
}

export async function makeHarness(adapter: Adapter<KafkaConfig>): Promise<BrokerHarness<KafkaConfig>> {
  const [topic, groupId] = [unique("orders"), unique("parkade.test")];
  const dlt = `${topic}.DLT`;
  await makeTopic(kafka, topic);
  await makeTopic(kafka, dlt);
  const config: KafkaConfig = { bootstrap: [`127.0.0.1:${proxy.port}`], topics: [dlt], groupId, batchSize: 500 };
  let read = 0n;
  const arrived = async (): Promise<Arrived[]> => {
    const records = await recordsFrom(topic, 0, read);
    read = (records.at(-1)?.offset ?? read - 1n) + 1n;
    return records.map((record) => {
      const headers = headersOf(record);
      return { body: record.value!, contentType: headers["content-type"] ?? null, headers };
    });
  };
  return {
    adapter,
    config,
    refusing: { ...config, redriveTo: { topic: unique("no-such-topic"), partition: "key" } },
    proxy: await cleanProxy(),
    origin: { topic, partition: 0 },
    arrived,
    produce: (bodies) => send(dlt, ...bodies.map((body) => ({ value: Buffer.from(body), partition: 0 }))),
    remaining: async () => Number((await endOffset(dlt)) - ((await committed(groupId, dlt)).get(0) ?? 0n)),
    keepsPosition: true,
    leases: true,
    exact: {
      carries: {
        keys: true,
        absentBody: true,
        emptyBody: true,
        binaryBody: true,
        nullHeaders: true,
        duplicateHeaders: true,
        binaryHeaders: true,
      },
      produceExact: (messages) => send(dlt, ...messages.map(sentOf)),
      arrivedExact: async () => {
        const records = await recordsFrom(topic, 0, read);
        read = (records.at(-1)?.offset ?? read - 1n) + 1n;
        return records.map(({ key, value, headers }) => ({
          key,
          body: value,
          headers: headers.map(([name, content]) => [name.toString(), content]),
        }));
      },
      bounce: (message) => send(dlt, sentOf(message)),
      restart: async () => {
        await kafka.kill();
        await kafka.start();
      },
      misconfigured: [
        ["a topic that is not there", { ...config, topics: ["not-there"] }, /topic not-there does not exist/],
        [
          "a wrong password",
          secured(config, { password: "hunter2" }),
          /refuses the user or the password \(SASL PLAIN\)/,
        ],
        ["another mechanism", secured(config, { mechanism: "SCRAM-SHA-256" }), /does not offer SASL SCRAM-SHA-256/],
        [
          "a password without a login",
          { ...config, bootstrap: [kafka.securedBootstrap!] },
          /requires TLS|closed the connection without an answer: check/,
        ],
        [
          "TLS towards a plain listener",
          { ...config, encrypt: true },
          /closed the connection without an answer: check/,
        ],
        [
          "a login where none is asked for",
          { ...config, sasl: { mechanism: "PLAIN", username: "parkade", password: "hunter2" } },
          /accepts no login on this port/,
        ],
        ["a topic that may not be read", secured({ ...config, topics: [DENIED] }), /READ (on )?topic denied/],
        ["a group that may not be joined", secured({ ...config, groupId: DENIED }), /READ (on )?(the consumer )?group/],
      ],
      tls: {
        good: secured(config),
        refused: [
          ["an unknown authority", secured(config, {}, certificates.otherCa), /certificate of .* is not trusted/],
          [
            "a certificate for another name",
            { ...secured(config), tls: { ca: certificates.ca, servername: "kafka.invalid" } },
            /certificate of .* is for another name/,
          ],
        ],
      },
    },
    stop: async () => proxy.cut(),
  };
}

/** Ends what a test has started, in whatever state. */
export function endAfterEach(): void {
  afterEach(async () => {
    await Promise.all(consumers.splice(0).map((consumer) => consumer.stop()));
    await Promise.all(publishers.splice(0).map((publisher) => publisher.close()));
  });
}

export function read(
  change: Partial<KafkaConfig> & { topics: string[] },
  park: (batch: DeadLetter[]) => Promise<void>,
) {
  const config = { bootstrap: [kafka.bootstrap], groupId: unique("parkade.test"), ...change };
  const consumer = consumerOf(hurriedAdapter, config, park, hurriedClock);
  consumers.push(consumer);
  return { consumer, config };
}

/** Collects what is parked. */
export function parking() {
  const parked: DeadLetter[] = [];
  return { parked, park: async (batch: DeadLetter[]) => void parked.push(...batch) };
}

export const bodies = (letters: readonly DeadLetter[]) => letters.map(({ payload }) => Buffer.from(payload).toString());

export function publisherTo(change: Partial<KafkaConfig> = {}) {
  const publisher = adapter.publisher({ bootstrap: [kafka.bootstrap], topics: ["unused"], ...change });
  publishers.push(publisher);
  return publisher;
}

export const failure = (work: Promise<unknown>) =>
  work.then(
    () => Promise.reject(new Error("expected a failure")),
    (error: PublishError) => error,
  );

const consumers: { stop(): Promise<void> }[] = [];

const publishers: { close(): Promise<void> }[] = [];

/** Starts Kafka for the suite at hand. */
export function onKafka(): void {
  beforeAll(async () => {
    kafka = await testKafka({
      secured: { certificates, ...LOGIN },
      advertise: async (port) => {
        proxy = await startTcpProxy(port);
        return proxy.port;
      },
    });
    const direct = { clientId: "test", bootstrapBrokers: [kafka.bootstrap], retries: 20, retryDelay: 250 };
    admin = new Admin(direct);
    // Idempotent: a repeat after a partition of a new topic was not ready yet must not write the others twice.
    producer = new Producer({ ...direct, idempotent: true });
    await denyRead();
  }, 180_000);
  afterAll(async () => {
    await Promise.all([admin?.close(), producer?.close()]);
    await proxy?.stop();
    await kafka?.stop();
    certificates.remove();
  });
}
