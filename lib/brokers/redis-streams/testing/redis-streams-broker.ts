import { randomBytes } from "node:crypto";
import type { Redis } from "ioredis";
import { afterAll, beforeAll } from "vitest";
import type { BrokerHarness, ExactMessage } from "@/lib/brokers/broker.conformance";
import { parseSourceConfig } from "@/lib/brokers/kinds/kinds.shapes";
import { redisStreamsAdapter } from "@/lib/brokers/redis-streams/adapter";
import { entriesOf } from "@/lib/brokers/redis-streams/entry";
import type { RedisStreamsConfig } from "@/lib/brokers/redis-streams/kind.shapes";
import { type RedisBroker, redisBroker } from "@/lib/brokers/testing/redis-broker";
import { systemClock } from "@/lib/platform/clock";
import type { TestRedis } from "@/lib/testing/redis";
import { startTcpProxy } from "@/lib/testing/tcp-proxy";

export const never = new AbortController().signal;
export const adapter = redisStreamsAdapter({ clock: systemClock, random: () => 0 });
let broker: RedisBroker;
export let server: TestRedis;
export let redis: Redis;

const unique = (name: string) => `${name}-${randomBytes(4).toString("hex")}`;

/** Adds entries, and delivers each once to a consumer that does not acknowledge. */
export async function addAndFail(stream: string, group: string, entries: (string | Buffer)[][]): Promise<void> {
  for (const fields of entries) await redis.call("XADD", stream, "*", ...fields);
  await redis.call("XREADGROUP", "GROUP", group, "app", "COUNT", "100000", "STREAMS", stream, ">");
}

/** What a server that has just started lacks. */
async function prepare(): Promise<void> {
  await redis.set("text-key", "x");
  const denied = ["-xpending", "-xreadgroup", "-xautoclaim"];
  await redis.call("ACL", "SETUSER", "limited", "on", ">hunter2", "~*", "+@all", ...denied);
}

export async function pendingCount(stream: string, group: string): Promise<number> {
  return ((await redis.call("XPENDING", stream, group)) as [number])[0];
}

const flat = ({ body, headers }: ExactMessage): (string | Buffer)[] => [
  ...headers.flatMap(([name, value]) => [name, value ?? Buffer.alloc(0)]),
  ...(body === null ? [] : ["payload", body]),
];

export async function harness(read: "pending" | "stream"): Promise<BrokerHarness<RedisStreamsConfig>> {
  const proxy = await startTcpProxy(server.port);
  const target = unique("orders");
  const stream = read === "pending" ? target : unique("orders.dlq");
  const group = read === "pending" ? "billing" : "parkade";
  for (const name of new Set([target, stream])) {
    await redis.call("XGROUP", "CREATE", name, group, "0", "MKSTREAM");
    await redis.call("XGROUP", "CREATE", name, "looking-on", "0");
  }
  const url = (login = "") => `redis://${login}127.0.0.1:${proxy.port}`;
  const { config } = parseSourceConfig("redis-stream", {
    ...{ url: url(), stream, read, group, deliveryLimit: 1, minIdleMs: 1 },
    ...(read === "stream" ? { redriveTo: { stream: target } } : {}),
  }) as { config: RedisStreamsConfig };
  const add = async (entries: (string | Buffer)[][]) => {
    if (read === "pending") await addAndFail(stream, group, entries);
    else for (const fields of entries) await redis.call("XADD", stream, "*", ...fields);
    // What was put there is not what arrived.
    if (stream === target)
      await redis.call("XREADGROUP", "GROUP", "looking-on", "test", "COUNT", "100000", "STREAMS", target, ">");
  };
  const arrivedExact = async (): Promise<ExactMessage[]> => {
    const reply = await redis.callBuffer(
      ...(["XREADGROUP", "GROUP", "looking-on", "test", "COUNT", "100000", "STREAMS", target, ">"] as const),
    );
    return entriesOf((reply as [Buffer, unknown][] | null)?.[0]?.[1]).map(({ fields }) => ({
      key: null,
      body: fields.find(([name]) => name.toString() === "payload")?.[1] ?? null,
      headers: fields
        .filter(([name]) => name.toString() !== "payload")
        .map(([name, value]): [string, Buffer] => [name.toString(), value]),
    }));
  };
  const remaining = async () => {
    const groups = (await redis.call("XINFO", "GROUPS", stream)) as unknown[][];
    const facts = groups.find((fields) => fields[1] === group)!;
    const lag = read === "stream" ? Number(facts[facts.indexOf("lag") + 1] ?? 0) : 0;
    return (await pendingCount(stream, group)) + lag;
  };
  return {
    adapter,
    config,
    refusing: { ...config, redriveTo: { stream: unique("nobody-made-it") } },
    proxy,
    origin: read === "pending" ? { stream } : {},
    arrived: async () =>
      (await arrivedExact()).map(({ body, headers }) => ({
        body: body ?? Buffer.alloc(0),
        contentType: headers.find(([name]) => name === "content-type")?.[1]?.toString() ?? null,
        headers: Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), String(value)])),
      })),
    produce: (bodies) => add(bodies.map((body) => ["payload", body])),
    remaining,
    exact: {
      carries: {
        keys: false,
        absentBody: true,
        emptyBody: true,
        binaryBody: true,
        nullHeaders: false,
        duplicateHeaders: true,
        binaryHeaders: true,
      },
      produceExact: (messages) =>
        add(messages.map((message) => (flat(message).length > 0 ? flat(message) : ["x-empty", ""]))),
      arrivedExact,
      // A redriven entry is in the stream already: its consumer gets it, and fails again.
      bounce: (message) => (read === "pending" ? addAndFail(stream, group, []) : add([flat(message)])),
      restart: async () => {
        await server.restart();
        await prepare();
      },
      misconfigured: [
        [
          "a wrong password",
          { ...config, url: url("parkade:hunter2@") },
          /refuses access: check the user and the password/,
        ],
        ["a stream that is not there", { ...config, stream: "not-there" }, /stream not-there does not exist/],
        [
          "a user without one command",
          { ...config, url: url("limited:hunter2@") },
          /refuses a command: .*(xpending|xreadgroup|xautoclaim)/i,
        ],
        ["a key of another type", { ...config, stream: "text-key" }, /not a stream/],
        ...(read === "pending"
          ? [
              ["a group that is not there", { ...config, group: "none" }, /no consumer group none/] as [
                string,
                RedisStreamsConfig,
                RegExp,
              ],
            ]
          : []),
      ],
      tls: broker.tlsCases((secure) => ({ ...config, ...secure })),
    },
    stop: async () => {
      await proxy.stop();
      await redis.del(stream, target);
    },
  };
}

/** Starts Redis for the suite at hand. */
export function onRedis(): void {
  beforeAll(async () => {
    broker = await redisBroker();
    ({ server, redis } = broker);
    await prepare();
  });
  afterAll(() => broker?.close());
}
