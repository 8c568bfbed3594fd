import { HeaderView, type Message, storedHeader, textOrNull } from "@/lib/brokers/message";
import { headersOf } from "@/lib/brokers/nats/header-block";
import type { Origin } from "@/lib/platform/plain/dead-letter.pure";

export type FromStream = {
  stream: string;
  subject: string;
  seq: number;
  /** When the stream stored it, since 1970, as decimal text; null for a message that it holds no longer. */
  timeNanos: string | null;
  headers: Uint8Array | null;
  /** null: the stream holds it no longer. */
  data: Uint8Array | null;
};

/** What NATS says of a message that it gave up. */
type Advisory = {
  type: string;
  id: string;
  timestamp: string;
  stream: string;
  consumer: string;
  stream_seq: number;
  deliveries: number;
  reason?: string;
  domain?: string;
};

/** `io.nats.jetstream.advisory.v1.max_deliver` or `...terminated`, or null. */
export function advisoryOf(data: Uint8Array): Advisory | null {
  try {
    const advisory = JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("utf8"));
    const { type, stream, consumer, stream_seq } = advisory as Partial<Advisory>;
    const complete = typeof stream === "string" && typeof consumer === "string" && Number.isSafeInteger(stream_seq);
    return complete && /\.(max_deliver|terminated)$/.test(type ?? "") ? (advisory as Advisory) : null;
  } catch {
    return null;
  }
}

function storedAtMs({ timeNanos }: Pick<FromStream, "timeNanos">): number | null {
  return timeNanos === null ? null : Number(BigInt(timeNanos) / 1_000_000n);
}

function messageOf(from: FromStream, origin: Origin, properties: Record<string, string>): Message {
  const headers = headersOf(from.headers);
  const view = new HeaderView(headers.map(([name, value]) => [name, textOrNull(value) ?? value]));
  return {
    container: from.stream,
    headers: view,
    storedHeaders: () => headers.map(([name, value]) => storedHeader(name, value)),
    body: from.data,
    messageId: view.text("Nats-Msg-Id"),
    type: null,
    contentType: null,
    sentAtMs: storedAtMs(from),
    orderKey: null,
    property: (name) => properties[name] ?? null,
    origin: { ...origin, properties },
    // A stream that is made again begins with the same sequences, at other times.
    ownId: () => `${from.stream}:${from.seq}:${from.timeNanos}`,
  };
}

/** A dead letter that a consumer has published to a stream of dead letters. */
export function deadLetterMessage(from: FromStream): Message {
  const { stream, subject, seq } = from;
  const deadLetter = { stream, subject, sequence: String(seq), storedAtMs: storedAtMs(from) };
  return messageOf(from, { deadLetter }, { subject, stream, sequence: String(seq) });
}

/** The message that an advisory names, with what the advisory says. `adviser`: the advisory's own place. */
export function advisedMessage(
  original: FromStream,
  advisory: Advisory,
  adviser: Pick<FromStream, "stream" | "subject" | "seq" | "timeNanos">,
): Message {
  const { stream, subject, seq } = original;
  const { consumer, deliveries, reason, domain, timestamp, type } = advisory;
  return messageOf(
    original,
    {
      ...(subject === "" ? {} : { subject }),
      stream,
      streamSequence: String(seq),
      consumer,
      deadLetter: {
        stream: adviser.stream,
        subject: adviser.subject,
        sequence: String(adviser.seq),
        storedAtMs: storedAtMs(adviser),
      },
    },
    {
      subject,
      stream,
      sequence: String(seq),
      advisory: type,
      consumer,
      deliveries: String(deliveries),
      failedAt: timestamp,
      ...(reason === undefined ? {} : { reason }),
      ...(domain === undefined ? {} : { domain }),
    },
  );
}
