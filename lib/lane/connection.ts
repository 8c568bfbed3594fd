import { parseRedisUrl } from "@/lib/platform/plain/redis-address.pure";
import { PostgresPool } from "@/lib/platform/postgres-pool";
import type { QueueName } from "./port";

type RedisConnection = { kind: "redis"; url: string; prefix?: string };

/**
 * Where the lanes and the token buckets live: with REDIS_URL on Redis, without it on the Postgres of DATABASE_URL.
 * `prefix`, in braces, namespaces every Redis key; `max` bounds the connections of each pool.
 */
export type LaneConnection = RedisConnection | { kind: "postgres"; connectionString: string; max?: number };

const REDIS_PREFIX_DEFAULT = "{parkade}";

/**
 * The prefix of the Redis keys that one command uses together: those of one queue, or of one bucket. What is in braces is a
 * hash tag: its keys share a slot of a Redis Cluster. On a cluster each part has a tag of its own, so that queues and buckets
 * spread over the masters. On one server, and on a cluster of one master, all parts have the same.
 */
export function redisPrefix({ url, prefix = REDIS_PREFIX_DEFAULT }: RedisConnection, part: string): string {
  return parseRedisUrl(url)?.cluster ? `${prefix.slice(0, -1)}:${part}}` : prefix;
}

/** One BullMQ queue each: a full main lane never delays the slow one. */
export const QUEUE_NAMES: Record<QueueName, string> = {
  main: "parkade-main",
  slow: "parkade-slow",
  sets: "parkade-sets",
};

/** Longest wait for a connection to Redis before the queue counts as unreachable. */
export const CONNECT_TIMEOUT_MS = 5_000;

/** Longest wait for one command of Redis: a half-open connection must not hold a request for minutes. */
export const COMMAND_TIMEOUT_MS = 5_000;

/** Statement limit on Postgres: a silent connection holds its caller this long and a second, and work must go on within 10 s. */
const STATEMENT_MS_MAX = 2_000;

/** A pool of its own for one part of the lane. `max`: its connections, unless the connection says another number. */
export function lanePool(
  connection: Extract<LaneConnection, { kind: "postgres" }>,
  options: { max: number; applicationName: string; onIdleError: (error: Error) => void; sessionOptions?: string },
): PostgresPool {
  const max = connection.max ?? options.max;
  return new PostgresPool(connection.connectionString, { ...options, max, statementTimeoutMs: STATEMENT_MS_MAX });
}
