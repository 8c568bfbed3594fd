import type { IdempotencyStore } from "@/lib/retry/idempotency/store";
import { type LaneConnection, lanePool } from "./connection";
import { createPostgresIdempotencyStore } from "./postgres-idempotency-store";
import { asQueueProblem, queueUnreachable } from "./queue-unavailable";
import { connectRedis } from "./redis-client";
import { createRedisIdempotencyStore } from "./redis-idempotency-store";

/** Claims are short and few: two a guarded request. */
const CONNECTIONS_MAX = 3;

export type OpenIdempotencyStore<R> = IdempotencyStore<R> & { close(): Promise<void> };

type Opened<R> = { store: IdempotencyStore<R>; close(): Promise<void> };

/**
 * The idempotency store of the lane's backend, on a connection of its own. Connects on first use and again after a
 * failure, so it may be made while the server is away; every method then rejects with DomainError `queue-unavailable`.
 * `onError` gets errors of idle connections.
 */
export function openIdempotencyStore<R>(
  connection: LaneConnection,
  onError: (error: Error) => void,
): OpenIdempotencyStore<R> {
  let opening: Promise<Opened<R>> | null = null;
  let closed = false;

  function opened(): Promise<Opened<R>> {
    if (closed) return Promise.reject(queueUnreachable(connection.kind, new Error("the idempotency store is closed")));
    opening ??= open<R>(connection, onError).catch((error) => {
      opening = null;
      throw error;
    });
    return opening;
  }

  async function ask<T>(question: (store: IdempotencyStore<R>) => Promise<T>): Promise<T> {
    try {
      return await question((await opened()).store);
    } catch (error) {
      throw asQueueProblem(connection.kind, error);
    }
  }

  return {
    claim: (key, times) => ask((store) => store.claim(key, times)),
    finish: (key, fence, result, times) => ask((store) => store.finish(key, fence, result, times)),
    release: (key, fence) => ask((store) => store.release(key, fence)),
    renew: (key, fence, times) => ask((store) => store.renew(key, fence, times)),
    close: async () => {
      closed = true;
      // A failed opening has left nothing to close.
      const last = await opening?.catch(() => null);
      await last?.close();
    },
  };
}

async function open<R>(connection: LaneConnection, onError: (error: Error) => void): Promise<Opened<R>> {
  if (connection.kind === "redis") {
    const client = await connectRedis(connection.url, "fail-fast", onError);
    return {
      store: createRedisIdempotencyStore<R>(client, connection.prefix),
      close: async () => client.disconnect(),
    };
  }
  const pool = lanePool(connection, {
    max: CONNECTIONS_MAX,
    applicationName: "parkade-idempotency",
    onIdleError: onError,
  });
  return { store: createPostgresIdempotencyStore<R>(pool), close: () => pool.end() };
}
