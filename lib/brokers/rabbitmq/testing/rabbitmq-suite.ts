import type { GetMessage } from "amqplib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { consumerOf, describeBroker, eventually, outbound } from "@/lib/brokers/broker.conformance";
import type { OutboundMessage, PublishError } from "@/lib/brokers/port";
import type { FieldTable, FieldValue } from "@/lib/brokers/rabbitmq/field-table";
import type { RabbitmqConfig } from "@/lib/brokers/rabbitmq/kind.shapes";
import { headerViewOf } from "@/lib/brokers/rabbitmq/message";
import {
  adapter,
  channel,
  depth,
  direct,
  exactOf,
  failure,
  major,
  makeHarness,
  never,
  produceExact,
  queueWithDlq,
  rabbit,
  rejectNext,
  take,
  takeAll,
  unique,
} from "@/lib/brokers/rabbitmq/testing/rabbitmq-broker";
import { backOut, parkOne, sendOne } from "@/lib/brokers/testing/round-trip";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import { startTcpProxy, type TcpProxy } from "@/lib/testing/tcp-proxy";

/** What the gate proves on one version, and the soak on the other. */
export function describeRabbitmq(): void {
  describeBroker<RabbitmqConfig>("rabbitmq", makeHarness);
  describe("a dead letter's way back", () => redriveTests());
  describe("publishing to RabbitMQ", () => publishTests());
  describe("consuming from RabbitMQ", () => consumeTests());
}

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

  it("refuses a stream, in the probe and when it reads, and takes nothing of it", async () => {
    const queue = unique("stream");
    await channel.assertQueue(queue, { durable: true, arguments: { "x-queue-type": "stream" } });
    channel.sendToQueue(queue, Buffer.from("{}"));
    const why = `${queue} is a stream: Parkade reads classic and quorum queues only`;
    const probed = await adapter.probe({ url: rabbit.url, queue }, never);
    expect(probed).toEqual({ reachable: false, detail: why });
    const parked: DeadLetter[] = [];
    const consumer = consume({ queue }, async (batch) => {
      parked.push(...batch);
    });
    await eventually(() => consumer.state().lastError).toBe(why);
    expect(parked).toEqual([]);
  });
}
