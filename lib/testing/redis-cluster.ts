import { spawnSync } from "node:child_process";
import { Redis } from "ioredis";
import { vi } from "vitest";
import { freePort } from "./free-port.ts";
import { type TestRedis, testRedis } from "./redis.ts";

const version = spawnSync("redis-server", ["--version"], { encoding: "utf8" }).stdout ?? "";

/** False on a machine without redis-server 7, the first that takes the port of its cluster bus as a setting. */
export const redisClusterInstalled = Number(/v=(\d+)/.exec(version)?.[1] ?? 0) >= 7;

const SLOTS = 16_384;
const MASTERS = 3;
/** Forming takes seconds, and ten times as long on a busy machine. */
const WAIT = { timeout: 120_000, interval: 50 };
/** A node that is silent for so long has failed. */
const NODE_TIMEOUT_MS = 2_000;

export type TestRedisCluster = {
  /** Names two of the nodes. */
  url: string;
  masters: TestRedis[];
  /** The number of the master that holds the slot of a key. */
  masterOf(key: string): Promise<number>;
  /** Runs one command on each master that runs. */
  onEachMaster<T>(work: (node: Redis) => Promise<T>): Promise<T[]>;
  /** Kills every node. */
  kill(): Promise<void>;
  /** Starts every node again, after `kill`, and resolves when the cluster takes commands. Its keys are gone. */
  restart(): Promise<void>;
  stop(): Promise<void>;
};

/** A Redis Cluster of three masters on free ports. With `replicas` each has one, which takes over when its master is killed. */
export async function testRedisCluster({ replicas = false } = {}): Promise<TestRedisCluster> {
  const open = async () =>
    testRedis({
      settings: {
        ...{ "cluster-enabled": "yes", "cluster-port": String(await freePort()) },
        ...{ "cluster-node-timeout": String(NODE_TIMEOUT_MS), "cluster-replica-validity-factor": "0" },
      },
    });
  const nodes: TestRedis[] = [];
  for (let n = 0; n < MASTERS * (replicas ? 2 : 1); n++) nodes.push(await open());
  const clients = nodes.map(({ url }) => {
    const client = new Redis(url, { retryStrategy: () => 50 });
    client.on("error", () => {});
    return client;
  });
  const masters = clients.slice(0, MASTERS);

  const untilUp = () =>
    vi.waitFor(async () => {
      const infos = await Promise.all(clients.map(async (client) => String(await client.call("cluster", "info"))));
      const facts = ["cluster_state:ok", `cluster_known_nodes:${nodes.length}`];
      if (!infos.every((info) => facts.every((fact) => info.includes(fact)))) throw new Error("the cluster is not up");
    }, WAIT);
  await join(nodes, clients);
  await untilUp();
  if (replicas) await replicate(clients);

  return {
    url: `redis+cluster://${nodes
      .slice(0, 2)
      .map(({ port }) => `127.0.0.1:${port}`)
      .join()}`,
    masters: nodes.slice(0, MASTERS),
    masterOf: async (key) => Math.floor((Number(await masters[0]!.call("cluster", "keyslot", key)) * MASTERS) / SLOTS),
    onEachMaster: (work) => Promise.all(masters.map(work)),
    kill: async () => {
      await Promise.all(nodes.map((node) => node.kill()));
    },
    restart: async () => {
      await Promise.all(nodes.map((node) => node.restart()));
      await untilUp();
    },
    stop: async () => {
      for (const client of clients) client.disconnect();
      await Promise.all(nodes.map((node) => node.stop()));
    },
  };
}

async function join(nodes: TestRedis[], clients: Redis[]): Promise<void> {
  for (let n = 0; n < MASTERS; n++) {
    const [from, to] = [n, n + 1].map((part) => Math.ceil((part * SLOTS) / MASTERS));
    await clients[n]!.call("cluster", "addslotsrange", String(from), String(to! - 1));
    // Two masters with the same number of a configuration would settle that only when they meet.
    await clients[n]!.call("cluster", "set-config-epoch", String(n + 1));
  }
  for (const { port, clusterPort } of await Promise.all(nodes.slice(1).map(busOf))) {
    await clients[0]!.call("cluster", "meet", "127.0.0.1", String(port), clusterPort);
  }
}

async function busOf({ url, port }: TestRedis): Promise<{ port: number; clusterPort: string }> {
  const client = new Redis(url);
  const [, clusterPort] = (await client.config("GET", "cluster-port")) as [string, string];
  client.disconnect();
  return { port, clusterPort };
}

async function replicate(clients: Redis[]): Promise<void> {
  for (let n = 0; n < MASTERS; n++) {
    const id = String(await clients[n]!.call("cluster", "myid"));
    const replica = clients[MASTERS + n]!;
    await replica.call("cluster", "replicate", id);
    await vi.waitFor(async () => {
      if (!(await replica.info("replication")).includes("master_link_status:up"))
        throw new Error("no link to its master");
    }, WAIT);
  }
}
