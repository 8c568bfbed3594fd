import { randomBytes } from "node:crypto";
import { type JetStreamManager, jetstreamManager } from "@nats-io/jetstream";
import { connect, type Msg, type NatsConnection } from "@nats-io/transport-node";
import { afterAll, beforeAll, expect } from "vitest";
import type { BrokerHarness, ExactMessage } from "@/lib/brokers/broker.conformance";
import { natsAdapter } from "@/lib/brokers/nats/adapter";
import { storedMessage } from "@/lib/brokers/nats/connection";
import { asHeaders, headerBlock, headersOf } from "@/lib/brokers/nats/header-block";
import type { NatsConfig } from "@/lib/brokers/nats/kind.shapes";
import { systemClock } from "@/lib/platform/clock";
import { type TestCertificates, testCertificates } from "@/lib/testing/certificates";
import { type TestNats, testNats } from "@/lib/testing/nats";
import { startTcpProxy } from "@/lib/testing/tcp-proxy";

export const never = new AbortController().signal;
export const adapter = natsAdapter({ clock: systemClock, random: () => 0 });

/** One account with a user for everything, and users who each miss one permission. */
const USERS = `
accounts { APP: {
  jetstream: enabled
  users: [
    { user: app, password: apppass }
    { user: nopull, password: hunter2, permissions: { publish: { deny: ["$JS.API.CONSUMER.MSG.NEXT.>"] } } }
    { user: noack, password: hunter2, permissions: { publish: { deny: ["$JS.ACK.>"] } } }
    { user: noinfo, password: hunter2, permissions: { publish: { deny: ["$JS.API.STREAM.INFO.>", "$JS.API.CONSUMER.>"] } } }
    { user: noget, password: hunter2, permissions: { publish: { deny: ["$JS.API.STREAM.MSG.GET.>"] } } }
    { user: nosecret, password: hunter2, permissions: { publish: { deny: ["$JS.API.STREAM.MSG.GET.SECRET"] } } }
    { user: nosend, password: hunter2, permissions: { publish: { deny: ["sent.>"] } } }
  ]
} }
`;
const APP = { user: "app", password: "apppass" };

let broker: TestNats;
/** The same server over TLS. */
let secure: TestNats;
let elsewhere: TestNats;
let certificates: TestCertificates;
/** Straight to the broker, for setting up and looking on. */
export let direct: NatsConnection;
export let jsm: JetStreamManager;
let overTls: JetStreamManager;
let secureDirect: NatsConnection;

async function openDirect(): Promise<void> {
  direct = await connect({ servers: broker.address, user: APP.user, pass: APP.password });
  jsm = await jetstreamManager(direct);
}

type Streams = { dead: string; sent: string; deadSubject: string; sentSubject: string };

/** A stream of dead letters and the stream that redrives go to. */
export async function makeStreams(): Promise<Streams> {
  const id = randomBytes(4).toString("hex");
  const made = { dead: `DEAD_${id}`, sent: `SENT_${id}`, deadSubject: `dead.${id}`, sentSubject: `sent.${id}` };
  await jsm.streams.add({ name: made.dead, subjects: [made.deadSubject] });
  await jsm.streams.add({ name: made.sent, subjects: [made.sentSubject] });
  return made;
}

/** Everything in a stream in its order, removed. */
export async function takeAll(stream: string): Promise<ExactMessage[]> {
  const taken: ExactMessage[] = [];
  const { state } = await jsm.streams.info(stream);
  for (let seq = Math.max(state.first_seq, 1); seq <= state.last_seq; seq++) {
    const stored = await storedMessage(direct, configOf({ stream }), { stream, seq });
    if (stored !== null) taken.push({ key: null, body: Buffer.from(stored.data), headers: headersOf(stored.headers) });
  }
  await jsm.streams.purge(stream);
  return taken;
}

export async function publish(
  subject: string,
  { body, headers }: Pick<ExactMessage, "body" | "headers">,
): Promise<void> {
  const block = headers.length === 0 ? {} : { headers: asHeaders(headerBlock(headers)) };
  const answer: Msg = await direct.request(subject, body ?? Buffer.alloc(0), { timeout: 10_000, ...block });
  expect(answer.json()).not.toHaveProperty("error");
}

