import { randomBytes } from "node:crypto";
import rhea, { type Connection, type Delivery, type EventContext, type Message } from "rhea";
import { afterAll, beforeAll } from "vitest";
import { amqp10Adapter } from "@/lib/brokers/amqp10/adapter";
import type { Amqp10Config } from "@/lib/brokers/amqp10/kind.shapes";
import type { BrokerHarness, ExactMessage } from "@/lib/brokers/broker.conformance";
import { textOrNull } from "@/lib/brokers/message";
import { systemClock } from "@/lib/platform/clock";
import { ARTEMIS_DENIED, ARTEMIS_FIXED, type TestArtemis, testArtemis } from "@/lib/testing/artemis";
import { type TestCertificates, testCertificates } from "@/lib/testing/certificates";
import { startTcpProxy } from "@/lib/testing/tcp-proxy";

export const never = new AbortController().signal;
export const adapter = amqp10Adapter({ clock: systemClock, random: () => 0 });
export let artemis: TestArtemis;
let certificates: TestCertificates;
/** Straight to the broker, with rhea's own reading and writing of messages. */
export let direct: Connection;

export const unique = (name: string) => `${name}-${randomBytes(4).toString("hex")}`;

async function openDirect(): Promise<void> {
  const { host, port, username, password } = artemis;
  direct = rhea.create_container().connect({ host, port, username, password, reconnect: false });
  direct.on("disconnected", () => undefined); // the broker is killed on purpose
  await new Promise((resolve) => direct.once("connection_open", resolve));
}

export async function send(address: string, messages: Message[]): Promise<void> {
  const sender = direct.open_sender(address);
  let waiting = messages.length;
  await new Promise<void>((resolve, reject) => {
    sender.on("accepted", () => {
      waiting -= 1;
      if (waiting === 0) resolve();
    });
    sender.on("rejected", reject);
    sender.on("sender_error", () => reject(sender.error));
    let next = 0;
    const more = () => {
      while (next < messages.length && sender.sendable()) {
        sender.send({ durable: true, ...messages[next]! });
        next += 1;
        if (next % 50 === 0) return void setImmediate(more);
      }
    };
    sender.on("sendable", more);
  });
  sender.close();
}

/** Takes what the broker hands out at once, in order, and does with each what `settle` says. */
export async function drain(address: string, settle = (delivery: Delivery) => delivery.accept()): Promise<Message[]> {
  const receiver = direct.open_receiver({ source: { address }, autoaccept: false, credit_window: 0 });
  const messages: Message[] = [];
  receiver.on("message", ({ message, delivery }: EventContext) => {
    messages.push(message!);
    settle(delivery!);
  });
  await new Promise<void>((resolve, reject) => {
    receiver.on("receiver_drained", () => resolve());
    receiver.on("receiver_error", () => reject(receiver.error));
    receiver.once("receiver_open", () => {
      receiver.add_credit(5_000);
      receiver.drain_credit();
    });
  });
  const closed = new Promise((resolve) => receiver.once("receiver_close", resolve));
  receiver.close();
  await closed; // the settlements before it have arrived
  return messages;
}

/** Takes all that is there. A drain may end before messages that were accepted just now. */
export async function takeAll(address: string): Promise<Message[]> {
  const messages = await drain(address);
  while ((await countOf(address)) > 0) messages.push(...(await drain(address)));
  return messages;
}

/**
 * Messages that the broker has in a queue, those handed out included. It counts a message that was settled or goes back for some
 * milliseconds more: the count once two answers agree.
 */
export async function countOf(queue: string): Promise<number> {
  let [before, now] = [-1, await countNow(queue)];
  while (before !== now) [before, now] = [now, await countNow(queue)];
  return now;
}

async function countNow(queue: string): Promise<number> {
  const receiver = direct.open_receiver({ source: { dynamic: true } as never });
  await new Promise((resolve) => receiver.once("receiver_open", resolve));
  const answer = new Promise<Message>((resolve) => {
    receiver.once("message", ({ message }: EventContext) => resolve(message!));
  });
  const asked = { _AMQ_ResourceName: `queue.${queue}`, _AMQ_Attribute: "messageCount" };
  const reply_to = (receiver.source as { address: string }).address;
  await send("activemq.management", [{ reply_to, application_properties: asked, body: "[]" }]);
  const { body } = await answer;
  receiver.close();
  return Number((JSON.parse(String(body)) as unknown[])[0]);
}

