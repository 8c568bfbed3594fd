import { randomBytes } from "node:crypto";
import {
  createServer as createHttpServer,
  request as forward,
  type IncomingMessage,
  type RequestListener,
  type Server,
} from "node:http";
import { createServer as createTlsServer } from "node:https";
import {
  CreateQueueCommand,
  DeleteMessageBatchCommand,
  GetQueueAttributesCommand,
  type Message,
  type MessageAttributeValue,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
  type SendMessageCommandInput,
  SQSClient,
} from "@aws-sdk/client-sqs";
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
import { sqsAdapter } from "@/lib/brokers/sqs/adapter";
import { tens } from "@/lib/brokers/sqs/client";
import type { SqsConfig } from "@/lib/brokers/sqs/kind.shapes";
import { backOut, parkOne, sendAll } from "@/lib/brokers/testing/round-trip";
import type { DeadLetter } from "@/lib/intake/dead-letter.pure";
import { systemClock } from "@/lib/platform/clock";
import { type TestCertificates, testCertificates } from "@/lib/testing/certificates";
import { describeWith } from "@/lib/testing/describe-with";
import { elasticmqMissing, type TestElasticmq, testElasticmq } from "@/lib/testing/elasticmq";
import { startTcpProxy } from "@/lib/testing/tcp-proxy";

const never = new AbortController().signal;
const adapter = sqsAdapter({ clock: systemClock, random: () => 0 });
const KEYS = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "hunter2hunter2", region: "eu-central-1" };

let broker: TestElasticmq;
/** Straight to the broker, for setting up and looking on. */
let direct: SQSClient;
let certificates: TestCertificates;
const fronts: Server[] = [];

type Queues = { queue: string; url: string; dlq: string; dlqUrl: string };

type Made = { fifo?: boolean; dlq?: Record<string, string>; moves?: boolean };

/**
 * A queue whose messages move to a dead-letter queue of its own after one delivery. Without `moves` the two stand side by
 * side: ElasticMQ, killed and started again, loses queues that name another one.
 */
async function makeQueues({ fifo = false, dlq: dlqAttributes = {}, moves = true }: Made = {}): Promise<Queues> {
  const id = randomBytes(4).toString("hex");
  const kind = fifo ? ".fifo" : "";
  const create = async (QueueName: string, attributes: Record<string, string>) => {
    const Attributes = { ...attributes, ...(fifo ? { FifoQueue: "true" } : {}) };
    return (await direct.send(new CreateQueueCommand({ QueueName, Attributes }))).QueueUrl!;
  };
  const [queue, dlq] = [`orders-${id}${kind}`, `orders-${id}-dlq${kind}`];
  const dlqUrl = await create(dlq, dlqAttributes);
  const policy = { deadLetterTargetArn: `arn:aws:sqs:eu-central-1:000000000000:${dlq}`, maxReceiveCount: "1" };
  const url = await create(queue, {
    VisibilityTimeout: "0",
    ...(moves ? { RedrivePolicy: JSON.stringify(policy) } : {}),
  });
  return { queue, url, dlq, dlqUrl };
}

const NEEDED = { MessageSystemAttributeNames: ["All" as const], MessageAttributeNames: ["All"] };

/** Everything that is there, removed. */
async function takeAll(QueueUrl: string): Promise<Message[]> {
  const taken: Message[] = [];
  for (;;) {
    const { Messages = [] } = await direct.send(
      new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10, VisibilityTimeout: 60, ...NEEDED }),
    );
    if (Messages.length === 0) return taken;
    taken.push(...Messages);
    const Entries = Messages.map(({ ReceiptHandle }, index) => ({ Id: String(index), ReceiptHandle }));
    await direct.send(new DeleteMessageBatchCommand({ QueueUrl, Entries }));
  }
}

