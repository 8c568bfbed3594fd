import { randomBytes } from "node:crypto";
import {
  AckPolicy,
  type JetStreamManager,
  type JsMsg,
  jetstream,
  jetstreamManager,
  RetentionPolicy,
  type StreamConfig,
} from "@nats-io/jetstream";
import { connect, type Msg, type NatsConnection, nanos } from "@nats-io/transport-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type BrokerHarness,
  consumerOf,
  describeBroker,
  type ExactMessage,
  eventually,
  outbound,
} from "@/lib/brokers/broker.conformance";
import { natsAdapter } from "@/lib/brokers/nats/adapter";
import { storedMessage } from "@/lib/brokers/nats/connection";
import { asHeaders, headerBlock, headersOf } from "@/lib/brokers/nats/header-block";
import type { NatsConfig } from "@/lib/brokers/nats/kind.shapes";
import type { PublishError } from "@/lib/brokers/port";
import { backOut, parkOne, sendAll } from "@/lib/brokers/testing/round-trip";
import type { DeadLetter } from "@/lib/intake/dead-letter.pure";
import { systemClock } from "@/lib/platform/clock";
import { type TestCertificates, testCertificates } from "@/lib/testing/certificates";
import { describeWith } from "@/lib/testing/describe-with";
import { natsMissing, type TestNats, testNats } from "@/lib/testing/nats";
import { startTcpProxy } from "@/lib/testing/tcp-proxy";

const never = new AbortController().signal;
const adapter = natsAdapter({ clock: systemClock, random: () => 0 });

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
let direct: NatsConnection;
let jsm: JetStreamManager;
let overTls: JetStreamManager;
let secureDirect: NatsConnection;

async function openDirect(): Promise<void> {
  direct = await connect({ servers: broker.address, user: APP.user, pass: APP.password });
  jsm = await jetstreamManager(direct);
}

type Streams = { dead: string; sent: string; deadSubject: string; sentSubject: string };

/** A stream of dead letters and the stream that redrives go to. */
async function makeStreams(): Promise<Streams> {
  const id = randomBytes(4).toString("hex");
  const made = { dead: `DEAD_${id}`, sent: `SENT_${id}`, deadSubject: `dead.${id}`, sentSubject: `sent.${id}` };
  await jsm.streams.add({ name: made.dead, subjects: [made.deadSubject] });
  await jsm.streams.add({ name: made.sent, subjects: [made.sentSubject] });
  return made;
}

/** Everything in a stream in its order, removed. */
async function takeAll(stream: string): Promise<ExactMessage[]> {
  const taken: ExactMessage[] = [];
  const { state } = await jsm.streams.info(stream);
  for (let seq = Math.max(state.first_seq, 1); seq <= state.last_seq; seq++) {
    const stored = await storedMessage(direct, configOf({ stream }), { stream, seq });
    if (stored !== null) taken.push({ key: null, body: Buffer.from(stored.data), headers: headersOf(stored.headers) });
  }
  await jsm.streams.purge(stream);
  return taken;
}

async function publish(subject: string, { body, headers }: Pick<ExactMessage, "body" | "headers">): Promise<void> {
  const block = headers.length === 0 ? {} : { headers: asHeaders(headerBlock(headers)) };
  const answer: Msg = await direct.request(subject, body ?? Buffer.alloc(0), { timeout: 10_000, ...block });
  expect(answer.json()).not.toHaveProperty("error");
}

function configOf(change: Partial<NatsConfig> & Pick<NatsConfig, "stream">): NatsConfig {
  return { servers: [broker.address], ...APP, read: "stream", consumer: "reader", ackWaitSeconds: 3, ...change };
}

