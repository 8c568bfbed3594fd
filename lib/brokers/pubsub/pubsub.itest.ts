import { verify } from "node:crypto";
import { describe, expect, it } from "vitest";
import { describeBroker, eventually, outbound } from "@/lib/brokers/broker.conformance";
import type { PublishError } from "@/lib/brokers/port";
import type { PubsubConfig } from "@/lib/brokers/pubsub/kind.shapes";
import {
  ACCOUNT,
  adapter,
  certificates,
  configOf,
  front,
  google,
  KEYS,
  makeHarness,
  makeTopics,
  never,
  onPubsub,
  type Pulled,
  produce,
  subscriptionName,
  takeAll,
  topicName,
} from "@/lib/brokers/pubsub/testing/pubsub-broker";
import { methodOf } from "@/lib/brokers/pubsub/wire";
import { backOut, parkOne, sendAll } from "@/lib/brokers/testing/round-trip";
import { describeWith } from "@/lib/testing/describe-with";
import { pubsubMissing } from "@/lib/testing/pubsub";

describeWith(pubsubMissing, "pubsub", () => {
  onPubsub();

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
    [8, "PUBSUB_RESOURCE_EXHAUSTED", "no", "a quota is exhausted"],
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
    const reader = adapter.reader!(configOf(names, port, { ackDeadlineSeconds: 600 }), "s");
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
    const session = await adapter.reader!(configOf(names, passing.port), "s").open(never, () => undefined);
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
    const session = await adapter.reader!(configOf(names, port), "s").open(never, () => undefined);
    expect(await session.take(10, never)).toHaveLength(1);
    await session.close(false);
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
