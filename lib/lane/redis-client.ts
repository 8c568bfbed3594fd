import { Cluster, type ClusterNode, type ClusterOptions, Redis, type RedisOptions } from "ioredis";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { parseRedisUrl, type RedisAddress } from "@/lib/platform/plain/redis-address.pure";
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

/** Commands wait for Redis, as BullMQ demands. A socket is dead when a reply takes longer than BullMQ's blocking read of 10 s. */
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

/** Replies have the form that BullMQ reads. */
type LegacyClusterOptions = ClusterOptions & { redisOptions?: { replyMapping?: "legacy" } };

/** Of a Redis Cluster; ends as EndingRedis does, for the same reason. */
class EndingCluster extends Cluster {
  readonly #nodes: ClusterNode[];

  constructor(nodes: ClusterNode[], options: LegacyClusterOptions) {
    super(nodes, options);
    this.#nodes = nodes;
  }

  override disconnect(reconnect = false): void {
    const betweenAttempts = this.status === "reconnecting";
    super.disconnect(reconnect);
    if (!betweenAttempts || reconnect) return;
    this.connect().then(
      () => super.disconnect(),
      () => {},
    );
  }

  override duplicate(_nodes: ClusterNode[] = [], override: ClusterOptions = {}): Cluster {
    const redisOptions = { ...this.options.redisOptions, ...override.redisOptions, replyMapping: "legacy" as const };
    return new EndingCluster(this.#nodes, { ...this.options, ...override, redisOptions });
  }
}

/** A client of one server, or of a cluster. */
export type LaneRedis = Redis | Cluster;

type RedisPatience = "fail-fast" | "wait-forever";

function openClient(url: string, patience: RedisPatience): LaneRedis {
  const address = parseRedisUrl(url);
  const options = {
    ...(patience === "fail-fast" ? FAIL_FAST : WAIT_FOREVER),
    connectTimeout: CONNECT_TIMEOUT_MS,
  };
  return address?.cluster
    ? openCluster(address, options)
    : new EndingRedis(url, { ...options, retryStrategy: reconnectDelayMs, lazyConnect: true });
}

function openCluster({ nodes, tls, username, password }: RedisAddress, options: RedisOptions): Cluster {
  const { enableOfflineQueue, ...redisOptions } = options;
  return new EndingCluster(nodes, {
    enableOfflineQueue: enableOfflineQueue!,
    lazyConnect: true,
    // While some slot is without a master, an attempt with this check neither succeeds nor fails.
    enableReadyCheck: false,
    ...(enableOfflineQueue ? {} : { retryDelayOnClusterDown: 0 }),
    clusterRetryStrategy: reconnectDelayMs,
    slotsRefreshTimeout: CONNECT_TIMEOUT_MS,
    // The socket resolves the name: a certificate is for the name, not for its address.
    dnsLookup: (host, callback) => callback(null, host),
    redisOptions: {
      ...redisOptions,
      replyMapping: "legacy",
      ...(tls ? { tls: {} } : {}),
      ...(username ? { username } : {}),
      ...(password ? { password } : {}),
    },
  });
}

/**
 * Connects, and makes sure that the server is fit to hold a queue. `onError` gets connection errors from then on; the
 * client reconnects for ever. Rejects with DomainError `queue-unavailable` and leaves nothing open.
 */
export async function connectRedis(
  url: string,
  patience: RedisPatience,
  onError: (error: Error) => void,
): Promise<LaneRedis> {
  let lastError: unknown;
  let handle = (error: Error) => {
    // Of a cluster: what its last node said.
    lastError = (error as { lastNodeError?: Error }).lastNodeError ?? error;
  };
  const client = openClient(url, patience);
  client.on("error", (error) => handle(error));
  try {
    await client.connect();
    await (client instanceof Redis ? assertServerFit(client) : assertClusterFit(client));
  } catch (error) {
    client.disconnect();
    // connect() itself only says that the connection closed; the event before it says why.
    throw asQueueProblem("redis", error instanceof DomainError ? error : (noCluster(lastError) ?? lastError ?? error));
  }
  handle = onError;
  return client;
}

/** A server that is no part of a cluster refuses to list its nodes. Redis has no code for that, only this text. */
function noCluster(error: unknown): DomainError | null {
  if (!(error instanceof Error && error.message.includes("cluster support disabled"))) return null;
  return queueUnfit(
    "The Redis at REDIS_URL is not a Redis Cluster: write redis:// instead of redis+cluster://.",
    error,
  );
}

async function assertServerFit(client: Redis): Promise<void> {
  const info = await client.info();
  assertFit(info);
  if (!/^cluster_enabled:1/m.test(info)) return;
  // A cluster of one master is used like one server.
  if (/^cluster_size:1\s/m.test(String(await client.call("cluster", "info")))) return;
  throw queueUnfit(
    "The Redis at REDIS_URL is a node of a Redis Cluster: write redis+cluster:// instead of redis://, and list some of its nodes.",
  );
}

/** A master that is silent is no reason to refuse: a replica takes its place, and what no master takes is refused then. */
async function assertClusterFit(client: Cluster): Promise<void> {
  const answers = await Promise.allSettled(client.nodes("master").map((node) => node.info()));
  for (const answer of answers) if (answer.status === "fulfilled") assertFit(answer.value);
  if (answers.every(({ status }) => status === "rejected")) throw (answers[0] as PromiseRejectedResult).reason;
}

/** Under an evicting policy Redis drops queue keys without a trace. A server that does not name its policy (Dragonfly) is accepted. */
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