async function makeHarness(): Promise<BrokerHarness<NatsConfig>> {
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

describeWith(natsMissing, "nats", () => {
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

  describeBroker<NatsConfig>("nats", makeHarness);
  describe("advisories", () => advisoryTests());
  describe("a dead letter's way back", () => redriveTests());
  describe("permissions", () => permissionTests());
});

/** A stream with a consumer that gives a message up after one delivery, and a stream that captures what NATS says of it. */
async function makeOrders(change: Partial<StreamConfig> = {}, name?: string) {
  const id = randomBytes(4).toString("hex");
  const [orders, subject] = [name ?? `ORDERS_${id}`, `orders.${id}`];
  await jsm.streams.add({ name: orders, subjects: [`${subject}.>`], ...change });
  await jsm.consumers.add(orders, {
    durable_name: "worker",
    ack_policy: AckPolicy.Explicit,
    ack_wait: nanos(1_000),
    max_deliver: 1,
  });
  const config = configOf({
    stream: "ADVISORIES", // only one stream of an account can capture them
    read: "advisories",
    createStream: true,
    filter: `$JS.EVENT.ADVISORY.CONSUMER.*.${orders}.>`,
    consumer: `reader_${id}`,
  });
  return { orders, subject, config };
}

/** The worker gets the next message and fails in the way that `how` says. */
async function failNext(stream: string, how: (message: JsMsg) => void): Promise<void> {
  const message = await (await jetstream(direct).consumers.get(stream, "worker")).next({ expires: 5_000 });
  how(message!);
  await direct.flush();
}

/** The stream of advisories must be there before the first one. */
async function capture(config: NatsConfig): Promise<void> {
  const consumer = consumerOf(adapter, config, async () => undefined);
  await eventually(() => consumer.state()).toMatchObject({ state: "running", lastError: null });
  await consumer.stop();
}

function advisoryTests(): void {
  it("parks what was delivered too often and what was terminated, with the original message", async () => {
    const { orders, subject, config } = await makeOrders();
    await capture(config);
    const headers: ExactMessage["headers"] = [
      ["Nats-Msg-Id", Buffer.from("placed-1")],
      ["x-tenant", Buffer.from("eu")],
      ["X-Bytes", Buffer.from([0xff, 0x20, 0x00, 0x20])],
      ["x-tenant", Buffer.from("us")],
    ];
    await publish(`${subject}.placed`, { body: Buffer.from('{"n":1}'), headers });
    await failNext(orders, (message) => message.term("bad amount"));
    const terminated = await parkOne(adapter, config);
    expect(terminated).toMatchObject({ eventId: "placed-1", errorCode: "REJECTED", attempts: 1 });
    expect(terminated.error.message).toContain("terminated by consumer worker");
    expect(terminated.error.message).toContain("bad amount");
    expect(terminated.origin).toMatchObject({ subject: `${subject}.placed`, stream: orders, consumer: "worker" });
    expect(await sendAll(adapter, config, [backOut(terminated)])).toEqual([{ status: "stored" }]);
    const [, back] = await takeAll(orders);
    expect(back!.body!.toString()).toBe('{"n":1}');
    expect(back!.headers.filter(([name]) => !/^(x-redrive|nats)-/i.test(name))).toEqual(headers.slice(1));

    await publish(`${subject}.placed`, { body: Buffer.from("2"), headers: [] });
    await failNext(orders, (message) => message.nak());
    // NATS gives a message up when it would hand it out again.
    await (await jetstream(direct).consumers.get(orders, "worker")).next({ expires: 1_000 });
    const parked: DeadLetter[] = [];
    const consumer = consumerOf(adapter, config, async (batch) => void parked.push(...batch));
    await eventually(() => parked.map(({ errorCode }) => errorCode)).toContain("DELIVERY_LIMIT");
    await consumer.stop();
  });

  it("knows the bounce of a message that it redrove", async () => {
    const { orders, subject, config } = await makeOrders();
    await capture(config);
    await publish(`${subject}.placed`, { body: Buffer.from("{}"), headers: [] });
    await failNext(orders, (message) => message.term());
    const first = await parkOne(adapter, config);
    await sendAll(adapter, config, [backOut(first, { attempt: 2 })]);
    await failNext(orders, (message) => message.term());
    const again = await parkOne(adapter, config);
    expect(again.eventId).toBe(first.eventId);
    expect(again.redrive).toMatchObject({ attempt: 2 });
  });

  it("parks a message that is gone as a reference, and refuses to redrive it", async () => {
    const { orders, subject, config } = await makeOrders({ retention: RetentionPolicy.Workqueue });
    await capture(config);
    await publish(`${subject}.placed`, { body: Buffer.from("{}"), headers: [] });
    await failNext(orders, (message) => message.term()); // a work queue drops it at once
    const letter = await parkOne(adapter, config);
    expect(letter).toMatchObject({ errorCode: "PAYLOAD_GONE", origin: { payloadState: "reference-only" } });
    expect(letter.error.message).toContain(`stream ${orders} does not hold the message any more`);
    const [outcome] = await sendAll(adapter, config, [backOut(letter)]);
    expect(outcome).toMatchObject({ code: "NATS_REFERENCE_ONLY", sent: "no" });
  });

  it("makes no stream unless it is asked to", async () => {
    const { config } = await makeOrders();
    await capture(config);
    const says = async (change: Partial<NatsConfig>, words: string) => {
      const consumer = consumerOf(adapter, { ...config, stream: "ANOTHER", ...change }, async () => undefined);
      await eventually(() => consumer.state().lastError ?? "").toContain(words);
      await consumer.stop();
      await expect(jsm.streams.info("ANOTHER")).rejects.toThrow("stream not found");
    };
    await says({ createStream: false }, "nats stream add ANOTHER");
    await says({}, "another stream of this account captures these advisories: name it in stream");
  });
}

function redriveTests(): void {
  it("shows in a probe the id under which a message without one is parked", async () => {
    const { dead, deadSubject } = await makeStreams();
    await publish(deadSubject, { body: Buffer.from("{}"), headers: [] });
    const config = configOf({ stream: dead });
    const probed = await adapter.probe(config, never);
    const { eventId } = await parkOne(adapter, config);
    expect(probed.reachable && probed.sample.map((sample) => sample.eventId)).toEqual([eventId]);
  });

  it("sends each attempt where a naive relay is swallowed by the stream", async () => {
    const { dead, sent, deadSubject, sentSubject } = await makeStreams();
    const id: ExactMessage["headers"] = [["Nats-Msg-Id", Buffer.from("placed-1")]];
    const message = { body: Buffer.from("{}"), headers: id };
    await publish(sentSubject, message);
    await publish(deadSubject, message);
    const config = configOf({ stream: dead, redriveTo: { subject: sentSubject } });
    const letter = await parkOne(adapter, config);
    expect(letter.eventId).toBe("placed-1");
    await takeAll(sent);
    await publish(sentSubject, message); // as received: NATS says that it was stored
    expect(await takeAll(sent)).toEqual([]);
    await sendAll(adapter, config, [backOut(letter, { attempt: 1 }), backOut(letter, { attempt: 2 })]);
    expect(await takeAll(sent)).toHaveLength(2);
  });

  it.each<[string, NonNullable<NatsConfig["redriveTo"]>, string]>([
    ["the subject in a header", { subjectHeader: "X-Original-Subject" }, "header"],
    ["the subject without a prefix", { stripPrefix: "dead." }, "stripped"],
  ])("finds %s", async (_, redriveTo, kind) => {
    const { dead, deadSubject } = await makeStreams();
    const stripped = deadSubject.replace("dead.", "");
    const subject = kind === "header" ? `${stripped}.named` : stripped;
    await jsm.streams.add({ name: `TO_${stripped}`, subjects: [subject] });
    await publish(deadSubject, { body: Buffer.from("{}"), headers: [["x-original-subject", Buffer.from(subject)]] });
    const config = configOf({ stream: dead, redriveTo });
    await sendAll(adapter, config, [backOut(await parkOne(adapter, config))]);
    expect(await takeAll(`TO_${stripped}`)).toHaveLength(1);
  });

  it("refuses what it cannot send, before it sends it", async () => {
    const { dead, sent, sentSubject } = await makeStreams();
    const config = configOf({ stream: dead });
    const origin = { subject: sentSubject, stream: sent };
    const outcomes = await sendAll(adapter, config, [
      outbound({}),
      outbound({ subject: "orders.>" }),
      outbound(origin, { headers: [["x-lines", "a\r\nNats-Rollup: all"]] }),
      outbound(origin, { payload: Buffer.alloc(2 ** 20 + 1) }),
      outbound({ subject: `nobody.${sentSubject}` }),
    ]);
    expect(outcomes.map((outcome) => (outcome as PublishError).code)).toEqual([
      "NATS_NO_ORIGIN_SUBJECT",
      "NATS_NO_ORIGIN_SUBJECT",
      "NATS_INVALID_HEADER",
      "NATS_MAX_PAYLOAD_EXCEEDED",
      "NATS_NO_RESPONDERS",
    ]);
    const expecting = configOf({ stream: dead, redriveTo: { expectStream: true } });
    const [elsewhereStored] = await sendAll(adapter, expecting, [outbound({ ...origin, stream: "ANOTHER" })]);
    expect(elsewhereStored).toMatchObject({ code: "NATS_10060", sent: "no" });
    expect(await takeAll(sent)).toEqual([]);
  });

  it("reads by the subject that the source has now, and changes no consumer of somebody else", async () => {
    const id = randomBytes(4).toString("hex");
    const [dead, first, second] = [`DEAD_${id}`, `dead.${id}.first`, `dead.${id}.second`];
    await jsm.streams.add({ name: dead, subjects: [`dead.${id}.>`] });
    const config = configOf({ stream: dead, filter: first });
    /** What a source reads, with this configuration, of messages that are published once its consumer is as configured. */
    const reads = async (changed: NatsConfig): Promise<string[]> => {
      const parked: string[] = [];
      const consumer = consumerOf(adapter, changed, async (batch) => {
        parked.push(...batch.map(({ payload }) => Buffer.from(payload).toString()));
      });
      const present = async () => (await jsm.consumers.info(dead, "reader").catch(() => null))?.config;
      const { filter, ackWaitSeconds } = changed;
      await expect
        .poll(async () => [(await present())?.filter_subject ?? "", consumer.state().lastError], { timeout: 9000 })
        .toEqual([filter ?? "", null]);
      await eventually(async () => (await present())?.ack_wait).toBe(nanos(ackWaitSeconds! * 1_000));
      for (const subject of [first, second, first]) await publish(subject, { body: Buffer.from(subject), headers: [] });
      await publish(filter ?? second, { body: Buffer.from("the last"), headers: [] });
      await eventually(() => parked.at(-1)).toBe("the last");
      await consumer.stop();
      return parked.slice(0, -1);
    };
    expect(await reads(config)).toEqual([first, first]);
    expect((await reads({ ...config, filter: second, ackWaitSeconds: 7 })).slice(-1)).toEqual([second]);
    const { filter: _, ...all } = config;
    expect((await reads(all)).slice(-3)).toEqual([first, second, first]);

    await jsm.consumers.add(dead, { durable_name: "theirs", ack_policy: AckPolicy.Explicit, filter_subject: first });
    const consumer = consumerOf(adapter, { ...config, consumer: "theirs", filter: second }, async () => undefined);
    await eventually(() => consumer.state().lastError).toContain(`reads ${first}, not ${second}: change it`);
    await consumer.stop();
    expect((await jsm.consumers.info(dead, "theirs")).config.filter_subject).toBe(first);
  });

  it("holds messages for longer than the acknowledgement wait", async () => {
    const { dead, deadSubject } = await makeStreams();
    await publish(deadSubject, { body: Buffer.from("slow"), headers: [] });
    const commit = Promise.withResolvers<void>();
    let offered = 0;
    const consumer = consumerOf(adapter, configOf({ stream: dead, ackWaitSeconds: 6 }), async (batch) => {
      offered += batch.length;
      await commit.promise;
    });
    await eventually(() => offered).toBe(1);
    const handedOut = async () => (await jsm.consumers.info(dead, "reader")).num_redelivered;
    await systemClock.sleep(8_000); // longer than the wait: NATS would hand it out again
    expect(await handedOut()).toBe(0);
    commit.resolve();
    await eventually(async () => (await jsm.consumers.info(dead, "reader")).num_ack_pending).toBe(0);
    await consumer.stop();
  });
}

function permissionTests(): void {
  it.each([
    ["nopull", "stream", /no permission to publish to \$JS.API.CONSUMER.MSG.NEXT/],
    ["noack", "stream", /no permission to publish to \$JS.ACK/],
    ["noget", "advisories", /no permission to publish to \$JS.API.STREAM.MSG.GET/],
  ] as const)("names the permission that is missing: %s", async (user, read, says) => {
    const { orders, subject, config } = await makeOrders();
    const { dead, deadSubject } = await makeStreams();
    await capture(config);
    await publish(`${subject}.placed`, { body: Buffer.from("{}"), headers: [] });
    await failNext(orders, (message) => message.term());
    await publish(deadSubject, { body: Buffer.from("{}"), headers: [] });
    const denied = { user, password: "hunter2" };
    const consumer = consumerOf(
      adapter,
      read === "stream" ? configOf({ stream: dead, ...denied }) : { ...config, ...denied },
      async () => undefined,
    );
    await eventually(() => consumer.state().lastError ?? "").toMatch(says);
    await consumer.stop();
    // Nothing is lost: with the permission it is read.
    expect(await parkOne(adapter, read === "stream" ? configOf({ stream: dead }) : config)).toBeDefined();
  });

  it("goes on with the other streams when it may not read the one that an advisory names", async () => {
    const secret = await makeOrders({}, "SECRET");
    const { orders, subject, config } = await makeOrders();
    const { filter: _, ...both } = {
      ...config,
      consumer: `${config.consumer}_both`,
      user: "nosecret",
      password: "hunter2",
    };
    await capture(config);
    for (const [stream, at] of [
      ["SECRET", secret.subject],
      [orders, subject],
    ] as const) {
      await publish(`${at}.placed`, { body: Buffer.from(stream), headers: [] });
      await failNext(stream, (message) => message.term());
    }
    const parked: string[] = [];
    const consumer = consumerOf(adapter, both, async (batch) => {
      parked.push(...batch.map(({ payload }) => Buffer.from(payload).toString()));
    });
    await eventually(() => parked).toContain(orders);
    await eventually(() => consumer.state()).toMatchObject({
      state: "running",
      lastError: expect.stringMatching(/no permission to publish to \$JS.API.STREAM.MSG.GET.SECRET/),
    });
    await consumer.stop();
    // Nothing is lost: with the permission it is read.
    expect(parked).not.toContain("SECRET");
    expect(Buffer.from((await parkOne(adapter, secret.config)).payload).toString()).toBe("SECRET");
    await jsm.streams.delete("SECRET");
  });

  it("says that it may not publish", async () => {
    const { dead, sentSubject } = await makeStreams();
    const config = configOf({ stream: dead, user: "nosend", password: "hunter2" });
    const [outcome] = await sendAll(adapter, config, [outbound({ subject: sentSubject })]);
    expect(outcome).toMatchObject({ code: "NATS_PERMISSIONS_VIOLATION", sent: "no" });
  });
}
