import { HeaderView, type Message, storedHeader } from "@/lib/brokers/message";
import type { ReceivedMessage } from "@/lib/brokers/pubsub/wire";

/** A received message as the conventions read it. A header is an attribute. */
export function pubsubMessage({ message, deliveryAttempt }: ReceivedMessage, container: string): Message {
  const { data = new Uint8Array(), attributes = {}, messageId = "", publishTime, orderingKey = "" } = message ?? {};
  const entries = Object.entries(attributes);
  const sentAtMs =
    publishTime == null ? null : Number(publishTime.seconds) * 1000 + Math.floor(publishTime.nanos / 1_000_000);
  const properties: Record<string, string | number> = {
    messageId,
    ...(sentAtMs === null ? {} : { publishTimeMs: sentAtMs }),
    ...(orderingKey === "" ? {} : { orderingKey }),
    // Counted only for a subscription that has a dead-letter policy itself.
    ...(deliveryAttempt > 0 ? { deliveryAttempt } : {}),
  };
  return {
    container,
    headers: new HeaderView(entries),
    storedHeaders: () => entries.map(([name, value]) => storedHeader(name, Buffer.from(value))),
    body: data,
    messageId: messageId === "" ? null : messageId,
    type: null,
    contentType: null,
    sentAtMs,
    orderKey: orderingKey === "" ? null : orderingKey,
    property: (name) => (Object.hasOwn(properties, name) ? String(properties[name]) : null),
    origin: {
      deadLetter: { subscription: container, storedAtMs: sentAtMs },
      ...(orderingKey === "" ? {} : { messageGroup: orderingKey }),
      properties,
    },
    ownId: () => messageId,
  };
}
