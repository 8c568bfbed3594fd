import { isUtf8 } from "node:buffer";
import { isReferenceOnly } from "@/lib/brokers/conventions/convention";
import {
  REDRIVE_EVENT_ID,
  REDRIVE_FROM,
  REDRIVE_ORIGIN,
  REDRIVE_REVISION,
} from "@/lib/brokers/conventions/redrive-mark";
import { outboundHeaders } from "@/lib/brokers/outbound-headers";
import { type OutboundMessage, PublishError } from "@/lib/brokers/port";
import { type PubsubConfig, resourceName } from "@/lib/brokers/pubsub/kind.shapes";
import type { PubsubMessage } from "@/lib/brokers/pubsub/wire";

/** https://docs.cloud.google.com/pubsub/quotas#resource_limits: of a message, and of a request with all its messages. */
const MESSAGE_BYTES_MAX = 10_000_000;
const ATTRIBUTES_MAX = 100;
const NAME_BYTES_MAX = 256;
const VALUE_BYTES_MAX = 1_024;
/** Around each field of a message. */
const FIELD_BYTES = 12;

export type PubsubOutbound = {
  message: Pick<PubsubMessage, "data" | "attributes" | "orderingKey">;
  bytes: number;
};

export function refuse(code: string, message: string): PublishError {
  return new PublishError(code, message, { sent: "no" });
}

/** The topic that is set for a lane, else the one that the message names; null: its subscription has to be asked. */
export function topicOf({ origin }: OutboundMessage, config: PubsubConfig, lane: "main" | "slow"): string | null {
  const topic = (lane === "slow" ? config.slowLaneTopic : undefined) ?? config.redriveTo?.topic ?? origin.topic;
  return topic === undefined || topic === "" ? null : resourceName(config, "topics", topic);
}

/** Where `topicOf` finds none. */
export function originSubscriptionOf({ origin }: OutboundMessage): string {
  const { subscription } = origin;
  if (typeof subscription === "string" && /^projects\/[^/]+\/subscriptions\/[^/]+$/.test(subscription))
    return subscription;
  throw refuse(
    "PUBSUB_NO_ORIGIN_TOPIC",
    "the message does not name the subscription it died in: set redriveTo.topic in the source's configuration",
  );
}

/** Our own headers; those of the message always go, or nothing does. */
const MARK = /^(?:x-redrive-(?:id|attempt|from|event-id|revision)|x-retry-count|content-type)$/i;
/** Left out first where there is no room: the other marks tell a bounce. */
const LEFT_OUT_FIRST = [
  REDRIVE_ORIGIN,
  REDRIVE_FROM,
  REDRIVE_REVISION,
  "content-type",
  "x-retry-count",
  REDRIVE_EVENT_ID,
];

function attributesOf(message: OutboundMessage): Record<string, string> {
  const attributes: Record<string, string> = Object.create(null);
  for (const [name, value] of outboundHeaders(message)) {
    const bytes = Buffer.byteLength(name);
    if (name === "" || bytes > NAME_BYTES_MAX || /^goog/i.test(name))
      throw refuse("PUBSUB_INVALID_MESSAGE", `header ${name} cannot be the name of a Pub/Sub attribute: remove it`);
    if (Object.hasOwn(attributes, name))
      throw refuse("PUBSUB_INVALID_MESSAGE", `header ${name} occurs twice, which Pub/Sub does not support`);
    if (value === null || !isUtf8(value))
      throw refuse("PUBSUB_INVALID_MESSAGE", `header ${name} is not text, which Pub/Sub does not support`);
    if (value.length <= VALUE_BYTES_MAX) attributes[name] = value.toString("utf8");
    else if (!MARK.test(name))
      throw refuse("PUBSUB_INVALID_MESSAGE", `header ${name} is longer than the ${VALUE_BYTES_MAX} bytes of Pub/Sub`);
  }
  const first = message.traceparentAdded ? ["traceparent", ...LEFT_OUT_FIRST] : LEFT_OUT_FIRST;
  for (const name of first) if (Object.keys(attributes).length > ATTRIBUTES_MAX) delete attributes[name];
  const count = Object.keys(attributes).length;
  if (count > ATTRIBUTES_MAX)
    throw refuse(
      "PUBSUB_INVALID_MESSAGE",
      `the message has ${count} headers including those of the redrive, but Pub/Sub accepts ${ATTRIBUTES_MAX}: remove some`,
    );
  return attributes;
}

/** The Pub/Sub message of one attempt. Throws PublishError (`sent: "no"`) when the event cannot be sent as it is. */
export function outboundOf(message: OutboundMessage): PubsubOutbound {
  const { origin, payload } = message;
  if (isReferenceOnly(origin))
    throw refuse(
      "PUBSUB_INVALID_MESSAGE",
      "this dead letter refers to records that it does not contain: there is nothing to send",
    );
  const attributes = attributesOf(message);
  const orderingKey = origin.messageGroup ?? "";
  const bytes = Object.entries({ ...attributes, "": orderingKey }).reduce(
    (sum, [name, value]) => sum + Buffer.byteLength(name + value) + FIELD_BYTES,
    payload.byteLength + FIELD_BYTES,
  );
  if (bytes > MESSAGE_BYTES_MAX)
    throw refuse("PUBSUB_MESSAGE_TOO_LARGE", `the message is larger than the ${MESSAGE_BYTES_MAX} bytes of Pub/Sub`);
  return {
    message: { data: Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength), attributes, orderingKey },
    bytes,
  };
}
