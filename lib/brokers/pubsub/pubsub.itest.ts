import { generateKeyPairSync, randomBytes, verify } from "node:crypto";
import { once } from "node:events";
import {
  connect,
  constants,
  createSecureServer,
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { PubSub, v1 } from "@google-cloud/pubsub";
import { credentials as grpcCredentials } from "@grpc/grpc-js";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import {
  type BrokerHarness,
  consumerOf,
  describeBroker,
  type ExactMessage,
  eventually,
  outbound,
} from "@/lib/brokers/broker.conformance";
import type { PublishError } from "@/lib/brokers/port";
import { pubsubAdapter } from "@/lib/brokers/pubsub/adapter";
import type { PubsubConfig } from "@/lib/brokers/pubsub/kind.shapes";
import { methodOf } from "@/lib/brokers/pubsub/wire";
import { memoryPositions } from "@/lib/brokers/testing/positions";
import { backOut, parkOne, sendAll } from "@/lib/brokers/testing/round-trip";
import type { DeadLetter } from "@/lib/intake/dead-letter.pure";
import { systemClock } from "@/lib/platform/clock";
import { type TestCertificates, testCertificates } from "@/lib/testing/certificates";
import { describeWith } from "@/lib/testing/describe-with";
import { pubsubMissing, type TestPubsub, testPubsub } from "@/lib/testing/pubsub";
import { startTcpProxy } from "@/lib/testing/tcp-proxy";

const never = new AbortController().signal;
const adapter = pubsubAdapter({ clock: systemClock, random: () => 0 });
const PROJECT = "shop-test";
const KEYS = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  publicKeyEncoding: { type: "spki", format: "pem" },
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
});
const ACCOUNT = JSON.stringify({
  type: "service_account",
  client_email: "parkade@shop-test.iam.gserviceaccount.com",
  private_key: KEYS.privateKey,
  private_key_id: "key-7",
});

let broker: TestPubsub;
/** Google's own client, straight to the broker: sets up, produces, consumes. */
let google: PubSub;
let pulling: InstanceType<typeof v1.SubscriberClient>;
let certificates: TestCertificates;
const closers: (() => Promise<void>)[] = [];

const topicName = (id: string) => `projects/${PROJECT}/topics/${id}`;
const subscriptionName = (id: string) => `projects/${PROJECT}/subscriptions/${id}`;

type Names = { topic: string; readers: string; dead: string; deadReaders: string };

/** A topic with a subscription for its application, and a dead-letter topic with one for Parkade. */
async function makeTopics({ policy = false, deadPolicy = false } = {}): Promise<Names> {
  const id = randomBytes(4).toString("hex");
  const names = { topic: `orders-${id}`, readers: `billing-${id}`, dead: `dead-${id}`, deadReaders: `parkade-${id}` };
  await google.createTopic(names.topic);
  await google.createTopic(names.dead);
  const toDead = { deadLetterPolicy: { deadLetterTopic: topicName(names.dead), maxDeliveryAttempts: 5 } };
  // With order and a dead-letter policy at once the emulator forwards nothing.
  await google.createSubscription(names.topic, names.readers, {
    ackDeadlineSeconds: 10,
    ...(policy ? toDead : { enableMessageOrdering: true }),
  });
  await google.createSubscription(names.dead, names.deadReaders, {
    ackDeadlineSeconds: 10,
    ...(deadPolicy ? { deadLetterPolicy: { deadLetterTopic: topicName(names.topic), maxDeliveryAttempts: 5 } } : {}),
  });
  return names;
}

type Pulled = { data: Buffer; attributes: Record<string, string>; orderingKey: string };

/** Everything that is there, acknowledged. */
async function takeAll(id: string): Promise<Pulled[]> {
  const subscription = subscriptionName(id);
  const taken: Pulled[] = [];
  for (;;) {
    const [{ receivedMessages }] = await pulling.pull({ subscription, maxMessages: 1_000, returnImmediately: true });
    if (!receivedMessages?.length) return taken;
    for (const { message } of receivedMessages)
      taken.push({
        data: Buffer.from(message!.data as Uint8Array),
        attributes: (message!.attributes ?? {}) as Record<string, string>,
        orderingKey: message!.orderingKey ?? "",
      });
    await pulling.acknowledge({ subscription, ackIds: receivedMessages.map(({ ackId }) => ackId!) });
  }
}

