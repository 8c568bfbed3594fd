import { headerText, type Message, type MessageResult, type Transport } from "@/lib/kit/outbox/message";
import { fromPublisher } from "@/lib/kit/outbox/transports/send-each";

type Properties = {
  messageId: string;
  type: string;
  contentType?: string;
  headers: Record<string, unknown>;
  persistent: true;
  mandatory: true;
};

/** A confirm channel of amqplib, by shape. */
export type RabbitmqChannel = {
  publish(
    exchange: string,
    routingKey: string,
    body: Buffer,
    properties: Properties,
    confirmed: (error: unknown) => void,
  ): boolean;
  on(event: "return", listener: (returned: { properties: { messageId?: string } }) => void): unknown;
};

/**
 * Sends with publisher confirms. A destination is a queue, or `exchange/routing.key`. A message that reaches no queue is
 * returned by the broker and counts as failed. `channel` may be a function that opens a new one after the old has closed.
 */
export function rabbitmqTransport(channel: RabbitmqChannel | (() => Promise<RabbitmqChannel>)): Transport {
  const returned = new Set<string>();
  const watched = new WeakSet<RabbitmqChannel>();
  const open = async () => {
    const current = typeof channel === "function" ? await channel() : channel;
    if (!watched.has(current)) {
      watched.add(current);
      // The broker returns a message before it confirms it.
      current.on("return", ({ properties }) => returned.add(properties.messageId ?? ""));
    }
    return current;
  };
  return fromPublisher(async (message) => {
    await publish(await open(), message);
    if (!returned.delete(message.id)) return;
    throw new Unroutable(`no queue is bound for ${message.destination}: declare it, or bind one to the exchange`);
  }, judge);
}

class Unroutable extends Error {}

/** Of amqplib, for a message that the broker refused. Every other error is a channel or connection that has closed. */
const NACKED = "message nacked";

function judge(error: unknown): MessageResult {
  const refused = error instanceof Unroutable || (error instanceof Error && error.message === NACKED);
  return { ok: false, error, outage: !refused };
}

function publish(channel: RabbitmqChannel, message: Message): Promise<void> {
  const slash = message.destination.indexOf("/");
  const exchange = slash < 0 ? "" : message.destination.slice(0, slash);
  const routingKey = message.destination.slice(slash + 1);
  return new Promise((resolve, reject) => {
    const body = Buffer.from(message.body.buffer, message.body.byteOffset, message.body.byteLength);
    channel.publish(exchange, routingKey, body, propertiesOf(message), (error) => (error ? reject(error) : resolve()));
  });
}

/** Of a name that comes twice the first value is sent: a header table has each name once. */
function propertiesOf({ id, eventType, headers }: Message): Properties {
  const table: Record<string, unknown> = {};
  for (const [name, value] of headers) {
    const text = value === null ? null : Buffer.from(value).toString("utf8");
    const isText = text === null || Buffer.from(text).equals(value!);
    if (!(name in table)) table[name] = isText ? text : Buffer.from(value!);
  }
  const contentType = headerText(headers, "content-type") ?? undefined;
  return { messageId: id, type: eventType, contentType, headers: table, persistent: true, mandatory: true };
}
