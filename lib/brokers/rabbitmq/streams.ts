import { createHash } from "node:crypto";
import type { Channel, ChannelModel, ConsumeMessage } from "amqplib";
import { Inbox } from "@/lib/brokers/inbox";
import type { Position } from "@/lib/brokers/port";
import { AmqpError, amqpCode } from "@/lib/brokers/rabbitmq/connection";
import { receivedProperties } from "@/lib/brokers/rabbitmq/exact-properties";
import type { Clock } from "@/lib/platform/clock";

/** A stream over AMQP 0-9-1: a queue that is read from an offset, by any number of consumers, and loses nothing by it. */

/** The broker answers within milliseconds; after this time a stream that sent nothing has nothing there. */
const SILENT_MS = 2_000;
/** The messages of one chunk arrive together. */
const CHUNK_PAUSE_MS = 100;
const CHUNK_PREFETCH = 1_000;

/** Where a reading begins: `first`, `last` (the last chunk), `next`, an offset, or a time in seconds. */
export type StreamStart = "first" | "last" | "next" | number | { "!": "timestamp"; value: number };

/** What the setting `streamOffset` says. */
export function startOf(setting: string | undefined): StreamStart {
  if (setting === undefined || setting === "first" || setting === "next") return setting ?? "first";
  if (/^\d+$/.test(setting)) return Number(setting);
  return { "!": "timestamp", value: Math.floor(Date.parse(setting) / 1_000) };
}

/** Opens a channel for `use` alone, and closes it. */
async function withChannel<T>(model: ChannelModel, use: (channel: Channel) => Promise<T>): Promise<T> {
  const channel = await model.createChannel();
  channel.on("error", () => undefined); // the rejected call carries the same error
  try {
    return await use(channel);
  } finally {
    await channel.close().catch(() => undefined); // closed by an error
  }
}

/** Other types of queue refuse the argument. Nothing else that a user without further permissions may do tells them apart. */
export function isStream(model: ChannelModel, queue: string): Promise<boolean> {
  return withChannel(model, async (channel) => {
    await channel.checkQueue(queue);
    await channel.prefetch(1);
    try {
      await channel.consume(queue, () => undefined, { arguments: { "x-stream-offset": "next" } });
      return true;
    } catch (error) {
      if (amqpCode(error) === "AMQP_PRECONDITION_FAILED") return false;
      throw error;
    }
  });
}

/** null: it has none, or nobody can read its properties. */
export function offsetOf(message: ConsumeMessage): bigint | null {
  const properties = receivedProperties(message);
  if (!properties.readable) return null;
  const value = properties.properties.headers?.find(([name]) => name === "x-stream-offset")?.[1];
  const number = value !== undefined && "value" in value ? value.value : null;
  return typeof number === "bigint" || typeof number === "number" ? BigInt(number) : null;
}

/** By the body alone: a broker of another version may write the headers in another way. */
export function markOf(body: Uint8Array): string {
  return createHash("sha256").update(body).digest("hex");
}

type Peek = {
  start: StreamStart;
  /** Messages at most. */
  max: number;
  clock: Clock;
  silentMs?: number;
};

/** Hands what lies at `start` to `look`, until it has `max` messages or no more come. Changes nothing for any reader. */
export function peekStream(
  model: ChannelModel,
  queue: string,
  { start, max, clock, silentMs = SILENT_MS }: Peek,
  look: (message: ConsumeMessage) => void,
): Promise<void> {
  return withChannel(model, async (channel) => {
    const inbox = new Inbox<ConsumeMessage>();
    channel.on("close", () => inbox.fail(new AmqpError("AMQP_CHANNEL_CLOSED", "the channel was closed")));
    await channel.prefetch(Math.min(max, CHUNK_PREFETCH));
    const take = (message: ConsumeMessage | null) => {
      if (message === null) inbox.fail(new AmqpError("AMQP_NOT_FOUND", `stream ${queue} was deleted`));
      else inbox.push(message);
    };
    await channel.consume(queue, take, { arguments: { "x-stream-offset": start } });
    const endMs = clock.nowMs() + 5 * silentMs; // messages may come as fast as they are read
    let seen = 0;
    while (seen < max && clock.nowMs() < endMs) {
      await inbox.wait(1, { ms: seen === 0 ? silentMs : CHUNK_PAUSE_MS, clock });
      const messages = inbox.take(max - seen);
      if (messages.length === 0) return;
      messages.forEach(look);
      seen += messages.length;
      channel.ack(messages.at(-1)!, true);
    }
  });
}

/** The last message there is; null = the stream has none. */
export async function endOfStream(
  model: ChannelModel,
  queue: string,
  options: Pick<Peek, "clock" | "silentMs">,
): Promise<Position | null> {
  let end: { offset: bigint; body: Buffer } | null = null as { offset: bigint; body: Buffer } | null;
  await peekStream(model, queue, { start: "last", max: Number.POSITIVE_INFINITY, ...options }, (message) => {
    const offset = offsetOf(message);
    if (offset !== null) end = { offset, body: message.content };
  });
  return end === null ? null : { offset: end.offset, mark: markOf(end.body) };
}