export function configOf(change: Partial<NatsConfig> & Pick<NatsConfig, "stream">): NatsConfig {
  return { servers: [broker.address], ...APP, read: "stream", consumer: "reader", ackWaitSeconds: 3, ...change };
}

export async function makeHarness(): Promise<BrokerHarness<NatsConfig>> {
  const proxy = await startTcpProxy(broker.port);
  const { dead, sent, deadSubject, sentSubject } = await makeStreams();
  const config = configOf({ stream: dead, servers: [`127.0.0.1:${proxy.port}`] });
  const produceExact = async (messages: ExactMessage[]) => {
    await Promise.all(messages.map((message) => publish(deadSubject, message)));
  };
  for (const [name, subject] of [
    [dead, deadSubject],
    [sent, sentSubject],
  ] as const)
    await overTls.streams.add({ name, subjects: [subject] });
  const { ca } = certificates;
  return {
    adapter,
    config,
    proxy,
    origin: { subject: sentSubject, stream: sent },
    refusing: { ...config, redriveTo: { subject: `nobody.${sentSubject}` } },
    arrived: async () =>
      (await takeAll(sent)).map(({ body, headers }) => {
        const text = Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), String(value)]));
        return { body: body!, contentType: text["content-type"] ?? null, headers: text };
      }),
    produce: async (bodies) => {
      for (let at = 0; at < bodies.length; at += 500)
        await Promise.all(
          bodies.slice(at, at + 500).map((body) => publish(deadSubject, { body: Buffer.from(body), headers: [] })),
        );
    },
    remaining: async () => {
      try {
        const { num_pending, num_ack_pending } = await jsm.consumers.info(dead, "reader");
        return num_pending + num_ack_pending;
      } catch {
        return (await jsm.streams.info(dead)).state.messages; // nobody has read it
      }
    },
    exact: {
      carries: {
        keys: false,
        absentBody: false,
        emptyBody: true,
        binaryBody: true,
        nullHeaders: false,
        duplicateHeaders: true,
        binaryHeaders: false, // every byte but a line break
      },
      produceExact,
      arrivedExact: () => takeAll(sent),
      bounce: (message) => produceExact([message]),
      restart: async () => {
        await direct.close();
        await broker.kill();
        await broker.start();
        await openDirect();
      },
      misconfigured: [
        ["a wrong password", { ...config, password: "hunter2" }, /refuses the login: check user and password/],
        ["a stream that is not there", { ...config, stream: "NOT_THERE" }, /stream NOT_THERE does not exist/],
        [
          "advisories that nobody captures",
          { ...config, stream: "NOT_THERE", read: "advisories" },
          /set createStream, or run: nats stream add NOT_THERE --subjects '\$JS.EVENT/,
        ],
        [
          "no permission for the API",
          { ...config, user: "noinfo", password: "hunter2" },
          /no permission to publish to \$JS.API.(STREAM.INFO|CONSUMER.INFO)/,
        ],
        ["nobody there", { ...config, servers: ["127.0.0.1:1"] }, /cannot reach 127.0.0.1:1 \(ECONNREFUSED\)/],
        ["another kind of server", { ...config, servers: [secure.address] }, /certificate .* is not trusted/],
      ],
      tls: {
        good: { ...config, servers: [secure.address], tls: { ca } },
        refused: [
          ["an unknown authority", { ...config, servers: [secure.address], tls: {} }, /is not trusted.*set tls.ca/],
          [
            "a certificate for another name",
            { ...config, servers: [elsewhere.address], tls: { ca } },
            /is for another name.*tls.servername/,
          ],
        ],
      },
    },
    stop: () => proxy.stop(),
  };
}

/** Starts the servers for the suite at hand. */
export function onNats(): void {
  beforeAll(async () => {
    certificates = testCertificates();
    broker = await testNats({ config: USERS });
    secure = await testNats({ certificates, config: USERS });
    elsewhere = await testNats({ certificates: { server: certificates.wrongName }, config: USERS });
    await openDirect();
    const { user, password } = APP;
    const tls = { ca: certificates.ca };
    secureDirect = await connect({ servers: secure.address, user, pass: password, tls });
    overTls = await jetstreamManager(secureDirect);
  });
  afterAll(async () => {
    await direct?.close();
    await secureDirect?.close();
    await Promise.all([broker, secure, elsewhere].map((server) => server?.stop()));
    certificates?.remove();
  });
}
