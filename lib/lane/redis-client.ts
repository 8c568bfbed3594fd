import { Redis, type RedisOptions } from "ioredis";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { COMMAND_TIMEOUT_MS, CONNECT_TIMEOUT_MS } from "./connection";
import { asQueueProblem, queueUnfit } from "./queue-unavailable";

const RECONNECT_MS_MAX = 2_000;
const reconnectDelayMs = (times: number) => Math.min(times * 100, RECONNECT_MS_MAX);

/** BullMQ's oldest recommended server. */
const REDIS_VERSION_MIN = [6, 2] as const;

/** Commands fail at once while Redis is away instead of piling up in memory, and come back by themselves with it. */
const FAIL_FAST = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  commandTimeout: COMMAND_TIMEOUT_MS,
};

/**
 * Commands wait for Redis to come back: what a BullMQ worker needs (it refuses any other setting). The socket counts as
 * dead when a reply is missing for longer than BullMQ's longest blocking read of 10 s.
 */
const WAIT_FOREVER = { enableOfflineQueue: true, maxRetriesPerRequest: null, socketTimeout: 20_000 };

/**
 * ioredis 6 forgets a client that is disconnected between two attempts to reconnect: it tries no more, but never says
 * `end`, and what waits in its queue never settles. BullMQ waits for both when a worker closes, so a worker could not
 * stop while Redis is away. One last attempt to connect ends the client, whether it succeeds or fails.
 */
class EndingRedis extends Redis {
  override disconnect(reconnect = false): void {
    const betweenAttempts = this.status === "reconnecting";
    super.disconnect(reconnect);
    if (!betweenAttempts || reconnect) return;
    // A refusal is expected, and ends the client.
    this.connect().then(
      () => super.disconnect(),
      () => {},
    );
  }

  override duplicate(override?: Partial<RedisOptions>): Redis {
    return new EndingRedis({ ...this.options, ...override, replyMapping: "legacy" });
  }
}

export type RedisPatience = "fail-fast" | "wait-forever";

/**
 * Connects, and makes sure that the server is fit to hold a queue. `onError` gets connection errors from then on; the
 * client reconnects for ever. Rejects with DomainError `queue-unavailable` and leaves nothing open.
 */
export async function connectRedis(
  url: string,
  patience: RedisPatience,
  onError: (error: Error) => void,
): Promise<Redis> {
  let lastError: unknown;
  let handle = (error: Error) => {
    lastError = error;
  };
  const client = new EndingRedis(url, {
    ...(patience === "fail-fast" ? FAIL_FAST : WAIT_FOREVER),
    connectTimeout: CONNECT_TIMEOUT_MS,
    retryStrategy: reconnectDelayMs,
    lazyConnect: true,
  });
  client.on("error", (error) => handle(error));
  try {
    await client.connect();
    assertFit(await client.info());
  } catch (error) {
    client.disconnect();
    // connect() itself only says that the connection closed; the event before it says why.
    throw asQueueProblem("redis", error instanceof DomainError ? error : (lastError ?? error));
  }
  handle = onError;
  return client;
}

/**
 * With an evicting policy Redis drops keys of the queue under memory pressure, and slices stop without a trace. A
 * server that does not name its policy (Dragonfly, some managed ones) is accepted.
 */
function assertFit(info: string): void {
  const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1];
  if (policy !== undefined && policy !== "noeviction") {
    throw queueUnfit(
      `The Redis at REDIS_URL evicts keys when its memory is full (maxmemory-policy ${policy}), which would lose queued redrives: set maxmemory-policy to noeviction, or point REDIS_URL at another server.`,
    );
  }
  const version = /^redis_version:(\d+)\.(\d+)\S*/m.exec(info);
  if (version && isOlder([Number(version[1]), Number(version[2])], REDIS_VERSION_MIN)) {
    throw queueUnfit(
      `The Redis at REDIS_URL is version ${version[1]}.${version[2]}, which is too old: use ${REDIS_VERSION_MIN.join(".")} or later.`,
    );
  }
}

function isOlder(found: readonly [number, number], least: readonly [number, number]): boolean {
  return found[0] < least[0] || (found[0] === least[0] && found[1] < least[1]);
}