async function produce(topic: string, messages: Partial<Pulled>[]): Promise<void> {
  const made = google.topic(topic, { messageOrdering: true, batching: { maxMilliseconds: 1 } });
  await Promise.all(messages.map((message) => made.publishMessage(message)));
}

type FrontOptions = {
  /** Answers of Google that no emulator gives. `details`: bytes of `grpc-status-details-bin`. */
  refuse?: (method: string, request: Buffer) => { code: number; message?: string; details?: Buffer } | null;
  /** What the caller may do, as IAM says it; the emulator has no IAM. */
  permitted?: string[];
  tls?: { cert: string; key: string };
};

type Front = {
  port: number;
  /** Ids of the messages that were acknowledged through it. */
  acknowledged: Set<string>;
  calls: { method: string; headers: IncomingHttpHeaders }[];
  close(): Promise<void>;
};

/** The bytes of a message behind the five of gRPC's frame. */
const unframed = (body: Buffer) => body.subarray(5);
function framed(body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(body.length, 1);
  return Buffer.concat([head, body]);
}

async function bodyOf(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** A server of HTTP/2 in front of the emulator: counts acknowledgements, and answers some requests as Google does. */
async function front({ refuse, permitted, tls }: FrontOptions = {}): Promise<Front> {
  const upstream = connect(`http://${broker.address}`);
  upstream.on("error", () => undefined);
  const messageIds = new Map<string, string>();
  const acknowledged = new Set<string>();
  const calls: Front["calls"] = [];
  const GRPC = { ":status": 200, "content-type": "application/grpc" };

  const serve = async (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    const path = String(headers[":path"]);
    const method = path.slice(path.lastIndexOf("/") + 1);
    calls.push({ method, headers });
    const asked = await bodyOf(stream);
    const refused = refuse?.(method, unframed(asked)) ?? null;
    if (refused !== null) {
      const { code, message = "", details } = refused;
      const bytes = details === undefined ? {} : { "grpc-status-details-bin": details.toString("base64") };
      stream.respond({ ...GRPC, "grpc-status": code, "grpc-message": message, ...bytes }, { endStream: true });
      return;
    }
    if (permitted !== undefined && method === "TestIamPermissions") {
      const answer = methodOf("TestIamPermissions").responseSerialize({ permissions: permitted });
      stream.respond(GRPC, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.end(framed(answer));
      return;
    }
    const timeout = headers["grpc-timeout"];
    const passed = upstream.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
      ...(timeout === undefined ? {} : { "grpc-timeout": timeout }),
    });
    // An acknowledgement that was sent counts, also when its sender is cut off before the answer.
    if (method !== "Acknowledge") stream.on("close", () => passed.close(constants.NGHTTP2_CANCEL));
    passed.on("error", () => stream.close(constants.NGHTTP2_INTERNAL_ERROR));
    let trailers: IncomingHttpHeaders = {};
    passed.on("trailers", (received) => {
      trailers = received;
    });
    passed.end(asked);
    const [answered] = (await once(passed, "response")) as [IncomingHttpHeaders];
    const body = await bodyOf(passed);
    if (method === "Acknowledge" && trailers["grpc-status"] === "0")
      for (const ackId of methodOf("Acknowledge").requestDeserialize(unframed(asked)).ackIds)
        acknowledged.add(messageIds.get(ackId)!);
    if (stream.closed) return;
    if (answered["grpc-status"] !== undefined) {
      stream.respond(
        { ...GRPC, "grpc-status": answered["grpc-status"], "grpc-message": answered["grpc-message"] },
        { endStream: true },
      );
      return;
    }
    if (method === "Pull" && body.length > 0)
      for (const { ackId, message } of methodOf("Pull").responseDeserialize(unframed(body)).receivedMessages)
        messageIds.set(ackId, message!.messageId);
    stream.respond(GRPC, { waitForTrailers: true });
    stream.on("wantTrailers", () =>
      stream.sendTrailers({ "grpc-status": trailers["grpc-status"], "grpc-message": trailers["grpc-message"] }),
    );
    stream.end(body);
  };

  const server: Http2Server = tls === undefined ? createServer() : createSecureServer(tls);
  const sessions = new Set<ServerHttp2Session>();
  server.on("session", (session) => sessions.add(session));
  server.on("stream", (stream, headers) => {
    stream.on("error", () => undefined);
    serve(stream, headers).catch(() => stream.close());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = async () => {
    for (const session of sessions) session.destroy();
    upstream.destroy();
    server.close();
  };
  closers.push(close);
  return { port: (server.address() as AddressInfo).port, acknowledged, calls, close };
}

function configOf({ deadReaders }: Names, port: number, change: Partial<PubsubConfig> = {}): PubsubConfig {
  return {
    subscription: subscriptionName(deadReaders),
    endpoint: `http://127.0.0.1:${port}`,
    ackDeadlineSeconds: 10,
    ...change,
  };
}

async function makeHarness(): Promise<BrokerHarness<PubsubConfig>> {
  const names = await makeTopics();
  const counting = await front();
  const proxy = await startTcpProxy(counting.port);
  const config = configOf(names, proxy.port);
  let produced = 0;
  const produceExact = async (messages: ExactMessage[]) => {
    produced += messages.length;
    await produce(
      names.dead,
      messages.map(({ key, body, headers }) => ({
        data: body!,
        orderingKey: key?.toString() ?? "",
        // Pub/Sub takes no message of nothing at all.
        attributes:
          headers.length === 0 && body!.length === 0
            ? { "content-type": "text/plain" }
            : Object.fromEntries(headers.map(([name, value]) => [name, String(value)])),
      })),
    );
  };
  const { server, wrongName } = certificates;
  const secure = async ({ cert, key }: { cert: string; key: string }) =>
    `https://localhost:${(await front({ tls: { cert, key } })).port}`;
  const refusing = async (code: number, methods: RegExp) =>
    `http://127.0.0.1:${(await front({ refuse: (method) => (methods.test(method) ? { code, message: "no" } : null) })).port}`;
  const [endpoint, elsewhere] = [await secure(server), await secure(wrongName)];
  await google.createSubscription(names.dead, `${names.deadReaders}-push`, { pushEndpoint: "http://127.0.0.1:9/push" });
  const login = { credentials: ACCOUNT };
  return {
    adapter,
    config,
    proxy,
    origin: { topic: topicName(names.topic) },
    refusing: { ...config, redriveTo: { topic: "not-there" } },
    arrived: async () =>
      (await takeAll(names.readers)).map(({ data, attributes }) => ({
        body: data,
        contentType: attributes["content-type"] ?? null,
        headers: Object.fromEntries(Object.entries(attributes).map(([name, value]) => [name.toLowerCase(), value])),
      })),
    produce: async (bodies) => {
      produced += bodies.length;
      await produce(
        names.dead,
        bodies.map((body) => ({ data: Buffer.from(body) })),
      );
    },
    unordered: true,
    uncounted: true,
    remaining: async () => produced - counting.acknowledged.size,
    exact: {
      carries: {
        keys: true,
        absentBody: false,
        emptyBody: true,
        binaryBody: true,
        nullHeaders: false,
        duplicateHeaders: false,
        headerOrder: "sorted",
        binaryHeaders: false,
      },
      produceExact,
      arrivedExact: async () =>
        (await takeAll(names.readers)).map(({ data, attributes, orderingKey }) => ({
          key: orderingKey === "" ? null : Buffer.from(orderingKey),
          body: data,
          headers: Object.entries(attributes).map(([name, value]) => [name, Buffer.from(value)]),
        })),
      bounce: (message) => produceExact([message]),
      restart: null, // the emulator keeps nothing over a restart
      misconfigured: [
        [
          "a subscription that is not there",
          { ...config, subscription: subscriptionName("not-there") },
          /subscription not-there of project shop-test does not exist/,
        ],
        [
          "a refused key",
          { ...config, endpoint: await refusing(16, /./) },
          /refuses the credentials: check the service account key/,
        ],
        [
          "no permission to pull",
          { ...config, endpoint: await refusing(7, /^Pull$/) },
          /no permission pubsub.subscriptions.consume on subscription parkade-/,
        ],
        [
          "no permission, as IAM says before",
          { ...config, endpoint: `http://127.0.0.1:${(await front({ permitted: [] })).port}` },
          /no permission pubsub.subscriptions.consume on subscription parkade-/,
        ],
        [
          "a push subscription",
          { ...config, subscription: subscriptionName(`${names.deadReaders}-push`) },
          /pushes to an address: make a pull subscription/,
        ],
        [
          "credentials that are none",
          { ...config, endpoint, tls: { ca: certificates.ca }, credentials: "hunter2" },
          /credentials is no JSON: give the whole JSON key/,
        ],
        ["nobody there", { ...config, endpoint: "http://127.0.0.1:1" }, /cannot reach 127.0.0.1:1 \(ECONNREFUSED\)/],
      ],
      tls: {
        good: { ...config, ...login, endpoint, tls: { ca: certificates.ca } },
        refused: [
          ["an unknown authority", { ...config, ...login, endpoint }, /is not trusted.*set tls.ca/],
          [
            "a certificate for another name",
            { ...config, ...login, endpoint: elsewhere, tls: { ca: certificates.ca } },
            /is for another name.*tls.servername/,
          ],
        ],
      },
    },
    stop: () => proxy.stop(),
  };
}

describeWith(pubsubMissing, "pubsub", () => {
  beforeAll(async () => {
    certificates = testCertificates();
    broker = await testPubsub();
    process.env.PUBSUB_EMULATOR_HOST = broker.address;
    process.env.METADATA_SERVER_DETECTION = "none";
    google = new PubSub({ projectId: PROJECT });
    pulling = new v1.SubscriberClient({
      servicePath: "127.0.0.1",
      port: broker.port,
      sslCreds: grpcCredentials.createInsecure(),
    });
  });
  afterEach(async () => {
    await Promise.all(closers.splice(0).map((close) => close()));
  });
  afterAll(async () => {
    await pulling?.close();
    await google?.close();
    await broker?.stop();
    certificates?.remove();
  });

  describeBroker<PubsubConfig>("pubsub", makeHarness);
  describe("a dead letter's way", () => wayTests());
  describe("leases and acknowledgements", () => leaseTests());
  describe("logging in", () => loginTests());
});

function wayTests(): void {
  it("parks what a dead-letter policy gave up, and brings it back to a consumer of Google's own client", async () => {
    const names = await makeTopics({ policy: true });
    const { port } = await front();
    await produce(names.topic, [
      { data: Buffer.from('{"n": 12345678901234567890}'), attributes: { "ce-tenant": "eu", event_id: "order-7" } },
    ]);
    const consumer = google.subscription(names.readers);
    let taken: Pulled | null = null;
    let fails = true;
    consumer.on("message", (message) => {
      if (fails) return message.nack();
      taken = { data: message.data, attributes: message.attributes, orderingKey: message.orderingKey ?? "" };
      message.ack();
    });
    consumer.on("error", () => undefined);
    try {
      const config = configOf(names, port);
      const letter = await parkOne(adapter, config);
      expect(letter).toMatchObject({ eventId: "order-7", errorCode: "DELIVERY_LIMIT", attempts: 5 });
      expect(letter.failedAtMs).toBeGreaterThan(0);
      expect(letter.origin).toMatchObject({
        convention: "pubsub-dead-letter-policy",
        subscription: subscriptionName(names.readers),
        publishedAtMs: expect.any(Number),
      });
      fails = false;
      expect(await sendAll(adapter, config, [backOut(letter)])).toEqual([{ status: "published" }]);
      await eventually(() => taken?.data.toString()).toBe('{"n": 12345678901234567890}');
      const { attributes } = taken!;
      expect(attributes).toMatchObject({ "ce-tenant": "eu", event_id: "order-7", "x-redrive-event-id": "order-7" });
      expect(Object.keys(attributes).filter((name) => name.startsWith("CloudPubSub"))).toEqual([]);
    } finally {
      await consumer.close();
    }
  });

  it("sends to the topic that is set, and the slow lane to its own", async () => {
    const [names, other] = [await makeTopics(), await makeTopics()];
    const { port } = await front();
    const config = configOf(names, port, { redriveTo: { topic: other.topic }, slowLaneTopic: topicName(other.dead) });
    const message = outbound({ topic: topicName(names.topic), messageGroup: "order-1" });
    expect(await sendAll(adapter, config, [message])).toEqual([{ status: "published" }]);
    expect(await sendAll(adapter, config, [message], "slow")).toEqual([{ status: "published" }]);
    expect(await takeAll(names.readers)).toEqual([]);
    expect(await takeAll(other.readers)).toMatchObject([{ orderingKey: "order-1" }]);
    expect(await takeAll(other.deadReaders)).toHaveLength(1);
  });

  it("sends one message of a batch to nobody without harm to the others", async () => {
    const names = await makeTopics();
    // Pub/Sub refuses a whole request for one of its messages.
    const { port } = await front({
      refuse: (method, request) =>
        method === "Publish" && request.includes("poison") ? { code: 3, message: "no" } : null,
    });
    const origin = { topic: topicName(names.topic) };
    const bodies = Array.from({ length: 20 }, (_, n) => outbound(origin, { payload: Buffer.from(`b-${n}`) }));
    const outcomes = await sendAll(adapter, configOf(names, port), [
      ...bodies,
      outbound(origin, { payload: Buffer.from("poison") }),
      outbound({ topic: topicName("not-there") }),
      outbound({ subscription: subscriptionName("gone") }),
      outbound({}),
      outbound(origin, { payload: Buffer.alloc(10_000_001, "x") }),
      outbound(origin, { payload: Buffer.alloc(6_000_000, "x") }),
      outbound(origin, { payload: Buffer.alloc(6_000_000, "y") }),
      outbound({ ...origin, messageGroup: "k" }, { headers: [["goog-x", "1"]] }),
    ]);
    expect(outcomes.map((outcome) => (outcome as PublishError).code ?? "published").slice(bodies.length)).toEqual([
      "PUBSUB_INVALID_ARGUMENT",
      "PUBSUB_NOT_FOUND",
      "PUBSUB_NO_ORIGIN_TOPIC",
      "PUBSUB_NO_ORIGIN_TOPIC",
      "PUBSUB_MESSAGE_TOO_LARGE",
      "published",
      "published",
      "PUBSUB_INVALID_MESSAGE",
    ]);
    expect(outcomes.map((outcome) => (outcome as PublishError).sent ?? "published")).not.toContain("maybe");
    expect(await takeAll(names.readers)).toHaveLength(bodies.length + 2);
  });

  it.each([
    [7, "PUBSUB_PERMISSION_DENIED", "no", "no permission pubsub.topics.publish on topic orders-"],
    [8, "PUBSUB_RESOURCE_EXHAUSTED", "no", "a quota is used up"],
    [4, "PUBSUB_DEADLINE_EXCEEDED", "maybe", "did not answer in time"],
    [14, "PUBSUB_UNAVAILABLE", "maybe", "lost 127.0.0.1"],
  ])("says what a send met: %i", async (code, name, sent, said) => {
    const names = await makeTopics();
    const { port } = await front({ refuse: (method) => (method === "Publish" ? { code, message: "x" } : null) });
    const [outcome] = await sendAll(adapter, configOf(names, port), [outbound({ topic: topicName(names.topic) })]);
    expect(outcome).toMatchObject({ code: name, sent, message: expect.stringContaining(said) });
  });

  it("reads on without the permission to look the subscription up, and does not sample it", async () => {
    const names = await makeTopics();
    const passing = await front({ refuse: (method) => (method === "GetSubscription" ? { code: 7 } : null) });
    await produce(names.dead, [{ data: Buffer.from("x") }]);
    const config = configOf(names, passing.port);
    expect(await adapter.probe(config, never)).toMatchObject({
      reachable: true,
      depth: null,
      sample: [],
      detail: expect.stringContaining("not sampled: without pubsub.subscriptions.get"),
    });
    expect(await parkOne(adapter, config)).toMatchObject({ errorCode: "UNKNOWN", origin: { convention: "generic" } });
    await eventually(() => passing.acknowledged.size).toBe(1);
  });

  it("says which permission names the origin topic", async () => {
    const names = await makeTopics();
    const { port } = await front({ refuse: (method) => (method === "GetSubscription" ? { code: 7 } : null) });
    const [outcome] = await sendAll(adapter, configOf(names, port), [
      outbound({ subscription: subscriptionName(names.readers) }),
    ]);
    expect(outcome).toMatchObject({ code: "PUBSUB_PERMISSION_DENIED", sent: "no" });
    expect((outcome as Error).message).toMatch(/pubsub.subscriptions.get on subscription billing-.*redriveTo.topic/);
  });
}

/** A field of bytes in the wire format of protobuf. */
function bytesField(id: number, value: Buffer | string): Buffer {
  const bytes = Buffer.from(value as string);
  const length: number[] = [];
  for (let left = bytes.length; ; left >>>= 7) {
    length.push(left > 127 ? (left & 127) | 128 : left);
    if (left <= 127) break;
  }
  return Buffer.concat([Buffer.from([(id << 3) | 2, ...length]), bytes]);
}

/** What Google says of single ids of a subscription with exactly-once delivery: google.rpc.Status with an ErrorInfo. */
function idFailures(failures: [ackId: string, said: string][]): Buffer {
  const entries = failures.map(([ackId, said]) =>
    bytesField(3, Buffer.concat([bytesField(1, ackId), bytesField(2, said)])),
  );
  const any = Buffer.concat([
    bytesField(1, "type.googleapis.com/google.rpc.ErrorInfo"),
    bytesField(2, Buffer.concat(entries)),
  ]);
  return bytesField(3, any);
}

function leaseTests(): void {
  it("keeps a message from others for as long as its commit takes", async () => {
    const names = await makeTopics();
    const passing = await front();
    await produce(names.dead, [{ data: Buffer.from("slow") }]);
    const extended = () => passing.calls.filter(({ method }) => method === "ModifyAckDeadline").length;
    let offered = 0;
    const consumer = consumerOf(adapter, configOf(names, passing.port), async () => {
      offered += 1;
      // One at once, then one every 3.3 s: beyond the ten seconds of the first.
      await expect.poll(extended, { interval: 50 }).toBeGreaterThanOrEqual(5);
      expect(await takeAll(names.deadReaders)).toEqual([]);
    });
    await expect.poll(() => passing.acknowledged.size, { interval: 50 }).toBe(1);
    await consumer.stop();
    expect(offered).toBe(1);
  });

  it("asks for fewer messages when an answer with all of them is too large", async () => {
    const names = await makeTopics();
    const asked: number[] = [];
    // The words of our own gRPC; the emulator sends no answer of this size.
    const tooLarge = { code: 8, message: "Received message larger than max (70000000 vs 67108864)" };
    const passing = await front({
      refuse: (method, request) => {
        if (method !== "Pull") return null;
        asked.push(methodOf("Pull").requestDeserialize(request).maxMessages);
        return asked.at(-1)! > 100 ? tooLarge : null;
      },
    });
    await produce(names.dead, [{ data: Buffer.from("x") }]);
    expect(await parkOne(adapter, configOf(names, passing.port))).toMatchObject({ eventId: expect.any(String) });
    expect(asked.slice(0, 4)).toEqual([500, 250, 125, 62]);
  });

  it("gives back at once what it holds when it stops", async () => {
    const names = await makeTopics();
    const { port } = await front();
    await produce(names.dead, [{ data: Buffer.from("a") }]);
    const reader = adapter.reader!(configOf(names, port, { ackDeadlineSeconds: 600 }), "s", memoryPositions());
    const session = await reader.open(never, () => undefined);
    expect(await session.take(10, never)).toHaveLength(1);
    expect(await takeAll(names.deadReaders)).toEqual([]);
    await session.close(true);
    await eventually(async () => (await takeAll(names.deadReaders)).length).toBe(1);
  });

  it("acknowledges again what failed for a moment, and leaves what is not its own any more", async () => {
    const names = await makeTopics();
    const tried: string[][] = [];
    const passing = await front({
      refuse: (method, request) => {
        if (method !== "Acknowledge") return null;
        const { ackIds } = methodOf("Acknowledge").requestDeserialize(request);
        tried.push(ackIds);
        if (tried.length > 1) return null;
        const said = ["PERMANENT_FAILURE_INVALID_ACK_ID", "TRANSIENT_FAILURE_UNORDERED_ACK_ID"];
        return { code: 9, details: idFailures(ackIds.slice(0, 2).map((id, at) => [id, said[at]!])) };
      },
    });
    await produce(
      names.dead,
      ["a", "b", "c"].map((body) => ({ data: Buffer.from(body) })),
    );
    const session = await adapter.reader!(configOf(names, passing.port), "s", memoryPositions()).open(
      never,
      () => undefined,
    );
    const taken = await session.take(10, never);
    expect(taken).toHaveLength(3);
    await session.acknowledge(taken.map(({ handle }) => handle));
    expect(tried).toEqual([tried[0], [tried[0]![1]]]);
    await session.close(false);
  });

  it("does not park what Pub/Sub says is another's before it was stored", async () => {
    const names = await makeTopics();
    const { port } = await front({
      refuse: (method, request) => {
        if (method !== "ModifyAckDeadline") return null;
        const [lost] = methodOf("ModifyAckDeadline").requestDeserialize(request).ackIds;
        return { code: 9, details: idFailures([[lost!, "PERMANENT_FAILURE_INVALID_ACK_ID"]]) };
      },
    });
    await produce(
      names.dead,
      ["a", "b"].map((body) => ({ data: Buffer.from(body) })),
    );
    const session = await adapter.reader!(configOf(names, port), "s", memoryPositions()).open(never, () => undefined);
    expect(await session.take(10, never)).toHaveLength(1);
    await session.close(false);
  });

  it("holds what cannot be stored where a return counts towards a policy, and is not looked into there", async () => {
    const names = await makeTopics({ deadPolicy: true });
    const { port } = await front();
    await produce(names.dead, [{ data: Buffer.from("last") }]);
    const config = configOf(names, port);
    const probed = await adapter.probe(config, never);
    expect(probed).toMatchObject({ reachable: true, sample: [], detail: expect.stringContaining("not sampled") });
    const parked: DeadLetter[] = [];
    let calls = 0;
    const consumer = consumerOf(adapter, config, async (batch) => {
      calls += 1;
      if (calls < 8) throw new Error("the store is away");
      parked.push(...batch);
    });
    await expect.poll(() => parked.length, { interval: 50 }).toBe(1);
    await consumer.stop();
    expect(await takeAll(names.readers)).toEqual([]);
  });
}

function loginTests(): void {
  it("signs its own token with the service account key, and asks no other server for one", async () => {
    const names = await makeTopics();
    const { cert, key } = certificates.server;
    const passing = await front({ tls: { cert, key } });
    const config = configOf(names, passing.port, {
      endpoint: `https://localhost:${passing.port}`,
      tls: { ca: certificates.ca },
      credentials: ACCOUNT,
    });
    expect(await adapter.probe(config, never)).toMatchObject({ reachable: true });
    const authorization = String(passing.calls[0]!.headers.authorization);
    const [head, claims, signature] = authorization.replace(/^Bearer /, "").split(".");
    const read = (part: string | undefined) => JSON.parse(Buffer.from(part!, "base64url").toString());
    expect(read(head)).toMatchObject({ alg: "RS256", kid: "key-7" });
    expect(read(claims)).toMatchObject({
      iss: JSON.parse(ACCOUNT).client_email,
      aud: "https://pubsub.googleapis.com/",
    });
    expect(
      verify("RSA-SHA256", Buffer.from(`${head}.${claims}`), KEYS.publicKey, Buffer.from(signature!, "base64url")),
    ).toBe(true);
  });

  it("sends nothing secret to an emulator", async () => {
    const names = await makeTopics();
    const passing = await front();
    await adapter.probe(configOf(names, passing.port), never);
    expect(passing.calls.length).toBeGreaterThan(0);
    expect(passing.calls.filter(({ headers }) => headers.authorization !== undefined)).toEqual([]);
  });
}
