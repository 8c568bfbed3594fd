import { randomBytes } from "node:crypto";
import { Kafka, logLevel, Partitioners } from "kafkajs";
import { describe, expect, it } from "vitest";
import { describeBroker, eventually, outbound } from "@/lib/brokers/broker.conformance";
import { kafkaAdapter } from "@/lib/brokers/kafka/adapter";
import type { KafkaConfig } from "@/lib/brokers/kafka/kind.shapes";
import {
  adapter,
  admin,
  bodies,
  committed,
  DENIED,
  deps,
  endAfterEach,
  endOffset,
  failure,
  impatientAdapter,
  kafka,
  makeHarness,
  never,
  newTopic,
  onKafka,
  parking,
  producer,
  proxy,
  publisherTo,
  read,
  recordsFrom,
  secured,
  send,
  unique,
} from "@/lib/brokers/kafka/testing/kafka-broker";
import { ParkLoop } from "@/lib/brokers/park-loop";
import { systemClock } from "@/lib/platform/clock";
import { describeWith } from "@/lib/testing/describe-with";
import { kafkaMissing, makeTopic } from "@/lib/testing/kafka";
import { manualClock } from "@/lib/testing/manual-clock";

describeWith(kafkaMissing, "kafka", () => {
  onKafka();

  describeBroker<KafkaConfig>("kafka", () => makeHarness(impatientAdapter));
  describe("what is never parked, and what always is", () => readTests());
  describe("a consumer group", () => groupTests());
  describe("publishing to Kafka", () => publishTests());
});

function readTests(): void {
  endAfterEach();

  it("parks no record of an aborted transaction, as kafkajs reads none", async () => {
    const topic = await newTopic("tx");
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
    const topic = await newTopic("packed");
    const values = Array.from({ length: 200 }, (_, n) => `value-${n}-${"x".repeat(50)}`);
    await producer.send({ messages: values.map((value) => ({ topic, value: Buffer.from(value) })), compression });
    const { parked, park } = parking();
    read({ topics: [topic] }, park);
    await eventually(() => bodies(parked)).toEqual(values);
  });

  it("takes the broker's time where the topic has it", async () => {
    const topic = await newTopic("appended", { config: { "message.timestamp.type": "LogAppendTime" } });
    await producer.send({ messages: [{ topic, value: Buffer.from("x"), timestamp: 1_000n }] });
    const { parked, park } = parking();
    read({ topics: [topic] }, park);
    await eventually(() => parked.length).toBe(1);
    const { timestampMs } = parked[0]!.origin.properties as { timestampMs: number };
    expect(Math.abs(timestampMs - systemClock.wallMs())).toBeLessThan(600_000);
  });

  it("brings a header name back that is no UTF-8", async () => {
    const topic = await newTopic("names");
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

  it("says that its pattern matches no topic, finds one that appears while it reads, and starts again when one was deleted and made again", async () => {
    const prefix = unique("late");
    const { parked, park } = parking();
    const { consumer } = read({ topics: [`${prefix}.*.DLT`] }, park);
    const nothing = `no readable topic matches ${prefix}.*.DLT`;
    await eventually(() => consumer.state()).toMatchObject({ state: "running", lastError: nothing });
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
    const topic = await newTopic("gone");
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
    const topic = await newTopic("latest");
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

  it("is refused when an application uses it, which keeps its partitions", async () => {
    const topic = await newTopic("shared", { partitions: 2 });
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

  it("is refused when another source of Parkade reads with it, and the probe names that source", async () => {
    const topic = await newTopic("both");
    const groupId = unique("group");
    const { consumer: first, config } = read({ topics: [topic], groupId }, parking().park);
    await eventually(() => first.state().state).toBe("running");
    await eventually(async () => (await adapter.probe(config, never)).detail).toContain(
      `group ${groupId} is read by source conformance of Parkade`,
    );
    const second = new ParkLoop(adapter.reader!(config, "another"), parking().park, {
      ...deps,
      report: () => undefined,
    });
    await eventually(() => second.state().lastError).toBe(
      `group ${groupId} is read by source conformance of Parkade: give this source a group of its own`,
    );
    await second.stop();
    expect(first.state().state).toBe("running");
  });

  it("tells the lag of each partition, and how much lies there without joining", async () => {
    const topic = await newTopic("lag", { partitions: 2 });
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
    const topic = await newTopic("origin", { partitions: 6 });
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
    const topic = await newTopic("parts", { partitions: 2 });
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
    const topic = await newTopic("small", { config: { "max.message.bytes": "5000" } });
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
