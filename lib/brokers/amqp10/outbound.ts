import { createHash } from "node:crypto";
import type { Amqp10Config } from "@/lib/brokers/amqp10/kind.shapes";
import type { BodyShape } from "@/lib/brokers/amqp10/message";
import {
  dataSection,
  PROPERTIES,
  type Properties,
  readSections,
  type Sections,
  valueSection,
  writeSections,
} from "@/lib/brokers/amqp10/sections";
import { type AmqpValue, AmqpValueError, fromHeader, fromJson } from "@/lib/brokers/amqp10/value";
import { stripFailureHeaders } from "@/lib/brokers/conventions/detect";
import { UNREADABLE } from "@/lib/brokers/conventions/read-dead-letter";
import {
  furtherMarks,
  REDRIVE_ATTEMPT,
  REDRIVE_EVENT_ID,
  REDRIVE_FROM,
  REDRIVE_ID,
  RETRY_COUNT,
} from "@/lib/brokers/conventions/redrive-mark";
import { type OutboundMessage, PublishError } from "@/lib/brokers/port";
import { identityOf } from "@/lib/platform/plain/dead-letter.pure";

export type Amqp10Outbound = { to: string; bytes: Buffer };

/** Artemis drops a message whose value it has seen lately, and accepts it all the same. */
const DUPLICATE_ID = "_AMQ_DUPL_ID";
/** The broker checks the user; times would end the message again. */
const NOT_RESTORED = new Set(["userId", "absoluteExpiryTime"]);

function refuse(code: string, message: string, cause?: unknown): PublishError {
  return new PublishError(code, message, { sent: "no", cause });
}

function addressOf({ origin }: OutboundMessage, config: Amqp10Config, lane: "main" | "slow"): string {
  const to = (lane === "slow" ? config.slowLaneAddress : undefined) ?? config.redriveTo?.address ?? origin.queue;
  if (to !== undefined && to !== "") return to;
  const subscription = typeof origin.subscription === "string" ? origin.subscription : null;
  throw refuse(
    "AMQP_NO_ORIGIN_QUEUE",
    subscription === null
      ? "the message does not name the address it died at: set redriveTo.address in the source's configuration"
      : `nothing can be sent to the subscription ${subscription}, and its topic delivers to every subscription: set redriveTo.address to a queue of the consumer, or to the topic`,
  );
}

/** Another one for each attempt: a broker that detects duplicates swallows an id that it knows. */
function transportId(message: OutboundMessage): string {
  const { redriveId, attempt } = message;
  return createHash("sha256")
    .update(`${redriveId} ${identityOf(message)} ${attempt}`)
    .digest("hex")
    .slice(0, 32);
}

function propertiesOf(message: OutboundMessage, config: Amqp10Config): Properties {
  const { origin, contentType } = message;
  const stored = origin.properties ?? {};
  const properties: Properties = {};
  for (const name of PROPERTIES)
    if (stored[name] !== undefined && !NOT_RESTORED.has(name)) properties[name] = fromJson(stored[name]);
  if (contentType !== "" && contentType !== origin.contentTypeAssumed)
    properties.contentType = { type: "symbol", value: contentType };
  const renewed = config.redriveTo?.messageId ?? (origin.convention === "service-bus" ? "new" : "keep");
  if (renewed === "new") properties.messageId = { type: "string", value: transportId(message) };
  return properties;
}

function countLike(parked: AmqpValue | undefined, count: number): AmqpValue {
  switch (parked?.type) {
    case "long":
    case "ulong":
      return { type: parked.type, value: BigInt(count) };
    case "int":
    case "uint":
      return { type: parked.type, value: count };
    default:
      return { type: "string", value: String(count) };
  }
}

function applicationOf(message: OutboundMessage): Sections["application"] {
  const { retryCount = 0 } = message;
  const own = stripFailureHeaders(message.headers, message.origin.convention).map((header): [string, AmqpValue] => [
    header[0],
    header[0] === DUPLICATE_ID ? { type: "string", value: transportId(message) } : fromHeader(header),
  ]);
  const text = (value: string): AmqpValue => ({ type: "string", value });
  const parked = own.find(([name]) => name.toLowerCase() === RETRY_COUNT);
  const all: Sections["application"] = [
    ...(retryCount === 0 ? own : own.filter((entry) => entry !== parked)),
    [REDRIVE_ID, text(message.redriveId)],
    [REDRIVE_ATTEMPT, text(String(message.attempt))],
    [REDRIVE_FROM, text(message.from)],
    [REDRIVE_EVENT_ID, text(message.eventId)],
    ...furtherMarks(message).map(([name, value]) => [name, text(value)] as const),
    ...(retryCount === 0 ? [] : ([[parked?.[0] ?? RETRY_COUNT, countLike(parked?.[1], retryCount)]] as const)),
  ].map(([name, value]) => [name as string, value as AmqpValue]);
  // Names of a map are unique on this wire; of a header that came from elsewhere twice, the first value counts.
  const seen = new Set<string>();
  return all.filter(([name]) => !seen.has(name) && seen.add(name));
}

function bodyOf({ payload, origin }: OutboundMessage): Buffer {
  const shape = (origin.body ?? "data") as BodyShape;
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  const empty = bytes.length === 0 && origin.absentBody === true;
  if (empty) return shape === "null" ? valueSection({ type: "null" }) : Buffer.alloc(0);
  if (shape === "string") return valueSection({ type: "string", value: bytes.toString("utf8") });
  if (shape === "binary") return valueSection({ type: "binary", value: bytes });
  if (shape === "encoded") {
    const { body } = readSections(bytes);
    const rest = Buffer.concat(body.map((one) => one.bytes));
    if (body.length > 0 && rest.equals(bytes)) return bytes;
    throw new AmqpValueError("the edited payload is no longer a valid AMQP 1.0 body");
  }
  // A payload that was edited has other lengths: it goes as one section.
  if (!Array.isArray(shape) || shape.reduce((sum, length) => sum + length, 0) !== bytes.length)
    return dataSection(bytes);
  let at = 0;
  return Buffer.concat(
    shape.map((length) => {
      at += length;
      return dataSection(bytes.subarray(at - length, at));
    }),
  );
}

/** The message of one attempt. Throws PublishError (`sent: "no"`) when the event cannot be sent as it is. */
export function outboundOf(message: OutboundMessage, config: Amqp10Config, lane: "main" | "slow"): Amqp10Outbound {
  const { origin } = message;
  if (origin.convention === UNREADABLE)
    throw refuse("AMQP_UNREADABLE", "this message could not be decoded, so it cannot be sent back");
  const to = addressOf(message, config, lane);
  const stored = Array.isArray(origin.annotations) ? (origin.annotations as [string, unknown][]) : [];
  try {
    const bytes = writeSections({
      priority: origin.priority === undefined ? undefined : fromJson(origin.priority),
      annotations: stored.map(([name, value]) => [name, fromJson(value)]),
      properties: propertiesOf(message, config),
      application: applicationOf(message),
      body: bodyOf(message),
    });
    return { to, bytes };
  } catch (cause) {
    throw refuse("AMQP_INVALID_MESSAGE", cause instanceof Error ? cause.message : String(cause), cause);
  }
}
