import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import {
  AclOperations,
  AclPermissionTypes,
  Admin,
  Producer,
  ResourcePatternTypes,
  ResourceTypes,
} from "@platformatic/kafka";
import { Kafka, logLevel, Partitioners } from "kafkajs";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import {
  type Arrived,
  type BrokerHarness,
  consumerOf,
  describeBroker,
  type ExactMessage,
  eventually,
  outbound,
} from "@/lib/brokers/broker.conformance";
import { kafkaAdapter } from "@/lib/brokers/kafka/adapter";
import { clusterFacts } from "@/lib/brokers/kafka/client";
import { fetchFrom } from "@/lib/brokers/kafka/fetch";
import type { KafkaConfig } from "@/lib/brokers/kafka/kind.shapes";
import { type KafkaRecord, recordsOf } from "@/lib/brokers/kafka/record-batch";
import { UNPACKED_BYTES_MAX } from "@/lib/brokers/kafka/unpack";
import { ParkLoop } from "@/lib/brokers/park-loop";
import type { PublishError } from "@/lib/brokers/port";
import { memoryPositions } from "@/lib/brokers/testing/positions";
import type { ReadingChild } from "@/lib/brokers/testing/reading-child";
import type { DeadLetter } from "@/lib/intake/dead-letter.pure";
import { systemClock } from "@/lib/platform/clock";
import { testCertificates } from "@/lib/testing/certificates";
import { describeWith } from "@/lib/testing/describe-with";
import { kafkaMissing, makeTopic, runShareGroup, type TestKafka, testKafka } from "@/lib/testing/kafka";
import { manualClock } from "@/lib/testing/manual-clock";
import { program } from "@/lib/testing/programs";
import { startTcpProxy, type TcpProxy } from "@/lib/testing/tcp-proxy";

const never = new AbortController().signal;
const deps = { clock: systemClock, random: () => 0 };
const adapter = kafkaAdapter(deps);
let kafka: TestKafka;
let proxy: TcpProxy;
/** Straight to the broker, for setting up and looking on. */
let admin: Admin;
let producer: Producer;

const unique = (name: string) => `${name}-${randomBytes(4).toString("hex")}`;

type Sent = { value?: Buffer; key?: Buffer; partition?: number; headers?: [Buffer, Buffer | null][] };

async function send(topic: string, ...records: Sent[]): Promise<void> {
  await producer.send({
    messages: records.map(({ headers, ...rest }) => ({
      topic,
      ...rest,
      ...(headers === undefined ? {} : { headers: new Map(headers) as Map<Buffer, Buffer> }),
    })),
  });
}

/** The committed records of a partition from an offset on. */
async function recordsFrom(topic: string, partition = 0, offset = 0n): Promise<KafkaRecord[]> {
  const { topics, brokers } = await clusterFacts(admin, [topic]);
  const from = { topic, topicId: topics[0]!.id, partition, offset };
  const [fetched] = await fetchFrom(admin, brokers.get(topics[0]!.leaders[partition]!)!, [from], {
    maxBytes: 10_000_000,
    maxWaitMs: 50,
  });
  return (fetched?.batches ?? []).flatMap(recordsOf).filter((record) => record.offset >= offset);
}

async function endOffset(topic: string, partition = 0): Promise<bigint> {
  const [listed] = await admin.listOffsets({
    topics: [{ name: topic, partitions: [{ partitionIndex: partition, timestamp: -1n }] }],
  });
  return listed!.partitions[0]!.offset;
}

async function committed(groupId: string, topic: string): Promise<Map<number, bigint>> {
  const [group] = await admin.listConsumerGroupOffsets({ groups: [groupId] });
  const found = group?.topics.find(({ name }) => name === topic)?.partitions ?? [];
  return new Map(found.map(({ partitionIndex, committedOffset }) => [partitionIndex, committedOffset]));
}

