import { generateKeyPairSync } from "node:crypto";
import { Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { afterEach, describe, expect, it, vi } from "vitest";
import { readDeadLetter } from "@/lib/brokers/conventions/read-dead-letter";
import { redactConfig } from "@/lib/brokers/kinds/config-secrets.shapes";
import { parseSourceConfig, targetAddress } from "@/lib/brokers/kinds/kinds.shapes";
import type { OutboundMessage } from "@/lib/brokers/port";
import { PubsubClient } from "@/lib/brokers/pubsub/client";
import { pubsubFault } from "@/lib/brokers/pubsub/failure";
import type { PubsubConfig } from "@/lib/brokers/pubsub/kind.shapes";
import { pubsubMessage } from "@/lib/brokers/pubsub/message";
import { originSubscriptionOf, outboundOf, topicOf } from "@/lib/brokers/pubsub/outbound";
import { methodOf } from "@/lib/brokers/pubsub/wire";
import { outboundMessage } from "@/lib/brokers/testing/outbound";
import { systemClock } from "@/lib/platform/clock";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";

const CONFIG: PubsubConfig = { subscription: "parkade", project: "shop-prod" };
/** The attributes of a dead-letter policy, with the values that the documentation of Google shows. */
const POLICY = {
  CloudPubSubDeadLetterSourceDeliveryCount: "5",
  CloudPubSubDeadLetterSourceSubscription: "orders-push",
  CloudPubSubDeadLetterSourceSubscriptionProject: "my-proj",
  CloudPubSubDeadLetterSourceTopicPublishTime: "2023-12-01T20:30:00.000+00:00",
};
/**
 * Recorded: an answer to Pull of Google's emulator 0.8.20, with a message `{}` 00 ff and event_id = order-7 that its dead-letter
 * policy forwarded after five refusals by @google-cloud/pubsub 5.3.1 on subscription billing.
 */
const PULLED = [
  "0aba020a2570726f6a656374732f73686f702f737562736372697074696f6e732f7061726b6164653a361290020a047b7d00",
  "ff12130a086576656e745f696412076f726465722d37122d0a28436c6f7564507562537562446561644c6574746572536f75",
  "72636544656c6976657279436f756e7412013512320a27436c6f7564507562537562446561644c6574746572536f75726365",
  "537562736372697074696f6e120762696c6c696e6712470a2b436c6f7564507562537562446561644c6574746572536f7572",
  "6365546f7069635075626c69736854696d651218323032362d31312d32325431313a35393a34302e3633355a12360a2e436c",
  "6f7564507562537562446561644c6574746572536f75726365537562736372697074696f6e50726f6a656374120473686f70",
  "1a0132220c08adb28bd8061080db8dae03",
].join("");
/** Recorded: how @google-cloud/pubsub 5.3.1 publishes the bytes 00 ff with a = é and the ordering key k. */
const PUBLISHED = "0a1370726f6a656374732f702f746f706963732f7412100a0200ff12070a01611202c3a92a016b";

type Given = { attributes?: Record<string, string>; data?: Buffer; orderingKey?: string; deliveryAttempt?: number };

function parked({
  attributes = {},
  data = Buffer.from("{}"),
  orderingKey = "",
  deliveryAttempt = 0,
}: Given): DeadLetter {
  const publishTime = { seconds: "1795347819", nanos: 110_000_000 };
  const message = { data, attributes, messageId: "m-1", publishTime, orderingKey };
  return readDeadLetter(pubsubMessage({ ackId: "a", message, deliveryAttempt }, "parkade"), {});
}

/** What the engine sends for it, after it has been through the store. */
function sent(letter: DeadLetter, change: Partial<OutboundMessage> = {}) {
  const stored = JSON.parse(JSON.stringify({ headers: letter.headers, origin: letter.origin }));
  const { eventId, payload, contentType } = letter;
  return outboundOf(outboundMessage({ eventId, payload, contentType, ...stored, ...change })).message;
}

describe("the wire", () => {
  it("reads what Google's emulator answers, a dead letter of a policy", () => {
    const { receivedMessages } = methodOf("Pull").responseDeserialize(Buffer.from(PULLED, "hex"));
    expect(receivedMessages).toHaveLength(1);
    const letter = readDeadLetter(pubsubMessage(receivedMessages[0]!, "parkade"), {});
    expect(letter).toMatchObject({
      eventId: "order-7",
      errorCode: "DELIVERY_LIMIT",
      attempts: 5,
      failedAtMs: 1_795_348_781_902,
      error: { message: "not acknowledged on subscription billing in 5 deliveries" },
    });
    expect([...letter.payload]).toEqual([0x7b, 0x7d, 0, 255]);
    expect(letter.headers[0]).toEqual(["event_id", "order-7"]);
    expect(letter.origin).toMatchObject({
      convention: "pubsub-dead-letter-policy",
      subscription: "projects/shop/subscriptions/billing",
      publishedAtMs: Date.parse("2026-11-22T11:59:40.635Z"),
      deadLetter: { subscription: "parkade" },
      properties: { messageId: "2", publishTimeMs: 1_795_348_781_902 },
    });
    expect(Object.keys(sent(letter).attributes).filter((name) => name.startsWith("CloudPubSub"))).toEqual([]);
  });

  it("publishes the same bytes as Google's own client", () => {
    const bytes = methodOf("Publish").requestSerialize({
      topic: "projects/p/topics/t",
      messages: [{ data: Buffer.from([0, 255]), attributes: { a: "é" }, orderingKey: "k" }],
    });
    expect(bytes.toString("hex")).toBe(PUBLISHED);
  });
});

describe("a dead-letter policy", () => {
  it("says what the delivery met, or what the consumer wrote before it failed", () => {
    const pushed = { ...POLICY, CloudPubSubDeadLetterSourceDeliveryErrorMessage: "table not found" };
    expect(parked({ attributes: pushed }).error.message).toBe("table not found");
    const written = { ...pushed, "x-error-type": "java.net.SocketTimeoutException", "x-error-message": "slow" };
    expect(parked({ attributes: written })).toMatchObject({
      errorCode: "TIMEOUT",
      error: { type: "java.net.SocketTimeoutException", message: "slow" },
    });
  });
});

describe("the topic of a redrive", () => {
  const lost = parked({ attributes: POLICY });
  const message = outboundMessage({ origin: lost.origin });
  it.each<[string, Partial<PubsubConfig>, "main" | "slow", string | null]>([
    ["is asked of the subscription it died in", {}, "main", null],
    ["is the one that is set", { redriveTo: { topic: "orders" } }, "main", "projects/shop-prod/topics/orders"],
    ["may be of another project", { redriveTo: { topic: "projects/b/topics/o" } }, "main", "projects/b/topics/o"],
    [
      "is that of the slow lane",
      { slowLaneTopic: "slow", redriveTo: { topic: "o" } },
      "slow",
      "projects/shop-prod/topics/slow",
    ],
    [
      "is the main one without a slow lane",
      { redriveTo: { topic: "orders" } },
      "slow",
      "projects/shop-prod/topics/orders",
    ],
  ])("%s", (_, change, lane, topic) => {
    expect(topicOf(message, { ...CONFIG, ...change }, lane)).toBe(topic);
  });

  it("is asked of no name that is no subscription", () => {
    expect(originSubscriptionOf(message)).toBe("projects/my-proj/subscriptions/orders-push");
    for (const subscription of [undefined, "orders", "projects/a/topics/b"]) {
      const of = outboundMessage({ origin: { subscription } });
      expect(() => originSubscriptionOf(of)).toThrow(
        expect.objectContaining({ code: "PUBSUB_NO_ORIGIN_TOPIC", sent: "no" }),
      );
    }
  });
});

describe("what Pub/Sub does not carry", () => {
  const many = (count: number): OutboundMessage["headers"] => Array.from({ length: count }, (_, n) => [`h-${n}`, "v"]);
  it.each<[string, Partial<OutboundMessage>, string]>([
    ["a header of no text", { headers: [["x", "/w==", "bytes"]] }, "PUBSUB_INVALID_MESSAGE"],
    ["an absent header", { headers: [["x", null]] }, "PUBSUB_INVALID_MESSAGE"],
    ["a header of Google", { headers: [["googclient_x", "1"]] }, "PUBSUB_INVALID_MESSAGE"],
    ["a name too long", { headers: [["x".repeat(257), "1"]] }, "PUBSUB_INVALID_MESSAGE"],
    ["a value too long", { headers: [["x", "v".repeat(1_025)]] }, "PUBSUB_INVALID_MESSAGE"],
    [
      "a header twice",
      {
        headers: [
          ["x", "1"],
          ["x", "2"],
        ],
      },
      "PUBSUB_INVALID_MESSAGE",
    ],
    ["too many headers", { headers: many(101) }, "PUBSUB_INVALID_MESSAGE"],
    ["a message too large", { payload: Buffer.alloc(10_000_000) }, "PUBSUB_MESSAGE_TOO_LARGE"],
    ["nothing but names of records", { origin: { payloadState: "reference-only" } }, "PUBSUB_INVALID_MESSAGE"],
  ])("is refused before it leaves: %s", (_, change, code) => {
    expect(() => outboundOf(outboundMessage(change))).toThrow(expect.objectContaining({ code, sent: "no" }));
  });

  it("leaves marks out where there is no room, and those last that tell a bounce", () => {
    const { attributes } = outboundOf(outboundMessage({ headers: many(98) })).message;
    expect(Object.keys(attributes)).toHaveLength(100);
    expect(attributes).toMatchObject({ "h-97": "v", "x-redrive-id": expect.any(String), "x-redrive-attempt": "1" });
    const long = outboundOf(outboundMessage({ eventId: "é".repeat(600) })).message;
    expect(long.attributes).not.toHaveProperty("x-redrive-event-id");
  });

  it("keeps text with a NUL, which headers store as bytes", () => {
    const letter = parked({ attributes: { x: "a\u0000b" } });
    expect(letter.headers).toEqual([["x", "YQBi", "bytes"]]);
    expect(sent(letter).attributes.x).toBe("a\u0000b");
  });
});

describe("a failed request in words", () => {
  const asked = {
    permission: "pubsub.topics.publish",
    resource: "projects/p/topics/orders",
    address: "pubsub.googleapis.com",
  };
  const failed = (code: status, details = "said") =>
    pubsubFault({ code, details, metadata: new Metadata() } as ServiceError, asked);
  it.each<[status, string, string, RegExp]>([
    [status.NOT_FOUND, "said", "PUBSUB_NOT_FOUND", /^topic orders of project p does not exist: check name and project/],
    [
      status.PERMISSION_DENIED,
      "said",
      "PUBSUB_PERMISSION_DENIED",
      /no permission pubsub.topics.publish on topic orders/,
    ],
    [status.UNAUTHENTICATED, "said", "PUBSUB_UNAUTHENTICATED", /refuses the credentials/],
    [status.RESOURCE_EXHAUSTED, "said", "PUBSUB_RESOURCE_EXHAUSTED", /a quota is exhausted: said/],
    [status.DEADLINE_EXCEEDED, "said", "PUBSUB_DEADLINE_EXCEEDED", /did not answer in time/],
    [
      status.FAILED_PRECONDITION,
      "said",
      "PUBSUB_FAILED_PRECONDITION",
      /a push, BigQuery or Cloud Storage subscription/,
    ],
    [
      status.INVALID_ARGUMENT,
      "said",
      "PUBSUB_INVALID_ARGUMENT",
      /INVALID_ARGUMENT for topic orders of project p: said/,
    ],
    [status.UNAVAILABLE, "goaway", "PUBSUB_UNAVAILABLE", /^lost pubsub.googleapis.com: goaway/],
    [
      status.UNAVAILABLE,
      "No connection established. Last error: Error: connect ECONNREFUSED 127.0.0.1:1",
      "ECONNREFUSED",
      /^cannot reach pubsub.googleapis.com \(ECONNREFUSED\)$/,
    ],
    [status.UNAVAILABLE, "Name resolution failed for target dns:nowhere:443", "ENOTFOUND", /cannot reach/],
    [
      status.UNAVAILABLE,
      "No connection established. Last error: Error: self-signed certificate in certificate chain",
      "SELF_SIGNED_CERT_IN_CHAIN",
      /is not trusted.*set tls.ca/,
    ],
    [
      status.UNAVAILABLE,
      "No connection established. Last error: Hostname/IP does not match certificate's altnames: Host: a.",
      "ERR_TLS_CERT_ALTNAME_INVALID",
      /is for another name.*tls.servername/,
    ],
  ])("%i %s", (code, details, name, text) => {
    const fault = failed(code, details);
    expect(fault.code).toBe(name);
    expect(fault.message).toMatch(text);
  });
});

describe("credentials", () => {
  afterEach(() => vi.unstubAllEnvs());
  const failing = async (settings: Partial<PubsubConfig> = {}) => {
    const client = new PubsubClient({ ...CONFIG, ...settings }, { clock: systemClock });
    try {
      return await client.call("GetTopic", { topic: "projects/p/topics/t" }).catch((error: unknown) => error);
    } finally {
      client.close();
    }
  };
  it.each([
    ["no JSON", "hunter2"],
    ["JSON of another type", '{"type":"external_account","audience":"hunter2"}'],
    ["null", "null"],
    ["a key that is none", '{"type":"service_account","client_email":"a@b","private_key":"hunter2"}'],
  ])("are refused in words without themselves, and before a connection: %s", async (_, credentials) => {
    const error = await failing({ credentials });
    expect(error).toMatchObject({ code: "PUBSUB_BAD_CREDENTIALS" });
    expect((error as Error).message).not.toContain("hunter2");
  });

  it.each([{ cert: "hunter2" }, { key: "hunter2" }])(
    "%o, a half of a client certificate, is refused before a connection",
    async (tls) => {
      const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
      const credentials = JSON.stringify({
        type: "service_account",
        client_email: "a@b",
        private_key: privateKey.export({ type: "pkcs8", format: "pem" }),
      });
      const error = await failing({ credentials, tls });
      expect(error).toMatchObject({ code: "PUBSUB_BAD_TLS", message: expect.stringContaining("must be set together") });
    },
  );

  it("of the worker go to no other server than Google's", async () => {
    expect(await failing({ endpoint: "https://pubsub.googleapis.com.example" })).toMatchObject({
      code: "PUBSUB_NO_CREDENTIALS",
      message: expect.stringContaining("set credentials for pubsub.googleapis.com.example"),
    });
  });

  it("of the worker are wanted when none are set", async () => {
    // No file and no server of metadata: nothing is asked over the network.
    vi.stubEnv("METADATA_SERVER_DETECTION", "none");
    vi.stubEnv("GOOGLE_APPLICATION_CREDENTIALS", "");
    vi.stubEnv("HOME", "/nonexistent");
    vi.stubEnv("CLOUDSDK_CONFIG", "/nonexistent");
    expect(await failing()).toMatchObject({
      code: "PUBSUB_NO_CREDENTIALS",
      message: expect.stringContaining("give the worker a service account"),
    });
  });
});

describe("the configuration of Pub/Sub", () => {
  const parse = (config: object) => () => parseSourceConfig("pubsub", config);
  const whole = "projects/shop-prod/subscriptions/dead-parkade";
  it.each<[object, string | null]>([
    [{ subscription: whole }, null],
    [{ subscription: "projects/example.com:shop/subscriptions/dead-parkade" }, null],
    [{ subscription: "dead-parkade", project: "shop-prod" }, null],
    [{ subscription: "dead-parkade" }, "config.project"],
    [{ subscription: "projects/shop-prod/topics/dead" }, "config.subscription"],
    [{ subscription: "dead parkade", project: "shop-prod" }, "config.subscription"],
    [{ subscription: whole, redriveTo: { topic: whole } }, "config.redriveTo.topic"],
    [{ subscription: whole, ackDeadlineSeconds: 5 }, "config.ackDeadlineSeconds"],
    [{ subscription: whole, endpoint: "localhost:8085" }, "config.endpoint"],
    [{ subscription: whole, endpoint: "http://localhost:8085" }, null],
    [
      { subscription: whole, endpoint: "http://localhost:8085", credentials: "env:PARKADE_SECRET_G" },
      "config.credentials",
    ],
  ])("names the field that is wrong: %j -> %s", (config, expected) => {
    if (expected === null) expect(parse(config)).not.toThrow();
    else
      expect(parse(config)).toThrow(
        expect.objectContaining({ fields: [expect.objectContaining({ field: expected })] }),
      );
  });

  it("shows no key, and where it delivers", () => {
    const config = { subscription: whole, credentials: '{"private_key":"hunter2"}', redriveTo: { topic: "orders" } };
    expect(JSON.stringify(redactConfig("pubsub", config))).not.toContain("hunter2");
    expect(targetAddress(parseSourceConfig("pubsub", config), "main")).toBe("topic orders");
    expect(targetAddress(parseSourceConfig("pubsub", { subscription: whole }), "slow")).toBe("origin topic");
  });
});
