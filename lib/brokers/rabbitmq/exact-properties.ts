import type { ChannelModel, ConfirmChannel } from "amqplib";
import { type BasicProperties, decodeProperties, encodeProperties } from "@/lib/brokers/rabbitmq/basic-properties";

/**
 * amqplib decodes headers into plain JavaScript: every integer width becomes `number` (64-bit ones rounded), binary
 * strings become U+FFFD, duplicates merge; and it refuses to send more than 64 KiB of headers. Dead letters must go
 * back as they came, so content header frames of our connections are read and written here, and amqplib does the rest.
 *
 * This hooks two methods of one connection object, `recvFrame` and `sendMessage`, that amqplib calls through `this`.
 * They are not public: `openExact` refuses a version of amqplib that lacks them, which would lose parts of headers.
 */
type Internals = {
  rest: Buffer;
  maxFrameSize: number;
  frameMax: number;
  sentSinceLastCheck: boolean;
  channels: { buffer: { write(frame: Buffer): boolean } }[];
  recvFrame(): unknown;
  sendContent(channel: number, content: Buffer): boolean;
  sendMessage(
    channel: number,
    method: number,
    fields: { exchange: string; routingKey: string; mandatory: boolean },
    propertiesId: number,
    properties: { headers?: Carrier },
    content: Buffer,
  ): boolean;
};

/** What a delivery's `properties` hold on a hooked connection. */
export type ReceivedProperties =
  | { readable: true; properties: BasicProperties }
  /** The property list does not parse. `raw` is the flags and the list as received. */
  | { readable: false; raw: Buffer; problem: string };

const EXACT = Symbol("exact properties");
type Carrier = { [EXACT]?: BasicProperties };

const FRAME_METHOD = 1;
const FRAME_HEADER = 2;
const FRAME_END = 0xce;
/** Bytes of type, channel and size before the payload, and of the end octet after it. */
const FRAME_PREFIX = 7;
const FRAME_OVERHEAD = 8;
const CLASS_BASIC = 60;
const METHOD_PUBLISH = 40;
/** Bytes of class id, weight and body size, which precede the property flags in a content header. */
const CONTENT_HEADER_PREFIX = 12;

function frame(type: number, channel: number, payload: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(payload.length + FRAME_OVERHEAD);
  bytes.writeUInt8(type, 0);
  bytes.writeUInt16BE(channel, 1);
  bytes.writeUInt32BE(payload.length, 3);
  payload.copy(bytes, FRAME_PREFIX);
  bytes.writeUInt8(FRAME_END, FRAME_PREFIX + payload.length);
  return bytes;
}

/** Reads a content header's properties. Never throws: a message that cannot be parsed must still be parked. */
function readProperties(list: Buffer): ReceivedProperties {
  try {
    return { readable: true, properties: decodeProperties(list) };
  } catch (error) {
    return { readable: false, raw: Buffer.from(list), problem: error instanceof Error ? error.message : String(error) };
  }
}

/** The next frame, if it is a whole content header frame; null leaves it to amqplib. */
function takeHeaderFrame(connection: Internals): unknown {
  const { rest, maxFrameSize } = connection;
  if (rest.length < FRAME_PREFIX || rest[0] !== FRAME_HEADER) return null;
  const size = rest.readUInt32BE(3);
  const total = size + FRAME_OVERHEAD;
  const acceptable = size >= CONTENT_HEADER_PREFIX && (maxFrameSize === 0 || size <= maxFrameSize);
  if (!acceptable || rest.length < total || rest[total - 1] !== FRAME_END) return null;
  const payload = rest.subarray(FRAME_PREFIX, FRAME_PREFIX + size);
  connection.rest = rest.subarray(total);
  return {
    id: payload.readUInt16BE(0),
    channel: rest.readUInt16BE(1),
    size: Number(payload.readBigUInt64BE(4)),
    fields: readProperties(payload.subarray(CONTENT_HEADER_PREFIX)),
  };
}

