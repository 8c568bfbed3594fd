import type { LaneName } from "./port";

/**
 * Where the lanes and the token buckets live: with REDIS_URL on Redis, without it on the Postgres of DATABASE_URL.
 * `prefix` namespaces every Redis key, `schema` the tables of BullMQ; `max` bounds the connections of each pool.
 */
export type LaneConnection =
  | { kind: "redis"; url: string; prefix?: string }
  | { kind: "postgres"; connectionString: string; max?: number; schema?: string };

/** In braces: a hash tag, so that all keys of a queue share a slot of a Redis Cluster. */
export const REDIS_PREFIX_DEFAULT = "{parkade}";

export const POSTGRES_SCHEMA_DEFAULT = "bullmq";

/** One BullMQ queue per lane: a full main lane never delays the slow one. */
export const QUEUE_NAMES: Record<LaneName, string> = { main: "parkade-main", slow: "parkade-slow" };

/** Longest wait for a connection before the queue counts as unreachable. */
export const CONNECT_TIMEOUT_MS = 5_000;

/** Longest wait for one command or statement: a half-open connection must not hold a request for minutes. */
export const COMMAND_TIMEOUT_MS = 5_000;
