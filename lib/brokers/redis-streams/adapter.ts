import type { Redis } from "ioredis";
import { readDeadLetter } from "@/lib/brokers/conventions/read-dead-letter";
import { outboundHeaders } from "@/lib/brokers/outbound-headers";
import {
  type Adapter,
  type AdapterDeps,
  type OutboundMessage,
  type ProbeResult,
  PublishError,
  type Publisher,
} from "@/lib/brokers/port";
import { SAMPLE_MAX, sampleOf } from "@/lib/brokers/probe-sample";
import { addressOf, describeRedis, probeRedis } from "@/lib/brokers/redis-connection";
import { RedisPublisher } from "@/lib/brokers/redis-publisher";
import { type Entry, entriesOf, messageOf } from "@/lib/brokers/redis-streams/entry";
import { PAYLOAD_FIELDS, type RedisStreamsConfig, redisStreams } from "@/lib/brokers/redis-streams/kind.shapes";
import {
  assertReadable,
  countDead,
  groupOf,
  pendingEntries,
  redisStreamsReader,
} from "@/lib/brokers/redis-streams/reader";

/** Redis Streams: takes over what a group cannot process; a redrive adds a new entry. */
export function redisStreamsAdapter(deps: AdapterDeps): Adapter<RedisStreamsConfig> {
  return {
    reader: (config) => redisStreamsReader(config, deps),
    probe: (config, signal) => probe(config, deps, signal),
    publisher: (config, lane = "main") => redisStreamsPublisher(config, lane, deps),
  };
}

async function probe(config: RedisStreamsConfig, deps: AdapterDeps, signal: AbortSignal): Promise<ProbeResult> {
  const group = groupOf(config);
  const look = async (redis: Redis) => {
    await assertReadable(redis, config, group);
    const entries = await peek(redis, config, group);
    const { stream, payloadField, mapping = {} } = config;
    const sample = entries.map(({ entry, deliveries }) =>
      sampleOf(readDeadLetter(messageOf(entry, { stream, group, payloadField, deliveries }), mapping)),
    );
    const depth = await countDead(redis, config, group);
    return { detail: `connected to ${addressOf(config)}, ${redisStreams.reads(config)}`, depth, sample };
  };
  return probeRedis(config, deps, { signal, look, failureText: (error) => describeRedis(error, config) });
}

/** The first entries that would be parked. Takes nothing over, and counts no delivery. */
async function peek(
  redis: Redis,
  config: RedisStreamsConfig,
  group: string,
): Promise<{ entry: Entry; deliveries: number | null }[]> {
  const { stream, read, deliveryLimit } = config;
  const at = async (id: string) => entriesOf(await redis.callBuffer("XRANGE", stream, id, id))[0];
  if (read === "pending") {
    const pending = await pendingEntries(redis, { stream, group, minIdleMs: 0, count: 1_000 });
    const dead = pending.filter(({ deliveries }) => deliveries >= deliveryLimit).slice(0, SAMPLE_MAX);
    const found = await Promise.all(dead.map(async ({ id, deliveries }) => ({ entry: await at(id), deliveries })));
    return found.flatMap(({ entry, deliveries }) => (entry === undefined ? [] : [{ entry, deliveries }]));
  }
  const groups = (await redis.call("XINFO", "GROUPS", stream)) as string[][];
  const facts = groups.find((fields) => fields[1] === group) ?? [];
  const last = facts[facts.indexOf("last-delivered-id") + 1] ?? "0";
  const reply = await redis.callBuffer("XRANGE", stream, `(${last}`, "+", "COUNT", String(SAMPLE_MAX));
  return entriesOf(reply).map((entry) => ({ entry, deliveries: null }));
}

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
    "the entry does not name the stream it came from: set redriveTo.stream in the source's configuration",
  );
}

/** The fields of the new entry: the payload where it was, the headers around it, then the mark. */
function fieldsOf(message: OutboundMessage): (string | Buffer)[] {
  const { origin, payload } = message;
  if (Array.isArray(origin.rawFields))
    throw refuse("REDIS_UNREADABLE", "a field name is not text, so the entry cannot be sent back");
  const fields = outboundHeaders(message).map(([name, value]): [string, Buffer] => [name, value ?? Buffer.alloc(0)]);
  if (origin.absentBody !== true || payload.byteLength > 0) {
    const name = typeof origin.payloadField === "string" ? origin.payloadField : PAYLOAD_FIELDS[0]!;
    const at = typeof origin.payloadAt === "number" ? Math.min(origin.payloadAt, fields.length) : 0;
    fields.splice(at, 0, [name, Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength)]);
  }
  return fields.flat();
}

/** Adds entries to the origin stream or its slow twin. A stream that does not exist is not made. */
function redisStreamsPublisher(config: RedisStreamsConfig, lane: "main" | "slow", deps: AdapterDeps): Publisher {
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
