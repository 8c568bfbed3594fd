import { randomBytes, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type BrokerHarness,
  consumerOf,
  describeBroker,
  type ExactMessage,
  eventually,
} from "@/lib/brokers/broker.conformance";
import { celeryAdapter } from "@/lib/brokers/celery/adapter";
import type { CeleryConfig } from "@/lib/brokers/celery/kind.shapes";
import { parseSourceConfig } from "@/lib/brokers/kinds/kinds.shapes";
import { type RedisBroker, redisBroker } from "@/lib/brokers/testing/redis-broker";
import { backOut, parkAll, sendOne } from "@/lib/brokers/testing/round-trip";
import type { DeadLetter } from "@/lib/intake/dead-letter.pure";
import { systemClock } from "@/lib/platform/clock";
import { describeWith } from "@/lib/testing/describe-with";
import { redisInstalled, type TestRedis } from "@/lib/testing/redis";
import { startTcpProxy } from "@/lib/testing/tcp-proxy";

const never = new AbortController().signal;
const adapter = celeryAdapter({ clock: systemClock, random: () => 0 });
let broker: RedisBroker;
let server: TestRedis;
let redis: Redis;

const configOf = (change: object) => parseSourceConfig("celery", { url: server.url, ...change }).config as CeleryConfig;
const unique = (name: string) => `${name}-${randomBytes(4).toString("hex")}`;

/** As Kombu writes a message that is published to a queue. */
function envelope({ body, headers }: ExactMessage, queue: string, change: object = {}): string {
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

const plain = (body: string): ExactMessage => ({ key: null, body: Buffer.from(body), headers: [] });

/** In one step of the server: messages move between the lists meanwhile. */
const COUNT = `local total = redis.call("LLEN", KEYS[1])
for step = 1, 9 do total = total + redis.call("LLEN", KEYS[1] .. "\\6\\22" .. step) end
for _, owner in ipairs(redis.call("SMEMBERS", KEYS[1] .. ".parkade")) do
  total = total + redis.call("LLEN", KEYS[1] .. ".parkade." .. owner)
end
return total`;
const waiting = (queue: string) => redis.eval(COUNT, 1, queue) as Promise<number>;

/** What a server that has just started lacks. */
async function prepare(): Promise<void> {
  await redis.set("text-key", "x");
  await redis.call("ACL", "SETUSER", "limited", "on", ">hunter2", "~*", "+@all", "-lmove");
}

/** Returns and removes what lies in a queue, in the order in which a worker would take it. */
async function emptied(queue: string): Promise<string[]> {
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

async function harness(): Promise<BrokerHarness<CeleryConfig>> {
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
        ["a key of another type", { ...config, queue: "text-key" }, /the key of the queue is no list/],
      ],
      tls: broker.tlsCases((secure) => ({ ...config, ...secure })),
    },
    stop: async () => {
      await proxy.stop();
      await redis.del(target, ...(await redis.keys(`${queue}*`)), "none");
    },
  };
}

describeWith(redisInstalled ? null : "redis-server is missing", "celery", () => {
  beforeAll(async () => {
    broker = await redisBroker();
    ({ server, redis } = broker);
    await prepare();
  });
  afterAll(() => broker?.close());

  describeBroker<CeleryConfig>("celery", harness);
  describe("what only Kombu's queues have", () => ownTests());
});

async function parkedAndGone(config: CeleryConfig, count: number): Promise<DeadLetter[]> {
  const parked = await parkAll(adapter, config, count);
  expect(await waiting(config.queue)).toBe(0);
  return parked;
}

const redrive = (letter: DeadLetter, config: CeleryConfig, slow = false) =>
  sendOne(adapter, config, backOut(letter), slow ? "slow" : "main");

