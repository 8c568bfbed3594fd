import { randomBytes } from "node:crypto";
import type { Channel, ChannelModel, GetMessage } from "amqplib";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { keepExactProperties, publishExact, receivedProperties } from "@/lib/brokers/amqp/exact-properties";
import type { FieldTable } from "@/lib/brokers/amqp/field-table";
import { type Arrived, type BrokerHarness, describeBroker, outbound } from "@/lib/brokers/broker.conformance";
import { HeaderView } from "@/lib/brokers/conventions/delivery";
import type { OutboundMessage, PublishError } from "@/lib/brokers/port";
import { rabbitmqBroker } from "@/lib/brokers/rabbitmq";
import type { RabbitmqConfig } from "@/lib/contract/source-config";
import type { DeadLetter } from "@/lib/core/dead-letter";
import { RABBITMQ_MISSING, rabbitmqInstalled, type TestRabbitmq, testRabbitmq } from "@/lib/testing/rabbitmq";
import { startTcpProxy, type TcpProxy } from "@/lib/testing/tcp-proxy";

const never = new AbortController().signal;
let rabbit: TestRabbitmq;
/** Straight to the broker, for setting up and looking on; exact, to see what a consumer in any language would. */
let direct: ChannelModel;
let channel: Channel;

const unique = (name: string) => `${name}-${randomBytes(4).toString("hex")}`;

async function openDirect(): Promise<void> {
  direct = await rabbit.connect();
  direct.on("error", () => undefined); // the broker is killed on purpose
  keepExactProperties(direct);
  channel = await direct.createChannel();
}

function exactOf(message: GetMessage) {
  const received = receivedProperties(message);
  if (!received.readable) throw new Error("unreadable");
  return received.properties;
}

async function takeAll(queue: string): Promise<GetMessage[]> {
  const messages: GetMessage[] = [];
  for (;;) {
    const message = await channel.get(queue, { noAck: true });
    if (message === false) return messages;
    messages.push(message);
  }
}

async function take(queue: string): Promise<GetMessage> {
  const taken: GetMessage[] = [];
  await expect
    .poll(async () => {
      const message = await channel.get(queue, { noAck: true });
      if (message) taken.push(message);
      return taken.length;
    })
    .toBe(1);
  return taken[0]!;
}

const depth = async (queue: string) => (await channel.checkQueue(queue)).messageCount;

/** A durable queue whose rejected messages end in a dead-letter queue of its own. */
async function queueWithDlq(change: { arguments?: object } = {}): Promise<{ queue: string; dlq: string }> {
  const queue = unique("orders");
  const dlq = `${queue}.dlq`;
  await channel.assertQueue(dlq, { durable: true });
  await channel.assertQueue(queue, {
    durable: true,
    arguments: { "x-dead-letter-exchange": "", "x-dead-letter-routing-key": dlq, ...change.arguments },
  });
  return { queue, dlq };
}

/** A consumer that rejects the next message of the queue, so that the broker dead-letters it. */
async function rejectNext(queue: string): Promise<void> {
  let rejected = false;
  await expect
    .poll(async () => {
      const message = await channel.get(queue);
      if (message) channel.reject(message, false);
      rejected ||= message !== false;
      return rejected;
    })
    .toBe(true);
}

async function parkOne(config: RabbitmqConfig): Promise<DeadLetter> {
  const parked: DeadLetter[] = [];
  const consumer = rabbitmqBroker().consume(config, async (batch) => {
    parked.push(...batch);
  });
  await expect.poll(() => parked.length).toBe(1);
  await consumer.stop();
  return parked[0]!;
}

function backOut(letter: DeadLetter, change: Partial<OutboundMessage> = {}): OutboundMessage {
  return outbound(letter.origin, {
    eventId: letter.eventId,
    payload: letter.payload,
    contentType: letter.contentType,
    headers: letter.headers,
    ...change,
  });
}

async function redrive(config: RabbitmqConfig, message: OutboundMessage, lane?: "main" | "slow"): Promise<unknown> {
  const publisher = rabbitmqBroker().publisher(config, lane);
  try {
    return await publisher.publish(message, never);
  } finally {
    await publisher.close();
  }
}

const failure = (config: RabbitmqConfig, message: OutboundMessage) =>
  redrive(config, message).then(
    () => Promise.reject(new Error("expected a failure")),
    (error: PublishError) => error,
  );

async function makeHarness(): Promise<BrokerHarness<RabbitmqConfig>> {
  const proxy = await startTcpProxy(rabbit.port);
  const { queue, dlq } = await queueWithDlq();
  const config: RabbitmqConfig = { url: `amqp://guest:guest@127.0.0.1:${proxy.port}`, queue: dlq, prefetch: 100 };
  const arrived = async (): Promise<Arrived[]> =>
    (await takeAll(queue)).map((message) => {
      const { contentType, headers = [] } = exactOf(message);
      const view = new HeaderView(headers);
      return {
        body: message.content,
        contentType: typeof contentType === "string" ? contentType : null,
        headers: Object.fromEntries([...view.names()].map((name) => [name, view.text(name) ?? ""])),
      };
    });
  return {
    broker: rabbitmqBroker({ random: () => 0 }),
    config,
    refusing: { ...config, redriveTo: { mode: "origin-queue", queue: unique("no-such-queue") } },
    proxy,
    origin: { queue },
    arrived,
    produce: async (bodies) => {
      for (const body of bodies) channel.sendToQueue(dlq, Buffer.from(body), { contentType: "text/plain" });
      await channel.checkQueue(dlq); // answered after all of them were taken
    },
    remaining: async () => {
      const { ready, unacknowledged } = await rabbit.messages(dlq);
      return ready + unacknowledged;
    },
    stop: () => proxy.stop(),
  };
}

describe.skipIf(!rabbitmqInstalled)(rabbitmqInstalled ? "rabbitmq" : `rabbitmq (skipped: ${RABBITMQ_MISSING})`, () => {
  beforeAll(async () => {
    rabbit = await testRabbitmq();
    await openDirect();
  }, 90_000);
  afterAll(async () => {
    await rabbit?.stop();
  });

  describeBroker<RabbitmqConfig>("rabbitmq", makeHarness);
});