async function depthOf(QueueUrl: string): Promise<number> {
  const { Attributes = {} } = await direct.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ["All"] }));
  return Number(Attributes.ApproximateNumberOfMessages) + Number(Attributes.ApproximateNumberOfMessagesNotVisible);
}

/** A consumer that fails until SQS moves the message to the dead-letter queue. */
async function failNext({ url, dlqUrl }: Queues): Promise<void> {
  const before = await depthOf(dlqUrl);
  await eventually(async () => {
    await direct.send(new ReceiveMessageCommand({ QueueUrl: url, VisibilityTimeout: 0 }));
    return depthOf(dlqUrl);
  }).toBeGreaterThan(before);
}

/**
 * A server in front of the broker that answers one action as AWS does when it refuses it, which no emulator can, and
 * passes everything else on. Resolves with its address.
 */
async function front(options: {
  refuse?: { action: RegExp; error: string; message?: string; status?: number };
  tls?: { cert: string; key: string };
}): Promise<string> {
  const listener: RequestListener = (incoming: IncomingMessage, outgoing) => {
    const action = String(incoming.headers["x-amz-target"]).replace("AmazonSQS.", "");
    const { refuse } = options;
    if (refuse?.action.test(action)) {
      incoming.resume();
      outgoing.writeHead(refuse.status ?? 400, { "content-type": "application/x-amz-json-1.0" });
      const message = refuse.message ?? `User: arn:aws:iam::1:user/p is not authorized to perform: ${action}`;
      outgoing.end(JSON.stringify({ __type: `com.amazon.coral.service#${refuse.error}`, message }));
      return;
    }
    const { method, url, headers } = incoming;
    const passed = forward(new URL(url ?? "/", broker.endpoint), { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on("error", () => outgoing.destroy());
    outgoing.on("close", () => passed.destroy());
    incoming.pipe(passed);
  };
  const server = options.tls === undefined ? createHttpServer(listener) : createTlsServer(options.tls, listener);
  fronts.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  return `${options.tls === undefined ? "http" : "https"}://127.0.0.1:${port}`;
}

function configOf({ dlq }: Queues, change: Partial<SqsConfig> = {}): SqsConfig {
  return { ...KEYS, queue: dlq, endpoint: broker.endpoint, visibilitySeconds: 5, ...change };
}

/** The headers of an attribute list, and back. */
function attributesOf(headers: ExactMessage["headers"]): Record<string, MessageAttributeValue> {
  return Object.fromEntries(
    headers.map(([name, value]) => {
      const text = value?.toString("utf8") ?? "";
      const isText = value !== null && Buffer.from(text).equals(value) && !text.includes("\0");
      return [name, isText ? { DataType: "String", StringValue: text } : { DataType: "Binary", BinaryValue: value! }];
    }),
  );
}

function exactOf({ Body, MessageAttributes = {}, Attributes }: Message, fifo: boolean): ExactMessage {
  const group = Attributes?.MessageGroupId;
  return {
    key: fifo && group !== undefined && group !== NO_KEY ? Buffer.from(group) : null,
    body: Buffer.from(Body ?? ""),
    headers: Object.entries(MessageAttributes).map(([name, { StringValue, BinaryValue }]) => [
      name,
      Buffer.from(BinaryValue ?? StringValue ?? ""),
    ]),
  };
}

/** The group of messages that stand for ones without a key: a FIFO queue wants a group of every message. */
const NO_KEY = "no-key";

let sent = 0;
function orderOf(fifo: boolean, group: string) {
  sent += 1;
  return fifo ? { MessageGroupId: group, MessageDeduplicationId: `d-${sent}` } : {};
}

async function makeHarness(fifo: boolean): Promise<BrokerHarness<SqsConfig>> {
  const proxy = await startTcpProxy(Number(new URL(broker.endpoint).port));
  const queues = await makeQueues({ fifo, moves: false });
  const { queue, url, dlqUrl } = queues;
  const config = configOf(queues, { endpoint: `http://127.0.0.1:${proxy.port}` });
  const { cert, key } = certificates.server;
  const [secure, elsewhere] = [
    await front({ tls: { cert, key } }),
    await front({ tls: { cert: certificates.wrongName.cert, key: certificates.wrongName.key } }),
  ];
  const denied = (action: RegExp, error: string) => front({ refuse: { action, error } });
  const produceExact = async (messages: ExactMessage[]) => {
    for (const { key: group, body, headers } of messages) {
      const input: SendMessageCommandInput = {
        QueueUrl: dlqUrl,
        MessageBody: String(body),
        MessageAttributes: attributesOf(headers),
        ...orderOf(fifo, group === null ? NO_KEY : String(group)),
      };
      await direct.send(new SendMessageCommand(input));
    }
  };
  return {
    adapter,
    config,
    proxy,
    origin: { queue },
    refusing: { ...config, redriveTo: { queue: fifo ? "not-there.fifo" : "not-there" } },
    arrived: async () =>
      (await takeAll(url)).map(({ Body = "", MessageAttributes = {} }) => ({
        body: Buffer.from(Body),
        contentType: MessageAttributes["content-type"]?.StringValue ?? null,
        headers: Object.fromEntries(
          Object.entries(MessageAttributes).map(([name, { StringValue = "" }]) => [name.toLowerCase(), StringValue]),
        ),
      })),
    produce: async (bodies) => {
      for (const part of tens(bodies)) {
        const Entries = part.map((body, index) => ({
          Id: String(index),
          MessageBody: body,
          ...orderOf(fifo, body.slice(-1)), // a message that is held holds its group
        }));
        await direct.send(new SendMessageBatchCommand({ QueueUrl: dlqUrl, Entries }));
      }
    },
    unordered: true,
    remaining: () => depthOf(dlqUrl),
    exact: {
      carries: {
        keys: fifo,
        absentBody: false,
        emptyBody: false,
        binaryBody: false,
        nullHeaders: false,
        duplicateHeaders: false,
        binaryHeaders: true,
      },
      produceExact,
      arrivedExact: async () => (await takeAll(url)).map((message) => exactOf(message, fifo)),
      bounce: (message) => produceExact([message]),
      restart: async () => {
        await broker.kill();
        await broker.start();
      },
      misconfigured: [
        ["a queue that is not there", { ...config, queue: "not-there" }, /queue not-there does not exist/],
        [
          "wrong keys",
          { ...config, endpoint: await denied(/./, "UnrecognizedClientException") },
          /refuses the credentials.*check access key/,
        ],
        [
          "no permission to receive",
          { ...config, endpoint: await denied(/^ReceiveMessage$/, "AccessDeniedException") },
          /no permission for sqs:ReceiveMessage on queue orders-/,
        ],
        [
          "no permission to look the queue up",
          { ...config, endpoint: await denied(/^GetQueueUrl$/, "AccessDenied") },
          /no permission for sqs:GetQueueUrl/,
        ],
        [
          "no permission for the key of the queue",
          { ...config, endpoint: await denied(/^ReceiveMessage$/, "KmsAccessDeniedException") },
          /KMS key of queue orders-/,
        ],
        [
          "nobody there",
          { ...config, endpoint: "http://127.0.0.1:1" },
          /cannot reach http:\/\/127.0.0.1:1 \(ECONNREFUSED\)/,
        ],
        [
          "TLS towards a plain listener",
          { ...config, endpoint: config.endpoint!.replace("http:", "https:") },
          /does not speak TLS \(ERR_SSL_WRONG_VERSION_NUMBER\)/,
        ],
      ],
      tls: {
        good: { ...config, endpoint: secure, tls: { ca: certificates.ca } },
        refused: [
          ["an unknown authority", { ...config, endpoint: secure }, /is not trusted.*set tls.ca/],
          [
            "a certificate for another name",
            { ...config, endpoint: elsewhere, tls: { ca: certificates.ca } },
            /is for another name.*tls.servername/,
          ],
        ],
      },
    },
    stop: () => proxy.stop(),
  };
}

describeWith(elasticmqMissing, "sqs", () => {
  beforeAll(async () => {
    certificates = testCertificates();
    broker = await testElasticmq();
    direct = new SQSClient(broker.client);
  });
  afterEach(async () => {
    for (const server of fronts.splice(0)) {
      server.close();
      server.closeAllConnections();
    }
  });
  afterAll(async () => {
    direct?.destroy();
    await broker?.stop();
    certificates?.remove();
  });

  describeBroker<SqsConfig>("sqs", () => makeHarness(false));
  describe("fifo", () => describeBroker<SqsConfig>("sqs", () => makeHarness(true)));
  describe("a dead letter's way back", () => redriveTests());
  describe("refusals", () => refusalTests());
});

function redriveTests(): void {
  const EVERY_TYPE: Record<string, MessageAttributeValue> = {
    text: { DataType: "String", StringValue: "é" },
    json: { DataType: "String.json", StringValue: '{"a":1}' },
    count: { DataType: "Number", StringValue: "12345678901234567890123456789012345678" },
    integer: { DataType: "Number.int", StringValue: "-5" },
    bytes: { DataType: "Binary", BinaryValue: Uint8Array.of(0, 255, 128) },
    picture: { DataType: "Binary.png", BinaryValue: Uint8Array.of(137, 80) },
  };

  it("gives the consumer the message it would have got the first time, every attribute type included", async () => {
    const queues = await makeQueues();
    const trace = "Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1";
    await direct.send(
      new SendMessageCommand({
        QueueUrl: queues.url,
        MessageBody: '{"n": 12345678901234567890}',
        MessageAttributes: EVERY_TYPE,
        MessageSystemAttributes: { AWSTraceHeader: { DataType: "String", StringValue: trace } },
      }),
    );
    await failNext(queues);
    const letter = await parkOne(adapter, configOf(queues));
    expect(letter).toMatchObject({ errorCode: "DELIVERY_LIMIT", attempts: 1, origin: { queue: queues.queue } });
    expect(letter.origin.convention).toBe("sqs-redrive-policy");
    expect(await sendAll(adapter, configOf(queues), [backOut(letter)])).toEqual([{ status: "sent" }]);
    const [arrived] = await takeAll(queues.url);
    expect(arrived!.Body).toBe('{"n": 12345678901234567890}');
    expect(arrived!.Attributes?.AWSTraceHeader).toBe(trace);
    expect(arrived!.MessageAttributes).toMatchObject(EVERY_TYPE);
  });

  it("finds the queue of each message of a shared dead-letter queue", async () => {
    const [first, second] = [await makeQueues(), await makeQueues()];
    const config = configOf(first);
    const letters: DeadLetter[] = [];
    for (const { queue } of [first, second]) {
      await direct.send(new SendMessageCommand({ QueueUrl: first.dlqUrl, MessageBody: queue }));
      const letter = await parkOne(adapter, config);
      letters.push({ ...letter, origin: { ...letter.origin, queue } });
    }
    await sendAll(
      adapter,
      config,
      letters.map((letter) => backOut(letter)),
    );
    expect((await takeAll(first.url)).map(({ Body }) => Body)).toEqual([first.queue]);
    expect((await takeAll(second.url)).map(({ Body }) => Body)).toEqual([second.queue]);
  });

  it("delivers to a FIFO queue again within the five minutes in which a naive relay is swallowed", async () => {
    const queues = await makeQueues({ fifo: true });
    await direct.send(
      new SendMessageCommand({
        QueueUrl: queues.url,
        MessageBody: "{}",
        MessageGroupId: "order-1",
        MessageDeduplicationId: "placed-1",
      }),
    );
    await failNext(queues);
    const letter = await parkOne(adapter, configOf(queues));
    expect(letter).toMatchObject({ aggregateId: "order-1", origin: { messageGroup: "order-1" } });
    // As received: SQS answers that it was sent, and delivers nothing.
    const naive = { MessageGroupId: "order-1", MessageDeduplicationId: "placed-1" };
    await direct.send(new SendMessageCommand({ QueueUrl: queues.url, MessageBody: "{}", ...naive }));
    expect(await takeAll(queues.url)).toEqual([]);
    await sendAll(adapter, configOf(queues), [backOut(letter, { attempt: 1 }), backOut(letter, { attempt: 2 })]);
    const arrived = await takeAll(queues.url);
    expect(arrived.map(({ Attributes }) => Attributes?.MessageGroupId)).toEqual(["order-1", "order-1"]);
    expect(new Set(arrived.map(({ Attributes }) => Attributes?.MessageDeduplicationId)).size).toBe(2);
  });

  it("reads the messages of a FIFO group in their order, and acknowledges them", async () => {
    const queues = await makeQueues({ fifo: true });
    const bodies = Array.from({ length: 35 }, (_, n) => `m-${n}`);
    for (const MessageBody of bodies)
      await direct.send(new SendMessageCommand({ QueueUrl: queues.dlqUrl, MessageBody, ...orderOf(true, "one") }));
    const parked: string[] = [];
    const consumer = consumerOf(adapter, configOf(queues), async (batch) => {
      parked.push(...batch.map(({ payload }) => Buffer.from(payload).toString()));
    });
    await eventually(() => parked).toEqual(bodies);
    await eventually(() => depthOf(queues.dlqUrl)).toBe(0);
    await consumer.stop();
  });

  it("hides messages for as long as a commit takes", async () => {
    const queues = await makeQueues();
    await direct.send(new SendMessageCommand({ QueueUrl: queues.dlqUrl, MessageBody: "slow" }));
    const commit = Promise.withResolvers<void>();
    let offered = 0;
    const consumer = consumerOf(adapter, configOf(queues, { visibilitySeconds: 3 }), async (batch) => {
      offered += batch.length;
      await commit.promise;
    });
    await eventually(() => offered).toBe(1);
    const { Messages } = await direct.send(
      // Longer than the visibility timeout that the message was received with.
      new ReceiveMessageCommand({ QueueUrl: queues.dlqUrl, WaitTimeSeconds: 5 }),
    );
    expect(Messages ?? []).toEqual([]);
    commit.resolve();
    await eventually(() => depthOf(queues.dlqUrl)).toBe(0);
    await consumer.stop();
  });

  it("does not look into a queue that moves messages on, and holds them while they cannot be committed", async () => {
    const last = await makeQueues();
    const arn = `arn:aws:sqs:eu-central-1:000000000000:${last.dlq}`;
    const queues = await makeQueues({
      dlq: { RedrivePolicy: JSON.stringify({ deadLetterTargetArn: arn, maxReceiveCount: "3" }) },
    });
    await direct.send(new SendMessageCommand({ QueueUrl: queues.dlqUrl, MessageBody: "held" }));
    const probed = await adapter.probe(configOf(queues), never);
    expect(probed).toMatchObject({ reachable: true, depth: 1, sample: [], detail: expect.stringContaining("counts") });
    let calls = 0;
    const parked: DeadLetter[] = [];
    const consumer = consumerOf(adapter, configOf(queues), async (batch) => {
      calls += 1;
      if (calls < 5) throw new Error("the store is away");
      parked.push(...batch);
    });
    await eventually(() => parked.length).toBe(1);
    await consumer.stop();
    expect(await depthOf(last.dlqUrl)).toBe(0);
  });

  it("sends one message of a batch to nobody without harm to the others", async () => {
    const queues = await makeQueues();
    const origin = { queue: queues.queue };
    const outcomes = await sendAll(adapter, configOf(queues), [
      outbound(origin, { payload: Buffer.from("one") }),
      outbound(origin, { payload: Buffer.from("\u0001") }),
      outbound({ queue: "not-there" }, { payload: Buffer.from("nowhere") }),
      outbound({}, { payload: Buffer.from("unknown") }),
      outbound(origin, { payload: Buffer.alloc(1_048_577, "x") }),
      outbound(origin, { payload: Buffer.alloc(900_000, "x") }),
      outbound(origin, { payload: Buffer.from("two") }),
    ]);
    expect(outcomes.map((outcome) => (outcome as PublishError).code ?? "sent")).toEqual([
      "sent",
      "SQS_INVALID_MESSAGE_CONTENTS",
      "SQS_QUEUE_DOES_NOT_EXIST",
      "SQS_NO_ORIGIN_QUEUE",
      "SQS_MESSAGE_TOO_LARGE",
      "sent",
      "sent",
    ]);
    expect(outcomes.map((outcome) => (outcome as PublishError).sent ?? "sent")).not.toContain("maybe");
    expect(await takeAll(queues.url)).toHaveLength(3);
  });
}

function refusalTests(): void {
  const denied = (action: RegExp, error = "AccessDeniedException", status = 400) =>
    front({ refuse: { action, error, status } });

  it.each([
    ["AccessDeniedException", 400, "SQS_ACCESS_DENIED_EXCEPTION", "no", "no permission for sqs:SendMessage on queue"],
    ["RequestThrottled", 400, "SQS_REQUEST_THROTTLED", "no", "SQS_REQUEST_THROTTLED"],
    ["KmsDisabled", 400, "SQS_KMS_DISABLED", "no", "KMS key of queue"],
    ["InternalFailure", 500, "SQS_INTERNAL_FAILURE", "maybe", "SQS_INTERNAL_FAILURE"],
  ])("says what a send met: %s", async (error, status, code, sent, words) => {
    const queues = await makeQueues();
    const config = configOf(queues, { endpoint: await denied(/^SendMessageBatch$/, error, status) });
    const [outcome] = await sendAll(adapter, config, [outbound({ queue: queues.queue })]);
    expect(outcome).toMatchObject({ code, sent, message: expect.stringContaining(words) });
  });

  it.each([
    ["DeleteMessageBatch", "sqs:DeleteMessage"],
    ["ChangeMessageVisibilityBatch", "sqs:ChangeMessageVisibility"],
  ])("names the permission that is missing while it reads: %s", async (action, permission) => {
    const queues = await makeQueues();
    await direct.send(new SendMessageCommand({ QueueUrl: queues.dlqUrl, MessageBody: "x" }));
    const endpoint = await denied(new RegExp(`^${action}$`));
    const config = configOf(queues, { endpoint, visibilitySeconds: 3 });
    const held = Promise.withResolvers<void>();
    const consumer = consumerOf(adapter, config, async () => {
      // Held until the visibility timeout had to be extended once.
      if (action !== "DeleteMessageBatch") await Promise.race([held.promise, systemClock.sleep(2_000)]);
    });
    await eventually(() => consumer.state().lastError).toContain(`no permission for ${permission} on queue`);
    expect(await depthOf(queues.dlqUrl)).toBeGreaterThanOrEqual(0);
    held.resolve();
    await consumer.stop();
  });

  it("reads on without the permission to read the depth, and does not show one", async () => {
    const queues = await makeQueues();
    await direct.send(new SendMessageCommand({ QueueUrl: queues.dlqUrl, MessageBody: "x" }));
    const config = configOf(queues, { endpoint: await denied(/^GetQueueAttributes$/) });
    const probed = await adapter.probe(config, never);
    expect(probed).toMatchObject({
      reachable: true,
      depth: null,
      detail: expect.stringContaining("its depth is unknown"),
    });
    expect(await parkOne(adapter, config)).toMatchObject({ errorCode: "UNKNOWN" });
    await eventually(() => depthOf(queues.dlqUrl)).toBe(0);
  });
}