/** The rules of the ACL command in the docs. */
function permissionsInDocs(): string[] {
  const page = readFileSync("docs/connect-celery.md", "utf8");
  const rules = /ACL SETUSER parkade on >PASSWORD ([^`]+)```/.exec(page)![1]!;
  return rules.trim().split(/\s+/);
}

const texts = (letters: DeadLetter[]) => letters.map(({ payload }) => Buffer.from(payload).toString());

function ownTests(): void {
  it("reads every priority list in Kombu's order, and writes to the step that workers read", async () => {
    const [queue, target] = [unique("dlq"), unique("orders")];
    const config = configOf({ queue, redriveTo: { queue: target } });
    for (const [step, body] of [
      [0, "first"],
      [3, "third"],
      [3, "fourth"],
      [0, "second"],
      [9, "fifth"],
    ] as const)
      await redis.lpush(
        step === 0 ? queue : `${queue}\u0006\u0016${step}`,
        envelope(plain(body), queue, { priority: step === 3 ? 5 : step }),
      );
    const probed = await adapter.probe(config, never);
    expect(probed).toMatchObject({ reachable: true, depth: 5 });
    const parked = await parkedAndGone(config, 5);
    expect(texts(parked)).toEqual(["first", "second", "third", "fourth", "fifth"]);
    await redrive(parked[2]!, config);
    await redrive(parked[4]!, configOf({ queue, redriveTo: { queue: target }, prioritySteps: "0,5", separator: ":" }));
    expect(await emptied(`${target}\u0006\u00163`)).toHaveLength(1);
    expect(await emptied(`${target}:5`)).toHaveLength(1);
  });

  it("finds the queue behind a direct exchange, and refuses where one does not stand out", async () => {
    const [queue, target] = [unique("dlq"), unique("orders")];
    const config = configOf({ queue, slowLaneQueue: `${target}.slow`, keyPrefix: "shop:" });
    const sent = (exchange: string, routing_key: string) =>
      redis.lpush(`shop:${queue}`, envelope(plain("{}"), queue, { delivery_info: { exchange, routing_key } }));
    const [direct, shared, back, gone] = ["direct", "shared", "back", "gone"].map(unique) as [
      string,
      string,
      string,
      string,
    ];
    const bind = (exchange: string, to: string) =>
      redis.sadd(`shop:_kombu.binding.${exchange}`, `created\u0006\u0016\u0006\u0016${to}`);
    await bind(direct, target);
    await redis.sadd(`shop:_kombu.binding.${direct}`, `other\u0006\u0016\u0006\u0016${target}.other`);
    await bind(shared, target);
    await bind(shared, `${target}.audit`);
    await bind(back, queue);
    for (const exchange of [direct, shared, back, gone]) await sent(exchange, "created");
    await sent("", queue);
    const parked = await parkAll(adapter, config, 5);
    expect(await redrive(parked[0]!, config)).toEqual({ status: `queue ${target}` });
    expect(await redrive(parked[1]!, config, true)).toEqual({ status: `queue ${target}.slow` });
    const [item] = await emptied(`shop:${target}`);
    expect(JSON.parse(item!).properties.delivery_info).toEqual({ exchange: "", routing_key: target });
    for (const [n, says] of [
      [1, /leads to 2 queues/],
      [2, /leads back into the dead-letter queue/],
      [3, /no queue is bound/],
      [4, /does not tell the queue it came from: set redriveTo\.queue/],
    ] as const)
      await expect(redrive(parked[n]!, config)).rejects.toMatchObject({
        code: "REDIS_NO_TARGET",
        sent: "no",
        message: expect.stringMatching(says),
      });
  });

  it("parks what is no envelope as it is, beside its neighbours, and refuses to queue it", async () => {
    const config = configOf({ queue: unique("dlq"), redriveTo: { queue: unique("orders") } });
    const items = ["{no json", '{"task":"a"}', Buffer.from([0xff, 0xfe]), envelope(plain("good"), config.queue)];
    for (const item of items) await redis.lpush(config.queue, item);
    const parked = await parkedAndGone(config, 4);
    expect(parked.slice(0, 3).map(({ payload }) => Buffer.from(payload))).toEqual(
      items.slice(0, 3).map((item) => Buffer.from(item)),
    );
    expect(parked[1]!.error.message).toBe("the message could not be read: it is no Kombu envelope");
    expect(new Set(parked.map(({ eventId }) => eventId)).size).toBe(4);
    for (const letter of parked.slice(0, 3))
      await expect(redrive(letter, config)).rejects.toMatchObject({ code: "REDIS_UNREADABLE", sent: "no" });
    await redrive(parked[3]!, config);
  });

  it("two readers park each message once, however long a commit takes, and leave no key behind", async () => {
    const config = configOf({ queue: unique("dlq") });
    const bodies = Array.from({ length: 400 }, (_, n) => `n-${n}`);
    for (const body of bodies) await redis.lpush(config.queue, envelope(plain(body), config.queue));
    const hold = Promise.withResolvers<void>();
    const parked: string[] = [];
    const readers = [1, 2].map(() =>
      consumerOf(adapter, config, async (batch) => {
        parked.push(...texts(batch));
        await hold.promise;
      }),
    );
    await eventually(() => parked.length).toBe(400); // 250 and 150
    expect(new Set(parked).size).toBe(400);
    // The leases are kept while the commits wait: they would be gone otherwise.
    const leases = await redis.keys(`${config.queue}.parkade.*.alive`);
    expect(leases).toHaveLength(2);
    for (const lease of leases) await redis.pexpire(lease, 6_000);
    await eventually(async () =>
      Math.max(...(await Promise.all(leases.map((lease) => redis.pttl(lease))))),
    ).toBeGreaterThan(6_000);
    hold.resolve();
    await eventually(() => waiting(config.queue)).toBe(0);
    await Promise.all(readers.map((reader) => reader.stop()));
    expect(await redis.keys(`${config.queue}*`)).toEqual([]);
    expect(parked).toHaveLength(400);
  });

  it("takes over what a dead reader held, in its order, and nothing of one that lives", async () => {
    const config = configOf({ queue: unique("dlq") });
    const own = `${config.queue}.parkade`;
    const item = (body: string) => envelope(plain(body), config.queue);
    await redis.lpush(config.queue, item("later"));
    await redis.sadd(own, "dead", "alive");
    await redis.lpush(`${own}.dead`, item("a"), item("b"));
    await redis.lpush(`${own}.alive`, item("not ours"));
    await redis.set(`${own}.alive.alive`, "1", "EX", 600);
    const parked: DeadLetter[] = [];
    const consumer = consumerOf(adapter, config, async (batch) => {
      parked.push(...batch);
    });
    await eventually(() => texts(parked)).toEqual(["a", "b", "later"]);
    await eventually(() => redis.llen(config.queue)).toBe(0);
    await consumer.stop();
    expect(await redis.smembers(own)).toEqual(["alive"]);
    expect(await redis.llen(`${own}.alive`)).toBe(1);
    await redis.del(own, `${own}.alive`, `${own}.alive.alive`);
  });

  it("gives back in order what it could not commit", async () => {
    const config = configOf({ queue: unique("dlq") });
    const items = ["a", "b", "c"].map((body) => envelope(plain(body), config.queue));
    for (const item of items) await redis.lpush(config.queue, item);
    const consumer = consumerOf(adapter, config, async () => {
      throw new Error("the store is out");
    });
    await eventually(() => consumer.state().state).toBe("failing");
    await consumer.stop();
    expect(await emptied(config.queue)).toEqual(items);
  });

  it("works with the permissions that its page lists", async () => {
    await redis.call("ACL", "SETUSER", "parkade", "reset", "on", ">secret", ...permissionsInDocs());
    const config = configOf({ queue: "orders.dlq", redriveTo: { queue: "orders" } });
    const own = { ...config, url: server.url.replace("//", "//parkade:secret@") };
    await redis.lpush("orders.dlq", envelope(plain("{}"), "orders.dlq"));
    expect(await adapter.probe(own, never)).toMatchObject({ reachable: true, depth: 1 });
    const parked = await parkedAndGone(own, 1);
    await redrive(parked[0]!, own);
    expect(await emptied("orders")).toHaveLength(1);
    await expect(
      redrive({ ...parked[0]!, origin: { exchange: "nobody", routingKeys: ["x"] } }, { ...own, redriveTo: undefined }),
    ).rejects.toMatchObject({ code: "REDIS_NO_TARGET" });
  });
}