function shortString(text: string): Buffer {
  const bytes = Buffer.from(text, "utf8");
  if (bytes.length > 255) throw new RangeError("exchange and routing key hold at most 255 bytes");
  return Buffer.concat([Buffer.from([bytes.length]), bytes]);
}

function publishFrames(
  channel: number,
  fields: { exchange: string; routingKey: string; mandatory: boolean },
  properties: BasicProperties,
  contentLength: number,
): { method: Buffer; header: Buffer } {
  const ids = Buffer.alloc(6); // class, method, reserved short
  ids.writeUInt16BE(CLASS_BASIC, 0);
  ids.writeUInt16BE(METHOD_PUBLISH, 2);
  const bits = Buffer.from([fields.mandatory ? 1 : 0]);
  const prefix = Buffer.alloc(CONTENT_HEADER_PREFIX);
  prefix.writeUInt16BE(CLASS_BASIC, 0);
  prefix.writeBigUInt64BE(BigInt(contentLength), 4);
  return {
    method: frame(
      FRAME_METHOD,
      channel,
      Buffer.concat([ids, shortString(fields.exchange), shortString(fields.routingKey), bits]),
    ),
    header: frame(FRAME_HEADER, channel, Buffer.concat([prefix, encodeProperties(properties)])),
  };
}

/** A content header cannot be split over frames, so headers beyond the negotiated frame size cannot be sent at all. */
export class HeadersTooLargeError extends Error {
  override readonly name = "HeadersTooLargeError";
}

function internalsOf(model: ChannelModel): Internals {
  const internals = model.connection as unknown as Partial<Internals>;
  const complete =
    typeof internals.recvFrame === "function" &&
    typeof internals.sendMessage === "function" &&
    typeof internals.sendContent === "function" &&
    Buffer.isBuffer(internals.rest) &&
    Array.isArray(internals.channels);
  if (!complete) throw new Error("this version of amqplib has other internals than the one Parkade was tested with");
  return internals as Internals;
}

/** Makes a fresh connection exact. Call before a channel is opened. Throws when amqplib's internals have changed. */
export function keepExactProperties(model: ChannelModel): void {
  const connection = internalsOf(model);
  const { recvFrame, sendMessage } = connection;
  connection.recvFrame = function (this: Internals) {
    return takeHeaderFrame(this) ?? recvFrame.call(this);
  };
  connection.sendMessage = function (this: Internals, channel, method, fields, propertiesId, properties, content) {
    const exact = properties.headers?.[EXACT];
    if (exact === undefined) return sendMessage.call(this, channel, method, fields, propertiesId, properties, content);
    const frames = publishFrames(channel, fields, exact, content.length);
    if (frames.header.length > this.frameMax)
      throw new HeadersTooLargeError(`${frames.header.length} bytes of headers, the broker accepts ${this.frameMax}`);
    this.sentSinceLastCheck = true;
    const accepted = this.channels[channel]!.buffer.write(Buffer.concat([frames.method, frames.header]));
    return content.length === 0 ? accepted : this.sendContent(channel, content);
  };
}

/** The properties of a message received on a hooked connection. */
export function receivedProperties(message: { properties: unknown }): ReceivedProperties {
  return message.properties as ReceivedProperties;
}

/**
 * Publishes on a hooked confirm channel with `mandatory` set. `confirmed` is called once, with an error on nack or when
 * the channel closes. Returns false when the write buffer is full: wait for `drain`. Throws HeadersTooLargeError,
 * FieldTableError or RangeError before anything was written.
 */
export function publishExact(
  channel: ConfirmChannel,
  to: { exchange: string; routingKey: string },
  message: { properties: BasicProperties; content: Buffer },
  confirmed: (error: Error | null) => void,
): boolean {
  const headers: Carrier = { [EXACT]: message.properties };
  return channel.publish(to.exchange, to.routingKey, message.content, { mandatory: true, headers }, confirmed);
}
