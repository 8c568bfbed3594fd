import type { Redis } from "ioredis";
import { outboundHeaders } from "@/lib/brokers/outbound-headers";
import { type AdapterDeps, type OutboundMessage, PublishError, type Publisher } from "@/lib/brokers/port";
import { addressOf, describeRedis } from "@/lib/brokers/redis-connection";
import { RedisPublisher } from "@/lib/brokers/redis-publisher";
import { PAYLOAD_FIELDS, type RedisStreamsConfig } from "@/lib/brokers/redis-streams/kind.shapes";

function refuse(code: string, message: string): PublishError {
  return new PublishError(code, message, { sent: "no" });
}

function streamOf(message: OutboundMessage, config: RedisStreamsConfig, lane: "main" | "slow"): string {
  const origin = typeof message.origin.stream === "string" ? message.origin.stream : undefined;
  const own = config.read === "pending" ? config.stream : undefined;
  const stream = (lane === "slow" ? config.slowLaneStream : undefined) ?? config.redriveTo?.stream ?? origin ?? own;
  if (stream !== undefined) return stream;
  throw refuse(
    "REDIS_NO_TARGET",
    "the entry does not tell the stream it came from: set redriveTo.stream in the source's configuration",
  );
}

/** The fields of the new entry: the payload where it was, the headers around it, then the mark. */
function fieldsOf(message: OutboundMessage): (string | Buffer)[] {
  const { origin, payload } = message;
  if (Array.isArray(origin.rawFields))
    throw refuse("REDIS_UNREADABLE", "a field's name is no text, so the entry cannot be written again");
  const fields = outboundHeaders(message).map(([name, value]): [string, Buffer] => [name, value ?? Buffer.alloc(0)]);
  if (origin.absentBody !== true || payload.byteLength > 0) {
    const name = typeof origin.payloadField === "string" ? origin.payloadField : PAYLOAD_FIELDS[0]!;
    const at = typeof origin.payloadAt === "number" ? Math.min(origin.payloadAt, fields.length) : 0;
    fields.splice(at, 0, [name, Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength)]);
  }
  return fields.flat();
}

/** Adds entries to the origin stream or its slow twin. A stream that does not exist is not made. */
export function redisStreamsPublisher(config: RedisStreamsConfig, lane: "main" | "slow", deps: AdapterDeps): Publisher {
  const add = (message: OutboundMessage) => {
    const stream = streamOf(message, config, lane);
    const fields = fieldsOf(message);
    return async (redis: Redis) => {
      const id = (await redis.call("XADD", stream, "NOMKSTREAM", "*", ...fields)) as string | null;
      if (id === null) throw refuse("REDIS_NO_STREAM", `stream ${stream} does not exist on ${addressOf(config)}`);
      return { status: `entry ${id}` };
    };
  };
  const describe = (error: unknown) => describeRedis(error, config);
  return new RedisPublisher(config, { of: add, describe, doubt: "the entry may have been added" }, deps);
}
