import type { Redis } from "ioredis";
import { letterOf, redrivenEnvelope } from "@/lib/brokers/celery/envelope";
import { bindingsOf, listOf, listsOf, separatorOf } from "@/lib/brokers/celery/keys";
import { type CeleryConfig, celery } from "@/lib/brokers/celery/kind.shapes";
import { assertReadable, celeryReader, countWaiting, failureText } from "@/lib/brokers/celery/reader";
import { UNREADABLE } from "@/lib/brokers/conventions/read-dead-letter";
import { repeatedHeaders } from "@/lib/brokers/outbound-headers";
import {
  type Adapter,
  type AdapterDeps,
  type OutboundMessage,
  type ProbeResult,
  PublishError,
  type Publisher,
} from "@/lib/brokers/port";
import { SAMPLE_MAX, sampleOf } from "@/lib/brokers/probe-sample";
import { addressOf, probeRedis } from "@/lib/brokers/redis-connection";
import { RedisPublisher } from "@/lib/brokers/redis-publisher";

/** Celery and Kombu on Redis: takes messages out of a dead-letter queue; a redrive publishes one as Kombu does. */
export function celeryAdapter(deps: AdapterDeps): Adapter<CeleryConfig> {
  return {
    reader: (config) => celeryReader(config, deps),
    probe: (config, signal) => probe(config, deps, signal),
    publisher: (config, lane = "main") => publisher(config, lane, deps),
    leftOut: (_, message) => repeatedHeaders(message, "its last value"),
  };
}

async function probe(config: CeleryConfig, deps: AdapterDeps, signal: AbortSignal): Promise<ProbeResult> {
  const look = async (redis: Redis) => {
    await assertReadable(redis, config);
    const depth = await countWaiting(redis, config);
    const sample = (await peek(redis, config)).map((item) => sampleOf(letterOf(item, config)));
    const empty = depth === 0 ? "; it is empty or has another name (Redis does not keep empty queues)" : "";
    return { detail: `connected to ${addressOf(config)}, ${celery.reads(config)}${empty}`, depth, sample };
  };
  return probeRedis(config, deps, { signal, look, failureText: (error) => failureText(error, config) });
}

/** The messages that would be parked next. Takes none. */
async function peek(redis: Redis, config: CeleryConfig): Promise<Buffer[]> {
  const found: Buffer[] = [];
  for (const list of listsOf(config)) {
    if (found.length >= SAMPLE_MAX) break;
    const oldestLast = await redis.lrangeBuffer(list, -(SAMPLE_MAX - found.length), -1);
    found.push(...oldestLast.reverse());
  }
  return found;
}

function refuse(code: string, message: string): PublishError {
  return new PublishError(code, message, { sent: "no" });
}

const SET_TARGET = "set redriveTo.queue in the source's configuration";

function publisher(config: CeleryConfig, lane: "main" | "slow", deps: AdapterDeps): Publisher {
  const push = (message: OutboundMessage) => {
    const { origin } = message;
    if (origin.convention === UNREADABLE)
      throw refuse("REDIS_UNREADABLE", "the message is not a Kombu envelope: no worker could process it");
    const wanted = (lane === "slow" ? config.slowLaneQueue : undefined) ?? config.redriveTo?.queue ?? origin.queue;
    const [routingKey] = origin.routingKeys ?? [];
    if (wanted === undefined && (origin.exchange === undefined || routingKey === undefined))
      throw refuse("REDIS_NO_TARGET", `the message does not name the queue it came from: ${SET_TARGET}`);
    const { priority, envelopeFor } = redrivenEnvelope(message);
    const step = stepOf(priority, config.prioritySteps);
    return async (redis: Redis) => {
      const queue = wanted ?? (await queueBehind(redis, config, origin.exchange!, routingKey!));
      await redis.lpush(listOf({ ...config, queue }, step), envelopeFor(queue));
      return { status: `queue ${queue}` };
    };
  };
  const describe = (error: unknown) => failureText(error, config);
  return new RedisPublisher(config, { of: push, describe, doubt: "the task may have been queued" }, deps);
}

/** The highest step that is no higher than the priority, as Kombu chooses it. */
function stepOf(priority: number, steps: string): number {
  const sorted = steps.split(",").map(Number).sort();
  return sorted.findLast((step) => step <= priority) ?? sorted.at(-1)!;
}

/** The one queue that a direct exchange routes the key to. Several are refused: each would get the message though one consumer failed. */
async function queueBehind(redis: Redis, config: CeleryConfig, exchange: string, routingKey: string): Promise<string> {
  const bindings = (await redis.smembers(bindingsOf(config, exchange))).map((one) => one.split(separatorOf(config)));
  const queues = new Set(bindings.filter(([key]) => key === routingKey).map((parts) => parts.at(-1)!));
  const [queue] = queues;
  const where = `exchange ${exchange} with routing key ${routingKey}`;
  if (queues.size > 1)
    throw refuse("REDIS_NO_TARGET", `${where} leads to ${queues.size} queues, and one consumer failed: ${SET_TARGET}`);
  if (queue === undefined) throw refuse("REDIS_NO_TARGET", `no queue is bound to ${where}: ${SET_TARGET}`);
  if (queue === config.queue)
    throw refuse("REDIS_NO_TARGET", `${where} leads back into the dead-letter queue: ${SET_TARGET}`);
  return queue;
}
