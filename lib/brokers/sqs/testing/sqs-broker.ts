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
import { afterAll, afterEach, beforeAll } from "vitest";
import { type BrokerHarness, type ExactMessage, eventually } from "@/lib/brokers/broker.conformance";
import { sqsAdapter } from "@/lib/brokers/sqs/adapter";
import { tens } from "@/lib/brokers/sqs/client";
import type { SqsConfig } from "@/lib/brokers/sqs/kind.shapes";
import { systemClock } from "@/lib/platform/clock";
import { type TestCertificates, testCertificates } from "@/lib/testing/certificates";
import { type TestElasticmq, testElasticmq } from "@/lib/testing/elasticmq";
import { startTcpProxy } from "@/lib/testing/tcp-proxy";

export const never = new AbortController().signal;
export const adapter = sqsAdapter({ clock: systemClock, random: () => 0 });
const KEYS = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "hunter2hunter2", region: "eu-central-1" };

let broker: TestElasticmq;
/** Straight to the broker, for setting up and looking on. */
export let direct: SQSClient;
let certificates: TestCertificates;
const fronts: Server[] = [];

type Queues = { queue: string; url: string; dlq: string; dlqUrl: string };

type Made = { fifo?: boolean; dlq?: Record<string, string>; moves?: boolean };

/**
 * A queue whose messages move to a dead-letter queue of its own after one delivery. Without `moves` the two stand side by
 * side: ElasticMQ, killed and started again, loses queues that name another one.
 */
export async function makeQueues({ fifo = false, dlq: dlqAttributes = {}, moves = true }: Made = {}): Promise<Queues> {
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
export async function takeAll(QueueUrl: string): Promise<Message[]> {
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

export async function depthOf(QueueUrl: string): Promise<number> {
  const { Attributes = {} } = await direct.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ["All"] }));
  return Number(Attributes.ApproximateNumberOfMessages) + Number(Attributes.ApproximateNumberOfMessagesNotVisible);
}

/** A consumer that fails until SQS moves the message to the dead-letter queue. */
export async function failNext({ url, dlqUrl }: Queues): Promise<void> {
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
export async function front(options: {
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

export function configOf({ dlq }: Queues, change: Partial<SqsConfig> = {}): SqsConfig {
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
export function orderOf(fifo: boolean, group: string) {
  sent += 1;
  return fifo ? { MessageGroupId: group, MessageDeduplicationId: `d-${sent}` } : {};
}

export async function makeHarness(fifo: boolean): Promise<BrokerHarness<SqsConfig>> {
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
    leases: true,
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

/** Starts ElasticMQ for the suite at hand. */
export function onElasticmq(): void {
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
}
