import { generateKeyPairSync, randomBytes } from "node:crypto";
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
import { afterAll, afterEach, beforeAll } from "vitest";
import type { BrokerHarness, ExactMessage } from "@/lib/brokers/broker.conformance";
import { pubsubAdapter } from "@/lib/brokers/pubsub/adapter";
import type { PubsubConfig } from "@/lib/brokers/pubsub/kind.shapes";
import { methodOf } from "@/lib/brokers/pubsub/wire";
import { systemClock } from "@/lib/platform/clock";
import { type TestCertificates, testCertificates } from "@/lib/testing/certificates";
import { type TestPubsub, testPubsub } from "@/lib/testing/pubsub";
import { startTcpProxy } from "@/lib/testing/tcp-proxy";

export const never = new AbortController().signal;
export const adapter = pubsubAdapter({ clock: systemClock, random: () => 0 });
const PROJECT = "shop-test";
export const KEYS = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  publicKeyEncoding: { type: "spki", format: "pem" },
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
});
export const ACCOUNT = JSON.stringify({
  type: "service_account",
  client_email: "parkade@shop-test.iam.gserviceaccount.com",
  private_key: KEYS.privateKey,
  private_key_id: "key-7",
});

let broker: TestPubsub;
/** Google's own client, straight to the broker: sets up, produces, consumes. */
export let google: PubSub;
let pulling: InstanceType<typeof v1.SubscriberClient>;
export let certificates: TestCertificates;
const closers: (() => Promise<void>)[] = [];

export const topicName = (id: string) => `projects/${PROJECT}/topics/${id}`;
export const subscriptionName = (id: string) => `projects/${PROJECT}/subscriptions/${id}`;

type Names = { topic: string; readers: string; dead: string; deadReaders: string };

/** A topic with a subscription for its application, and a dead-letter topic with one for Parkade. */
export async function makeTopics({ policy = false, deadPolicy = false } = {}): Promise<Names> {
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

export type Pulled = { data: Buffer; attributes: Record<string, string>; orderingKey: string };

/** Everything that is there, acknowledged. */
export async function takeAll(id: string): Promise<Pulled[]> {
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

export async function produce(topic: string, messages: Partial<Pulled>[]): Promise<void> {
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
export async function front({ refuse, permitted, tls }: FrontOptions = {}): Promise<Front> {
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

export function configOf({ deadReaders }: Names, port: number, change: Partial<PubsubConfig> = {}): PubsubConfig {
  return {
    subscription: subscriptionName(deadReaders),
    endpoint: `http://127.0.0.1:${port}`,
    ackDeadlineSeconds: 10,
    ...change,
  };
}

export async function makeHarness(): Promise<BrokerHarness<PubsubConfig>> {
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
    leases: true,
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

/** Starts the emulator for the suite at hand. */
export function onPubsub(): void {
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
}
