import { type LaneConnection, lanePool, redisPrefix } from "./connection";
import type { TokenBucket } from "./port";
import { createPostgresTokenBucket } from "./postgres-token-bucket";
import { connectRedis } from "./redis-client";
import { createRedisTokenBucket } from "./redis-token-bucket";

/** Takes are short and few: each feeder has one in flight per target. */
const CONNECTIONS_MAX = 4;

export type OpenTokenBucket = { bucket: TokenBucket; close(): Promise<void> };

/**
 * The token bucket of the lane's backend, on a connection of its own. `onError` gets errors of idle connections; takes
 * reject by themselves. Rejects with DomainError `queue-unavailable` when Redis cannot be reached or is unfit; a
 * Postgres pool connects on first use.
 */
export async function openTokenBucket(
  connection: LaneConnection,
  onError: (error: Error) => void,
): Promise<OpenTokenBucket> {
  if (connection.kind === "redis") {
    const client = await connectRedis(connection.url, "fail-fast", onError);
    return {
      bucket: createRedisTokenBucket(client, (key) => redisPrefix(connection, `bucket:${key}`)),
      close: async () => client.disconnect(),
    };
  }
  const pool = lanePool(connection, { max: CONNECTIONS_MAX, applicationName: "parkade-bucket", onIdleError: onError });
  return { bucket: createPostgresTokenBucket(pool), close: () => pool.end() };
}
