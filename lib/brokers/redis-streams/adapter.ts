import type { Redis } from "ioredis";
import { readDeadLetter } from "@/lib/brokers/conventions/read-dead-letter";
import type { Adapter, AdapterDeps, ProbeResult } from "@/lib/brokers/port";
import { SAMPLE_MAX, sampleOf } from "@/lib/brokers/probe-sample";
import { addressOf, describeRedis, probeRedis } from "@/lib/brokers/redis-connection";
import { type Entry, entriesOf, messageOf } from "@/lib/brokers/redis-streams/entry";
import { type RedisStreamsConfig, redisStreams } from "@/lib/brokers/redis-streams/kind.shapes";
import { redisStreamsPublisher } from "@/lib/brokers/redis-streams/publisher";
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