const bytesIn = ({ body }: Message): Buffer | null => {
  const content = (body as { content?: unknown } | null | undefined)?.content ?? body;
  return content === null || content === undefined ? null : Buffer.from(content as Buffer);
};

const asProperty = (value: Buffer | null) => {
  if (value === null) return null;
  const text = textOrNull(value);
  return text === null ? rhea.types.wrap_binary(value) : text;
};

function exactMessage({ body, headers }: ExactMessage): Message {
  const application_properties = Object.fromEntries(headers.map(([name, value]) => [name, asProperty(value)]));
  return { body: body === null ? null : rhea.message.data_section(body), application_properties };
}

function exactOf(message: Message): ExactMessage {
  const headers = Object.entries(message.application_properties ?? {}).map(([name, value]): [string, Buffer | null] => [
    name,
    value === null || value === undefined ? null : Buffer.isBuffer(value) ? value : Buffer.from(String(value)),
  ]);
  return { key: null, body: bytesIn(message), headers };
}

export async function harness(): Promise<BrokerHarness<Amqp10Config>> {
  const proxy = await startTcpProxy(artemis.port);
  const [target, source] = [unique("orders"), unique("orders.dlq")];
  const { username, password } = artemis;
  const config: Amqp10Config = {
    ...{ url: `amqp://127.0.0.1:${proxy.port}`, username, password, address: source, credit: 100 },
  };
  await takeAll(source); // makes it
  await takeAll(target);
  const over = (tls: Amqp10Config["tls"]) => ({ ...config, url: `amqps://127.0.0.1:${artemis.tlsPort}`, tls });
  return {
    adapter,
    config,
    refusing: { ...config, redriveTo: { address: `${ARTEMIS_FIXED}${unique("none")}` } },
    proxy,
    origin: { queue: target },
    arrived: async () =>
      (await takeAll(target)).map((message) => ({
        body: bytesIn(message) ?? Buffer.alloc(0),
        contentType: message.content_type ?? null,
        headers: Object.fromEntries(
          Object.entries(message.application_properties ?? {}).map(([name, value]) => [
            name.toLowerCase(),
            String(value),
          ]),
        ),
      })),
    produce: (bodies) =>
      send(
        source,
        bodies.map((body) => ({ body: rhea.message.data_section(Buffer.from(body)), content_type: "text/plain" })),
      ),
    remaining: () => countOf(source),
    exact: {
      carries: {
        ...{ keys: false, absentBody: true, emptyBody: true, binaryBody: true },
        ...{ nullHeaders: true, duplicateHeaders: false, binaryHeaders: true },
      },
      produceExact: (messages) => send(source, messages.map(exactMessage)),
      arrivedExact: async () => (await takeAll(target)).map(exactOf),
      bounce: (message) => send(source, [exactMessage(message)]),
      restart: async () => {
        await artemis.kill();
        await artemis.start();
        await openDirect();
      },
      misconfigured: [
        ["a wrong password", { ...config, password: "hunter2" }, /refuses access: check the user and the password/],
        ["an address that is not there", { ...config, address: `${ARTEMIS_FIXED}none` }, /fixed\.none does not exist/],
        [
          "an address that the user may not read",
          { ...config, address: `${ARTEMIS_DENIED}x` },
          /refuses access to denied/,
        ],
      ],
      tls: {
        good: over({ ca: certificates.ca }),
        refused: [
          ["no authority", over({}), /not trusted/],
          ["another authority", over({ ca: certificates.otherCa }), /not trusted/],
          ["another name", over({ ca: certificates.ca, servername: "elsewhere.invalid" }), /another name/],
        ],
      },
    },
    stop: () => proxy.stop(),
  };
}

/** Starts Artemis for the suite at hand. */
export function onArtemis(): void {
  beforeAll(async () => {
    certificates = testCertificates();
    artemis = await testArtemis({ certificates });
    await openDirect();
  });
  afterAll(async () => {
    certificates?.remove();
    await artemis?.stop();
  });
}
