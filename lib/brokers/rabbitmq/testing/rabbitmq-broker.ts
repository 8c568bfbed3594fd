import { randomBytes } from "node:crypto";
import type { Channel, ChannelModel, GetMessage } from "amqplib";
import { afterAll, beforeAll } from "vitest";
import { type Arrived, type BrokerHarness, eventually } from "@/lib/brokers/broker.conformance";
import { textOfValue, textOrNull } from "@/lib/brokers/message";
import type { OutboundMessage, PublishError } from "@/lib/brokers/port";
import { rabbitmqAdapter } from "@/lib/brokers/rabbitmq/adapter";
import { keepExactProperties, publishExact, receivedProperties } from "@/lib/brokers/rabbitmq/exact-properties";
import type { FieldTable, FieldValue } from "@/lib/brokers/rabbitmq/field-table";
import type { RabbitmqConfig } from "@/lib/brokers/rabbitmq/kind.shapes";
import { headerValueOf, headerViewOf } from "@/lib/brokers/rabbitmq/message";
import { sendOne } from "@/lib/brokers/testing/round-trip";
import { systemClock } from "@/lib/platform/clock";
import { type TestCertificates, testCertificates } from "@/lib/testing/certificates";
import { type TestRabbitmq, testRabbitmq } from "@/lib/testing/rabbitmq";
import { startTcpProxy } from "@/lib/testing/tcp-proxy";

export const never = new AbortController().signal;
export const adapter = rabbitmqAdapter({ clock: systemClock, random: () => 0 });
export let rabbit: TestRabbitmq;
let certificates: TestCertificates;
/** Of another authority. */
let foreign: TestCertificates;
/** Straight to the broker, for setting up and looking on; exact, to see what a consumer in any language would. */
export let direct: ChannelModel;
export let channel: Channel;

export const unique = (name: string) => `${name}-${randomBytes(4).toString("hex")}`;

async function openDirect(): Promise<void> {
  direct = await rabbit.connect();
  direct.on("error", () => undefined); // the broker is killed on purpose
  keepExactProperties(direct);
  channel = await direct.createChannel();
}

/** Of the broker under test. */
export const major = () =>
  Number.parseInt(String((direct.connection as unknown as ServerFacts).serverProperties.version), 10);
type ServerFacts = { serverProperties: { version?: unknown } };

export function exactOf(message: GetMessage) {
  const received = receivedProperties(message);
  if (!received.readable) throw new Error("unreadable");
  return received.properties;
}

export async function takeAll(queue: string): Promise<GetMessage[]> {
  const messages: GetMessage[] = [];
  for (;;) {
    const message = await channel.get(queue, { noAck: true });
    if (message === false) return messages;
    messages.push(message);
  }
}

export async function take(queue: string): Promise<GetMessage> {
  const taken: GetMessage[] = [];
  await eventually(async () => {
    const message = await channel.get(queue, { noAck: true });
    if (message) taken.push(message);
    return taken.length;
  }).toBe(1);
  return taken[0]!;
}

export const depth = async (queue: string) => (await channel.checkQueue(queue)).messageCount;

