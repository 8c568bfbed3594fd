import { movedBySqs } from "@/lib/brokers/conventions/aws/sqs";
import type { Convention, Reading } from "@/lib/brokers/conventions/convention";
import { PayloadJson } from "@/lib/brokers/conventions/payload-json";
import { type HeaderValue, HeaderView, type Message } from "@/lib/brokers/message";
import type { Header } from "@/lib/platform/plain/dead-letter.pure";
import { instantMs } from "@/lib/platform/plain/iso-time.pure";
import { membersOf, skipSpace } from "@/lib/platform/plain/raw-json.pure";

/** What stands around the message of SNS in its envelope: a subscriber expects the envelope again. */
type Envelope = {
  before: string;
  after: string;
  /** The JSON text between them, when it is not as JSON.stringify writes it. */
  written?: string;
  /** Headers that lie in the envelope, and are no attributes of the SQS message. */
  headers: string[];
};

export function isEnvelope(value: unknown): value is Envelope {
  const { before, after, headers } = (value ?? {}) as Partial<Envelope>;
  return typeof before === "string" && typeof after === "string" && Array.isArray(headers);
}

/** The text of the whole envelope around a message, which a person may have changed. */
export function wrapped({ before, after, written }: Envelope, message: string): string {
  const unchanged = written !== undefined && JSON.parse(written) === message;
  return before + (unchanged ? written : JSON.stringify(message)) + after;
}

/** Where the value of `Message` lies in the bytes of an envelope; null when this is none. */
function messageIn(body: Buffer): { start: number; end: number } | null {
  // A cheap check before parsing: this code runs for every message of every queue.
  if (!body.includes('"TopicArn"')) return null;
  const json = new PayloadJson(body);
  const isText = (name: string) => typeof json.value(`/${name}`) === "string";
  if (json.value("/Type") !== "Notification" || !["TopicArn", "MessageId", "Message"].every(isText)) return null;
  const members = membersOf(body, skipSpace(body, 0), Number.POSITIVE_INFINITY);
  return members?.findLast(({ key }) => key === "Message") ?? null;
}

type Attribute = { Type?: unknown; Value?: unknown };

function attributesOf(json: PayloadJson): [Header, HeaderValue][] {
  const attributes = (json.value("/MessageAttributes") ?? {}) as Record<string, Attribute>;
  return Object.entries(attributes).flatMap(([name, { Type, Value }]): [Header, HeaderValue][] => {
    if (typeof Value !== "string") return [];
    if (Type === "Binary") return [[[name, Value, "bytes"], Buffer.from(Value, "base64")]];
    return [[[name, Value], Value]];
  });
}

function read(message: Message): Reading | null {
  if (message.body === null) return null;
  const body = Buffer.from(message.body.buffer, message.body.byteOffset, message.body.byteLength);
  const span = messageIn(body);
  if (span === null) return null;
  const json = new PayloadJson(body);
  const written = body.toString("utf8", span.start, span.end);
  const text = JSON.parse(written) as string;
  const own = message.storedHeaders();
  const inside = attributesOf(json).filter(([[name]]) => !own.some(([other]) => other === name));
  const envelope: Envelope = {
    before: body.toString("utf8", 0, span.start),
    after: body.toString("utf8", span.end),
    ...(JSON.stringify(text) === written ? {} : { written }),
    headers: inside.map(([[name]]) => name),
  };
  const outer = [...message.headers.names()].flatMap((name) =>
    message.headers.all(name).map((value): [string, HeaderValue] => [name, value]),
  );
  const property = (name: string) =>
    name === "TopicArn" || name === "Subject" ? json.scalar(`/${name}`) : message.property(name);
  return {
    convention: "sns",
    origin: { envelope, topic: json.scalar("/TopicArn")! },
    ...movedBySqs(message),
    failedAtMs: null,
    messageId: json.scalar("/MessageId"),
    eventType: null,
    inner: {
      ...message,
      headers: new HeaderView([...outer, ...inside.map(([[name], value]): [string, HeaderValue] => [name, value])]),
      storedHeaders: () => [...own, ...inside.map(([header]) => header)],
      body: Buffer.from(text, "utf8"),
      messageId: json.scalar("/MessageId"),
      sentAtMs: instantMs(json.scalar("/Timestamp")),
      property,
    },
  };
}

/** A notification of SNS without raw delivery: the message inside is parked, and a redrive writes the envelope around it again. */
export const sns: Convention = { name: "sns", owns: () => false, read };
