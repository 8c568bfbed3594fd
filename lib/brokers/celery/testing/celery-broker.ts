import { randomBytes, randomUUID } from "node:crypto";
import type { Redis } from "ioredis";
import { afterAll, beforeAll } from "vitest";
import type { BrokerHarness, ExactMessage } from "@/lib/brokers/broker.conformance";
import { celeryAdapter } from "@/lib/brokers/celery/adapter";
import type { CeleryConfig } from "@/lib/brokers/celery/kind.shapes";
import { parseSourceConfig } from "@/lib/brokers/kinds/kinds.shapes";
import { type RedisBroker, redisBroker } from "@/lib/brokers/testing/redis-broker";
import { systemClock } from "@/lib/platform/clock";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import type { TestRedis } from "@/lib/testing/redis";
import { startTcpProxy } from "@/lib/testing/tcp-proxy";

export const never = new AbortController().signal;
export const adapter = celeryAdapter({ clock: systemClock, random: () => 0 });
let broker: RedisBroker;
export let server: TestRedis;
export let redis: Redis;

export const configOf = (change: object) =>
  parseSourceConfig("celery", { url: server.url, ...change }).config as CeleryConfig;
export const unique = (name: string) => `${name}-${randomBytes(4).toString("hex")}`;

/** As Kombu writes a message that is published to a queue. */
export function envelope({ body, headers }: ExactMessage, queue: string, change: object = {}): string {
  return JSON.stringify({
    body: body === null ? null : body.toString("base64"),
    "content-encoding": "utf-8",
    "content-type": null,
    headers: Object.fromEntries(headers.map(([name, value]) => [name, value === null ? null : String(value)])),
    properties: {
      delivery_mode: 2,
      delivery_info: { exchange: "", routing_key: queue },
      priority: 0,
      body_encoding: "base64",
      delivery_tag: randomUUID(),
      ...change,
    },
  });
}

export const plain = (body: string): ExactMessage => ({ key: null, body: Buffer.from(body), headers: [] });

/** In one step of the server: messages move between the lists meanwhile. */
const COUNT = `local total = redis.call("LLEN", KEYS[1])
for step = 1, 9 do total = total + redis.call("LLEN", KEYS[1] .. "\\6\\22" .. step) end
for _, owner in ipairs(redis.call("SMEMBERS", KEYS[1] .. ".parkade")) do
  total = total + redis.call("LLEN", KEYS[1] .. ".parkade." .. owner)
end
return total`;
export const waiting = (queue: string) => redis.eval(COUNT, 1, queue) as Promise<number>;

/** What a server that has just started lacks. */
async function prepare(): Promise<void> {
  await redis.set("text-key", "x");
  await redis.call("ACL", "SETUSER", "limited", "on", ">hunter2", "~*", "+@all", "-lmove");
}

/** Returns and removes what lies in a queue, in the order in which a worker would take it. */
export async function emptied(queue: string): Promise<string[]> {
  const [[, items]] = (await redis.multi().lrange(queue, 0, -1).del(queue).exec()) as [[null, string[]], unknown];
  return items.reverse();
}

function exactOf(item: string): ExactMessage & { contentType: string | null } {
  const { body, headers, "content-type": contentType } = JSON.parse(item);
  return {
    key: null,
    body: body === null ? null : Buffer.from(body, "base64"),
    headers: Object.entries(headers).map(([name, value]) => [name, value === null ? null : Buffer.from(String(value))]),
    contentType,
  };
}

export async function harness(): Promise<BrokerHarness<CeleryConfig>> {
  const proxy = await startTcpProxy(server.port);
  const [target, queue] = [unique("orders"), unique("orders.dlq")];
  const url = (login = "") => `redis://${login}127.0.0.1:${proxy.port}`;
  const config = configOf({ url: url(), queue });
  const push = async (items: string[]) => {
    const pushing = redis.pipeline();
    for (const item of items) pushing.lpush(queue, item);
    await pushing.exec();
  };
  return {
    adapter,
    config,
    refusing: { ...config, redriveTo: { queue: "text-key" } },
    proxy,
    origin: { queue: target },
    arrived: async () =>
      (await emptied(target)).map(exactOf).map(({ body, headers, contentType }) => ({
        body: body ?? Buffer.alloc(0),
        contentType,
        headers: Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), String(value)])),
      })),
    produce: (bodies) => push(bodies.map((body) => envelope(plain(body), queue))),
    remaining: () => waiting(queue),
    exact: {
      carries: {
        keys: false,
        absentBody: true,
        emptyBody: true,
        binaryBody: true,
        nullHeaders: true,
        duplicateHeaders: false,
        binaryHeaders: false,
      },
      produceExact: (messages) => push(messages.map((message) => envelope(message, queue))),
      arrivedExact: async () => (await emptied(target)).map(exactOf),
      bounce: (message) => push([envelope(message, queue)]),
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
        ["a user without one command", { ...config, url: url("limited:hunter2@") }, /refuses a command: .*lmove/i],
        ["a key of another type", { ...config, queue: "text-key" }, /is not a list, so Kombu did not create it/],
      ],
      tls: broker.tlsCases((secure) => ({ ...config, ...secure })),
    },
    stop: async () => {
      await proxy.stop();
      await redis.del(target, ...(await redis.keys(`${queue}*`)), "none");
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

export const texts = (letters: DeadLetter[]) => letters.map(({ payload }) => Buffer.from(payload).toString());