/** A durable queue whose rejected messages end in a dead-letter queue of its own. */
export async function queueWithDlq(change: { arguments?: object } = {}): Promise<{ queue: string; dlq: string }> {
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
export async function rejectNext(queue: string): Promise<void> {
  let rejected = false;
  await eventually(async () => {
    const message = await channel.get(queue);
    if (message) channel.reject(message, false);
    rejected ||= message !== false;
    return rejected;
  }).toBe(true);
}

export const failure = (config: RabbitmqConfig, message: OutboundMessage) =>
  sendOne(adapter, config, message).then(
    () => Promise.reject(new Error("expected a failure")),
    (error: PublishError) => error,
  );

function asField([name, value]: [string, Buffer | null]): FieldTable[number] {
  if (value === null) return [name, { type: "void" }];
  const text = textOrNull(value);
  return [name, text === null ? { type: "bytes", value } : { type: "longstr", value: text }];
}

function bytesOf(field: FieldValue): Buffer | null {
  if (field.type === "void") return null;
  return "value" in field && field.value instanceof Uint8Array
    ? Buffer.from(field.value)
    : Buffer.from(textOfValue(headerValueOf(field)) ?? "");
}

export async function makeHarness(): Promise<BrokerHarness<RabbitmqConfig>> {
  const proxy = await startTcpProxy(rabbit.port);
  const { queue, dlq } = await queueWithDlq();
  const url = (user: string) => `amqp://${user}@127.0.0.1:${proxy.port}`;
  const config: RabbitmqConfig = { url: url("guest:guest"), queue: dlq, prefetch: 100 };
  const over = (tls: RabbitmqConfig["tls"]): RabbitmqConfig => ({ ...config, url: rabbit.tlsUrl, tls });
  const arrived = async (): Promise<Arrived[]> =>
    (await takeAll(queue)).map((message) => {
      const { contentType, headers = [] } = exactOf(message);
      const view = headerViewOf(headers);
      return {
        body: message.content,
        contentType: typeof contentType === "string" ? contentType : null,
        headers: Object.fromEntries([...view.names()].map((name) => [name, view.text(name) ?? ""])),
      };
    });
  return {
    adapter,
    config,
    impatient: { ...config, url: `${url("guest:guest")}?heartbeat=1` },
    refusing: { ...config, redriveTo: { mode: "origin-queue", queue: unique("no-such-queue") } },
    proxy,
    origin: { queue },
    arrived,
    produce: async (bodies) => {
      const confirmed = await direct.createConfirmChannel();
      const options = { contentType: "text/plain", persistent: true };
      for (const body of bodies) confirmed.sendToQueue(dlq, Buffer.from(body), options);
      await confirmed.waitForConfirms(); // written to disk: a test may kill the broker
      await confirmed.close();
    },
    remaining: async () => {
      const { ready, unacknowledged } = await rabbit.messages(dlq);
      return ready + unacknowledged;
    },
    exact: {
      carries: {
        keys: false,
        absentBody: false,
        emptyBody: true,
        binaryBody: true,
        nullHeaders: true,
        // Version 4 stores a message as AMQP 1.0: names are unique, and sorted when the message is published.
        duplicateHeaders: major() < 4,
        ...(major() < 4 ? {} : { headerOrder: "sorted" as const }),
        binaryHeaders: true,
      },
      produceExact: async (messages) => {
        for (const { body, headers } of messages) await produceExact("", dlq, { headers: headers.map(asField) }, body!);
      },
      arrivedExact: async () =>
        (await takeAll(queue)).map((message) => ({
          key: null,
          body: message.content,
          headers: (exactOf(message).headers ?? []).map(([name, field]) => [name, bytesOf(field)]),
        })),
      bounce: async ({ body, headers }) => {
        await produceExact("", dlq, { headers: headers.map(asField) }, body!);
      },
      beforeRestart: () => rabbit.storeDefinitions(),
      restart: async () => {
        await rabbit.kill();
        await rabbit.start();
        await openDirect();
      },
      misconfigured: [
        [
          "a wrong password",
          { ...config, url: url("guest:hunter2") },
          /refuses the login: check the user and the password/,
        ],
        ["a queue that is not there", { ...config, queue: "not-there" }, /queue not-there does not exist/],
        [
          "another virtual host",
          { ...config, url: `${url("guest:guest")}/none` },
          /vhost none: it does not open this virtual host: it does not exist/,
        ],
        ["a user who may not read", { ...config, url: url("reader:hunter2") }, /needs the permission to read/],
        [
          "TLS towards a plain listener",
          { ...config, url: url("guest:guest").replace("amqp:", "amqps:") },
          /^cannot connect to \S+, vhost \/: \S+ does not speak TLS \(ERR_SSL_WRONG_VERSION_NUMBER\)/,
        ],
      ],
      tls: {
        good: over({ ca: certificates.ca, cert: certificates.client.cert, key: certificates.client.key }),
        refused: [
          ["no authority", over({}), /not trusted/],
          ["another authority", over({ ca: certificates.otherCa }), /not trusted/],
          ["another name", over({ ca: certificates.ca, servername: "elsewhere.invalid" }), /another name/],
          [
            "a client certificate that another authority signed",
            over({ ca: certificates.ca, cert: foreign.client.cert, key: foreign.client.key }),
            /cannot connect|lost/,
          ],
        ],
      },
    },
    stop: () => proxy.stop(),
  };
}

/** Publishes exactly these properties, as a producer in another language would. */
export async function produceExact(
  exchange: string,
  routingKey: string,
  properties: Parameters<typeof publishExact>[2]["properties"],
  body: string | Buffer = "{}",
): Promise<void> {
  const confirmed = await direct.createConfirmChannel();
  await new Promise<void>((resolve, reject) => {
    publishExact(confirmed, { exchange, routingKey }, { properties, content: Buffer.from(body) }, (error) =>
      error ? reject(error) : resolve(),
    );
  });
  await confirmed.close();
}

export type RabbitmqVersion = "installed" | "4";

/** Starts RabbitMQ for the suite at hand. */
export function onRabbitmq(version: RabbitmqVersion): void {
  beforeAll(async () => {
    certificates = testCertificates();
    foreign = testCertificates();
    rabbit = await testRabbitmq({ version, certificates });
    await openDirect();
    await rabbit.ctl("add_user", "reader", "hunter2");
    await rabbit.ctl("set_permissions", "reader", "", "", "");
  });
  afterAll(async () => {
    for (const made of [certificates, foreign]) made.remove();
    await rabbit?.stop();
  });
}