function headersOf(record: KafkaRecord): Record<string, string> {
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
const DENIED = "denied";

function secured(
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

async function makeHarness(): Promise<BrokerHarness<KafkaConfig>> {
  const [topic, groupId] = [unique("orders"), unique("parkade.test")];
  const dlt = `${topic}.DLT`;
  await makeTopic(kafka, topic);
  await makeTopic(kafka, dlt);
  const config: KafkaConfig = { bootstrap: [`127.0.0.1:${proxy.port}`], topics: [dlt], groupId };
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
          /answers with TLS|closed the connection without an answer: check/,
        ],
        [
          "TLS towards a plain listener",
          { ...config, encrypt: true },
          /closed the connection without an answer: check/,
        ],
        [
          "a login where none is asked for",
          { ...config, sasl: { mechanism: "PLAIN", username: "parkade", password: "hunter2" } },
          /takes no login on this port/,
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

describeWith(kafkaMissing, "kafka", () => {
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

  describeBroker<KafkaConfig>("kafka", makeHarness);
  describe("what is never parked, and what always is", () => readTests());
  describe("a consumer group", () => groupTests());
  describe("publishing to Kafka", () => publishTests());
  describe("dead letters that refer to a record", () => referenceTests());
  // Last: they take the broker down.
  describe("a broker that dies", () => downTests());
});

const consumers: { stop(): Promise<void> }[] = [];
const publishers: { close(): Promise<void> }[] = [];

/** Ends what a test has started, in whatever state. */
function endAfterEach(): void {
  afterEach(async () => {
    await Promise.all(consumers.splice(0).map((consumer) => consumer.stop()));
    await Promise.all(publishers.splice(0).map((publisher) => publisher.close()));
  });
}

function read(change: Partial<KafkaConfig> & { topics: string[] }, park: (batch: DeadLetter[]) => Promise<void>) {
  const config = { bootstrap: [kafka.bootstrap], groupId: unique("parkade.test"), ...change };
  const consumer = consumerOf(adapter, config, park);
  consumers.push(consumer);
  return { consumer, config };
}

/** Collects what is parked. */
function parking() {
  const parked: DeadLetter[] = [];
  return { parked, park: async (batch: DeadLetter[]) => void parked.push(...batch) };
}

const bodies = (letters: readonly DeadLetter[]) => letters.map(({ payload }) => Buffer.from(payload).toString());

function publisherTo(change: Partial<KafkaConfig> = {}) {
  const publisher = adapter.publisher({ bootstrap: [kafka.bootstrap], topics: ["unused"], ...change });
  publishers.push(publisher);
  return publisher;
}

const failure = (work: Promise<unknown>) =>
  work.then(
    () => Promise.reject(new Error("expected a failure")),
    (error: PublishError) => error,
  );

function readTests(): void {
  endAfterEach();

  it("parks no record of an aborted transaction, as kafkajs reads none", async () => {
    const topic = unique("tx");
    await makeTopic(kafka, topic);
    const reference = new Kafka({ brokers: [kafka.bootstrap], logLevel: logLevel.NOTHING });
    const inTransaction = reference.producer({ transactionalId: topic, maxInFlightRequests: 1, idempotent: true });
    await inTransaction.connect();
    const transaction = async (value: string, end: "commit" | "abort") => {
      const tx = await inTransaction.transaction();
      await tx.send({ topic, messages: [{ value }, { value: `${value}-more` }] });
      await tx[end]();
    };
    // Several aborts of one producer, so that a filter by producer alone forgets all but the last.
    for (const [value, end] of [
      ["a1", "abort"],
      ["c1", "commit"],
      ["a2", "abort"],
      ["a3", "abort"],
      ["c2", "commit"],
    ] as const) {
      await transaction(value, end);
      await send(topic, { value: Buffer.from(`plain-after-${value}`) });
    }
    const { parked, park } = parking();
    const { config } = read({ topics: [topic] }, park);
    const committedOnes = ["c1", "c1-more", "c2", "c2-more"];
    const plain = ["a1", "c1", "a2", "a3", "c2"].map((value) => `plain-after-${value}`);
    await eventually(() => bodies(parked).sort()).toEqual([...committedOnes, ...plain].sort());
    // One that is open while the reader is at it, and then aborted: its marker comes in a later fetch than its records.
    const open = await inTransaction.transaction();
    await open.send({ topic, messages: [{ value: "open-then-aborted" }] });
    await send(topic, { value: Buffer.from("behind the open one") });
    await open.abort();
    await eventually(() => bodies(parked).at(-1)).toBe("behind the open one");
    expect(bodies(parked)).not.toContain("open-then-aborted");
    // The group's offset stands behind the last marker too.
    const end = await endOffset(topic);
    await eventually(async () => (await committed(config.groupId, topic)).get(0)).toBe(end);

    const seen: string[] = [];
    const consumer = reference.consumer({ groupId: unique("reference"), readUncommitted: false });
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    await consumer.run({ eachMessage: async ({ message }) => void seen.push(message.value!.toString()) });
    await eventually(() => seen.length).toBe(parked.length);
    expect(seen.sort()).toEqual(bodies(parked).sort());
    await Promise.all([consumer.disconnect(), inTransaction.disconnect()]);
  });

  it.each(["none", "gzip", "snappy", "lz4", "zstd"] as const)("reads batches in %s", async (compression) => {
    const topic = unique("packed");
    await makeTopic(kafka, topic);
    const values = Array.from({ length: 200 }, (_, n) => `value-${n}-${"x".repeat(50)}`);
    await producer.send({ messages: values.map((value) => ({ topic, value: Buffer.from(value) })), compression });
    const { parked, park } = parking();
    read({ topics: [topic] }, park);
    await eventually(() => bodies(parked)).toEqual(values);
  });

  it("takes the broker's time where the topic has it", async () => {
    const topic = unique("appended");
    await makeTopic(kafka, topic, { config: { "message.timestamp.type": "LogAppendTime" } });
    await producer.send({ messages: [{ topic, value: Buffer.from("x"), timestamp: 1_000n }] });
    const { parked, park } = parking();
    read({ topics: [topic] }, park);
    await eventually(() => parked.length).toBe(1);
    const { timestampMs } = parked[0]!.origin.properties as { timestampMs: number };
    expect(Math.abs(timestampMs - systemClock.wallMs())).toBeLessThan(600_000);
  });

  it("brings a header name back that is no UTF-8", async () => {
    const topic = unique("names");
    await makeTopic(kafka, topic);
    const name = Buffer.from([0xff, 0x00, 0x41]);
    await send(topic, { value: Buffer.from("x"), headers: [[name, Buffer.from("v")]] });
    const { parked, park } = parking();
    read({ topics: [topic] }, park);
    await eventually(() => parked.length).toBe(1);
    const [letter] = parked;
    await publisherTo().publish(outbound({ ...letter!.origin, topic }, { headers: letter!.headers }), never);
    const [, sent] = await recordsFrom(topic);
    expect(sent!.headers[0]).toEqual([name, Buffer.from("v")]);
  });

  it("finds a topic that appears while it reads, and starts again when one was deleted and made again", async () => {
    const prefix = unique("late");
    const { parked, park } = parking();
    const { consumer } = read({ topics: [`${prefix}.*.DLT`] }, park);
    await eventually(() => consumer.state().state).toBe("running");
    await makeTopic(kafka, `${prefix}.a.DLT`);
    await makeTopic(kafka, `${prefix}.a`);
    await send(`${prefix}.a.DLT`, { value: Buffer.from("first") });
    await send(`${prefix}.a`, { value: Buffer.from("no dead letter") });
    await eventually(() => bodies(parked)).toEqual(["first"]);
    await admin.deleteTopics({ topics: [`${prefix}.a.DLT`] });
    await eventually(() => consumer.state().parts).toEqual([]);
    await makeTopic(kafka, `${prefix}.a.DLT`);
    await send(`${prefix}.a.DLT`, { value: Buffer.from("second") });
    await eventually(() => bodies(parked)).toEqual(["first", "second"]);
    // Both had offset 0 of one name.
    expect(new Set(parked.map(({ eventId }) => eventId)).size).toBe(2);
  });

  it("says that a named topic is gone, and goes on when it is there again", async () => {
    const topic = unique("gone");
    await makeTopic(kafka, topic);
    const { parked, park } = parking();
    const { consumer } = read({ topics: [topic] }, park);
    await eventually(() => consumer.state().state).toBe("running");
    await admin.deleteTopics({ topics: [topic] });
    await eventually(() => consumer.state().state).toBe("failing");
    expect(consumer.state().lastError).toContain(`topic ${topic} does not exist`);
    await makeTopic(kafka, topic);
    await send(topic, { value: Buffer.from("again") });
    await eventually(() => bodies(parked)).toEqual(["again"]);
  });

  it("reads only what comes after its first start when it starts from the latest", async () => {
    const topic = unique("latest");
    await makeTopic(kafka, topic);
    await send(topic, { value: Buffer.from("old") });
    const { parked, park } = parking();
    const { consumer, config } = read({ topics: [topic], startFrom: "latest" }, park);
    await eventually(async () => (await committed(config.groupId, topic)).get(0)).toBe(1n);
    await consumer.stop();
    await send(topic, { value: Buffer.from("while stopped") });
    read({ ...config, startFrom: "latest" }, park);
    await eventually(() => bodies(parked)).toEqual(["while stopped"]);
  });
}

function groupTests(): void {
  endAfterEach();

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

  it("loses nothing when its only worker is killed in mid-drain, and repeats no more than the batch in hand", async () => {
    const topic = unique("killed");
    await makeTopic(kafka, topic, { partitions: 3 });
    const values = Array.from({ length: 6_000 }, (_, n) => `${n}`);
    await send(topic, ...values.map((value, n) => ({ value: Buffer.from(value), partition: n % 3 })));
    const folder = mkdtempSync(join(tmpdir(), "parkade-kafka-"));
    const file = join(folder, "stored");
    writeFileSync(file, "");
    const config = { bootstrap: [kafka.bootstrap], topics: [topic], groupId: unique("parkade.test"), batchSize: 50 };
    const start = () => {
      const task: ReadingChild = { kind: "kafka", config, file, dies: "never" };
      return spawn(process.execPath, [program("reading-child"), JSON.stringify(task)], { stdio: "ignore" });
    };
    const stored = () => readFileSync(file, "utf8").split("\n").filter(Boolean);
    const first = start();
    // Without a wait between two looks, so that the drain is not over before the kill.
    while (stored().length < 500 && first.exitCode === null) await setImmediate();
    first.kill("SIGKILL");
    await once(first, "exit");
    const before = stored().length;
    const second = start();
    try {
      await expect
        .poll(async () => [...(await committed(config.groupId, topic)).values()].reduce((sum, one) => sum + one, 0n), {
          timeout: 60_000,
          interval: 100,
        })
        .toBe(BigInt(values.length));
    } finally {
      second.kill("SIGTERM");
      await once(second, "exit");
    }
    const all = stored().map((line) => Buffer.from(line.split(" ")[0]!, "base64").toString());
    rmSync(folder, { recursive: true, force: true });
    expect(before).toBeLessThan(values.length);
    expect([...new Set(all)].sort()).toEqual([...values].sort());
    expect(all.length - values.length).toBeLessThanOrEqual(2 * config.batchSize);
  });

  it("is refused when an application uses it, which keeps its partitions", async () => {
    const topic = unique("shared");
    await makeTopic(kafka, topic, { partitions: 2 });
    const groupId = unique("app");
    const application = new Kafka({ brokers: [kafka.bootstrap], clientId: "billing", logLevel: logLevel.NOTHING });
    const theirs = application.consumer({ groupId });
    await theirs.connect();
    await theirs.subscribe({ topic, fromBeginning: true });
    const got: string[] = [];
    let rebalances = 0;
    theirs.on(theirs.events.GROUP_JOIN, () => {
      rebalances += 1;
    });
    await theirs.run({ eachMessage: async ({ message }) => void got.push(message.value!.toString()) });
    await eventually(() => rebalances).toBe(1);
    const { parked, park } = parking();
    const { consumer, config } = read({ topics: [topic], groupId }, park);
    await eventually(() => consumer.state().state).toBe("failing");
    expect(consumer.state().lastError).toContain(`group ${groupId} is used by an application (client billing`);
    expect(await adapter.probe(config, never)).toMatchObject({
      reachable: false,
      detail: expect.stringContaining("is used by an application"),
    });
    await send(topic, ...[0, 1].map((partition) => ({ value: Buffer.from(`to-${partition}`), partition })));
    await eventually(() => got.sort()).toEqual(["to-0", "to-1"]);
    expect(parked).toEqual([]);
    expect(rebalances).toBe(1);
    await theirs.disconnect();
    expect(await adapter.probe(config, never)).toMatchObject({ reachable: true });
  });

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

  it("is refused when another source of Parkade reads with it, and the probe names that source", async () => {
    const topic = unique("both");
    await makeTopic(kafka, topic);
    const groupId = unique("group");
    const { consumer: first, config } = read({ topics: [topic], groupId }, parking().park);
    await eventually(() => first.state().state).toBe("running");
    await eventually(async () => (await adapter.probe(config, never)).detail).toContain(
      `group ${groupId} is read by source conformance of Parkade`,
    );
    const second = new ParkLoop(adapter.reader!(config, "another", memoryPositions()), parking().park, {
      ...deps,
      report: () => undefined,
    });
    await eventually(() => second.state().lastError).toBe(
      `group ${groupId} is read by source conformance of Parkade: give this source a group of its own`,
    );
    await second.stop();
    expect(first.state().state).toBe("running");
  });

  it("says that its pattern matches no topic, and reads one that appears", async () => {
    const name = unique("later");
    const { parked, park } = parking();
    const { consumer } = read({ topics: [`${name}.*`] }, park);
    await eventually(() => consumer.state().lastError).toBe(`no topic that may be read matches ${name}.*`);
    await makeTopic(kafka, `${name}.dlt`);
    await send(`${name}.dlt`, { value: Buffer.from("first") });
    await eventually(() => parked.length).toBe(1);
  });

  it("tells the lag of each partition, and how much lies there without joining", async () => {
    const topic = unique("lag");
    await makeTopic(kafka, topic, { partitions: 2 });
    await send(topic, ...[0, 0, 0, 1, 1].map((partition) => ({ value: Buffer.from("x"), partition })));
    const config = { bootstrap: [kafka.bootstrap], topics: [topic] };
    const probed = await adapter.probe(config, never);
    expect(probed).toMatchObject({ reachable: true, depth: 5 });
    expect(probed.detail).toContain("5 messages over 2 partitions; generic headers found");
    const hold = Promise.withResolvers<void>();
    const { consumer } = read(config, () => hold.promise);
    await eventually(() => consumer.state()).toMatchObject({
      lag: 5,
      parts: [
        { name: `${topic} [0]`, lag: 3 },
        { name: `${topic} [1]`, lag: 2 },
      ],
    });
    hold.resolve();
    await eventually(() => consumer.state()).toMatchObject({
      lag: 0,
      parts: [
        { name: `${topic} [0]`, parked: 3, setAside: 0 },
        { name: `${topic} [1]`, parked: 2, setAside: 0 },
      ],
    });
  });
}

function publishTests(): void {
  endAfterEach();

  it("chooses the partition of a key as Java and kafkajs do", async () => {
    const [ours, theirs] = [unique("ours"), unique("theirs")];
    for (const topic of [ours, theirs]) await makeTopic(kafka, topic, { partitions: 6 });
    // The first byte makes each key different: a record that stands twice in `ours` was sent twice.
    const keys = Array.from({ length: 100 }, (_, index) => Buffer.from([index, ...randomBytes(index % 20)]));
    const publisher = publisherTo();
    await Promise.all(
      keys.map((key) =>
        publisher.publish(
          outbound({ topic: ours, partition: 5, key: key.toString("base64") }, { payload: key }),
          never,
        ),
      ),
    );
    const reference = new Kafka({ brokers: [kafka.bootstrap], logLevel: logLevel.NOTHING });
    const java = reference.producer({ createPartitioner: Partitioners.DefaultPartitioner });
    await java.connect();
    await java.send({ topic: theirs, messages: keys.map((key) => ({ key, value: key })) });
    await java.disconnect();
    const placed = async (topic: string) => {
      const lists = await Promise.all(Array.from({ length: 6 }, (_, partition) => recordsFrom(topic, partition)));
      return lists.map((list) => list.map(({ value }) => value!.toString("hex")).sort());
    };
    // kafkajs sends a request again of which a part failed, as for a topic that was just made.
    const expected = (await placed(theirs)).map((values) => [...new Set(values)]);
    expect(await placed(ours)).toEqual(expected);
  });

  it("sends a record without a key to its origin partition, and any record there on request", async () => {
    const topic = unique("origin");
    await makeTopic(kafka, topic, { partitions: 6 });
    await publisherTo().publish(outbound({ topic, partition: 4, key: null }), never);
    const byOrigin = publisherTo({ redriveTo: { partition: "origin" } });
    await byOrigin.publish(outbound({ topic, partition: 4, key: Buffer.from("k").toString("base64") }), never);
    expect(await recordsFrom(topic, 4)).toHaveLength(2);
    expect(await failure(byOrigin.publish(outbound({ topic, partition: 9, key: null }), never))).toMatchObject({
      code: "KAFKA_UNKNOWN_PARTITION",
      sent: "no",
    });
  });

  it("says of a record that it was not sent when it was behind a part without an answer", async () => {
    const topic = unique("parts");
    await makeTopic(kafka, topic, { partitions: 2 });
    const clock = manualClock();
    const publisher = kafkaAdapter({ clock, random: () => 0 }).publisher({
      bootstrap: [`127.0.0.1:${proxy.port}`],
      topics: ["unused"],
    });
    const to = (partition: number) => outbound({ topic, partition, key: null }, { payload: Buffer.alloc(600_000) });
    await publisher.publish(to(0), never);
    proxy.stall("toClient");
    // Two of one partition do not fit one part: the second one opens another, with the record of the other partition.
    const sends = [0, 0, 1].map((partition) => failure(publisher.publish(to(partition), never)));
    await eventually(() => clock.pending()).toBe(1);
    await clock.advance(10_000);
    expect(await Promise.all(sends)).toMatchObject([{ sent: "maybe" }, { sent: "no" }, { sent: "no" }]);
    proxy.resume();
    await publisher.close();
  });

  it("fails the one record that is too large, and sends its neighbours in their order", async () => {
    const topic = unique("small");
    await makeTopic(kafka, topic, { config: { "max.message.bytes": "5000" } });
    const publisher = publisherTo();
    const sizes = [100, 200, 9_000, 300];
    const outcomes = await Promise.allSettled(
      sizes.map((size) => publisher.publish(outbound({ topic }, { payload: Buffer.alloc(size) }), never)),
    );
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
    expect((outcomes[2] as PromiseRejectedResult).reason).toMatchObject({
      code: "KAFKA_MESSAGE_TOO_LARGE",
      sent: "no",
    });
    expect((await recordsFrom(topic)).map(({ value }) => value!.length)).toEqual([100, 200, 300]);
  });

  it("says that WRITE is missing", async () => {
    const { bootstrap, ...rest } = secured({ bootstrap: [], topics: ["unused"] });
    const publisher = publisherTo({ ...rest, bootstrap });
    const error = await failure(publisher.publish(outbound({ topic: DENIED }), never));
    expect(error).toMatchObject({ code: "KAFKA_TOPIC_AUTHORIZATION_FAILED", sent: "no" });
    expect(error.message).toContain("allow WRITE");
  });
}

function referenceTests(): void {
  endAfterEach();

  it.each([true, false])("brings the record of a share group back with its own headers (copied: %s)", async (copy) => {
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
    if (copy) expect((await publisher.publish(gone, never)).status).toContain("its original headers are gone");
    else
      expect(await failure(publisher.publish(gone, never))).toMatchObject({
        code: "KAFKA_ORIGINAL_GONE",
        sent: "no",
      });
  });
}

function downTests(): void {
  endAfterEach();

  it("keeps the order of each key when it is killed in mid-redrive", async () => {
    const topic = unique("ordered");
    await makeTopic(kafka, topic, { partitions: 3 });
    const publisher = publisherTo();
    const keys = Array.from({ length: 30 }, (_, n) => `key-${n}`);
    let sent = 0;
    const half = Promise.withResolvers<void>();
    // As the engine does: the next of a key goes when the one before it has arrived, however often it is repeated.
    const redriving = keys.map(async (key) => {
      for (let n = 0; n < 40; n += 1) {
        const message = outbound(
          { topic, key: Buffer.from(key).toString("base64") },
          { payload: Buffer.from(`${key}:${n}`) },
        );
        for (;;) {
          const error = await publisher.publish(message, never).then(
            () => null,
            (cause: unknown) => cause,
          );
          if (error === null) break;
          await systemClock.sleep(100, never);
        }
        sent += 1;
        if (sent === 300) half.resolve();
      }
    });
    await half.promise;
    await kafka.kill();
    await kafka.start();
    await Promise.all(redriving);
    const lists = await Promise.all([0, 1, 2].map((partition) => recordsFrom(topic, partition)));
    for (const key of keys) {
      const arrived = lists.flat().flatMap(({ value }) => {
        const [name, n] = value!.toString().split(":");
        return name === key ? [Number(n)] : [];
      });
      // A record whose answer was lost may be there twice, never behind its successor.
      expect([...new Set(arrived)]).toEqual(Array.from({ length: 40 }, (_, n) => n));
      expect(arrived).toEqual([...arrived].sort((a, b) => a - b));
    }
  });

  it("keeps the order of sending also where nobody waits for an answer", async () => {
    const topic = unique("stream");
    await makeTopic(kafka, topic);
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
    const topic = unique("bomb");
    await makeTopic(kafka, topic);
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
    expect(await failure(publisherTo().publish(refers, never))).toMatchObject({ code: "KAFKA_UNREADABLE", sent: "no" });
    await eventually(async () => (await committed(config.groupId, topic)).get(0)).toBe(2n);
  });

  it("parks a batch whole that rotted on its disk, and its neighbours as they are", async () => {
    const topic = unique("rotten");
    await makeTopic(kafka, topic);
    for (const value of ["before", "rotten", "after"]) await send(topic, { value: Buffer.from(value) });
    await kafka.kill("SIGTERM");
    const log = join(kafka.folder, "log", `${topic}-0`, "00000000000000000000.log");
    const bytes = readFileSync(log);
    bytes.write("ROTTEN", bytes.indexOf("rotten"));
    writeFileSync(log, bytes);
    await kafka.start();
    const { parked, park } = parking();
    const { config } = read({ topics: [topic] }, park);
    await eventually(() => parked.length).toBe(3);
    expect(parked.map(({ origin }) => origin.convention)).toEqual(["generic", "unreadable", "generic"]);
    expect(parked[1]!.error.message).toContain(`record batch 1 to 1 of ${topic} [0]: the checksum is wrong`);
    expect(Buffer.from(parked[1]!.payload).includes("ROTTEN")).toBe(true);
    expect(await failure(publisherTo().publish(outbound({ ...parked[1]!.origin, topic }), never))).toMatchObject({
      code: "KAFKA_UNREADABLE",
    });
    await eventually(async () => (await committed(config.groupId, topic)).get(0)).toBe(3n);
  });
}
