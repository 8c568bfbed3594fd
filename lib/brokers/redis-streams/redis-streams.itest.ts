import { randomBytes } from "node:crypto";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import {
  type BrokerHarness,
  consumerOf,
  describeBroker,
  type ExactMessage,
  eventually,
  outbound,
} from "@/lib/brokers/broker.conformance";
import { parseSourceConfig } from "@/lib/brokers/kinds/kinds.shapes";
import { redisStreamsAdapter } from "@/lib/brokers/redis-streams/adapter";
import { entriesOf } from "@/lib/brokers/redis-streams/entry";
import type { RedisStreamsConfig } from "@/lib/brokers/redis-streams/kind.shapes";
import { memoryPositions } from "@/lib/brokers/testing/positions";
import { type RedisBroker, redisBroker } from "@/lib/brokers/testing/redis-broker";
import type { DeadLetter } from "@/lib/intake/dead-letter.pure";
import { systemClock } from "@/lib/platform/clock";
import { describeWith } from "@/lib/testing/describe-with";
import { redisInstalled, type TestRedis } from "@/lib/testing/redis";
import { startTcpProxy } from "@/lib/testing/tcp-proxy";

const never = new AbortController().signal;
const adapter = redisStreamsAdapter({ clock: systemClock, random: () => 0 });
let broker: RedisBroker;
let server: TestRedis;
let redis: Redis;

const unique = (name: string) => `${name}-${randomBytes(4).toString("hex")}`;

/** Adds entries, and delivers each once to a consumer that does not acknowledge. */
async function addAndFail(stream: string, group: string, entries: (string | Buffer)[][]): Promise<void> {
  for (const fields of entries) await redis.call("XADD", stream, "*", ...fields);
  await redis.call("XREADGROUP", "GROUP", group, "app", "COUNT", "100000", "STREAMS", stream, ">");
}

/** What a server that has just started lacks. */
async function prepare(): Promise<void> {
  await redis.set("text-key", "x");
  const denied = ["-xpending", "-xreadgroup", "-xautoclaim"];
  await redis.call("ACL", "SETUSER", "limited", "on", ">hunter2", "~*", "+@all", ...denied);
}

async function pendingCount(stream: string, group: string): Promise<number> {
  return ((await redis.call("XPENDING", stream, group)) as [number])[0];
}

const flat = ({ body, headers }: ExactMessage): (string | Buffer)[] => [
  ...headers.flatMap(([name, value]) => [name, value ?? Buffer.alloc(0)]),
  ...(body === null ? [] : ["payload", body]),
];

async function harness(read: "pending" | "stream"): Promise<BrokerHarness<RedisStreamsConfig>> {
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

describeWith(redisInstalled ? null : "redis-server is missing", "redis streams", () => {
  beforeAll(async () => {
    broker = await redisBroker();
    ({ server, redis } = broker);
    await prepare();
    const denied = ["-xpending", "-xreadgroup", "-xautoclaim"];
    await redis.call("ACL", "SETUSER", "limited", "on", ">hunter2", "~*", "+@all", ...denied);
  });
  afterAll(() => broker?.close());

  describeBroker<RedisStreamsConfig>("redis-stream", () => harness("pending"));
  describe("a dead-letter stream", () => {
    describeBroker<RedisStreamsConfig>("redis-stream", () => harness("stream"));
  });
  describe("what only streams have", () => ownTests());
});

function ownTests(): void {
  it("leaves an entry that another consumer takes over between the listing and the claim", async () => {
    const made = await harness("pending");
    const config = { ...made.config, minIdleMs: 100 };
    const { stream } = config;
    await made.produce!(["contested"]);
    const [[id]] = (await redis.call("XRANGE", stream, "-", "+")) as [[string]];
    await redis.call("XCLAIM", stream, "billing", "app", "0", id, "IDLE", "3600000", "JUSTID");
    const session = await adapter.reader!(config, "orders", memoryPositions()).open(never, () => undefined);
    const { callBuffer } = Redis.prototype;
    const claim = vi.spyOn(Redis.prototype, "callBuffer").mockImplementationOnce(async function (
      this: Redis,
      ...command: Parameters<typeof callBuffer>
    ) {
      await redis.call("XCLAIM", stream, "billing", "faster", "0", id, "RETRYCOUNT", "7");
      return callBuffer.apply(this, command);
    });
    try {
      expect(await session.take(10, never, 1)).toEqual([]);
    } finally {
      claim.mockRestore();
      await session.close(true);
    }
    expect(await redis.call("XPENDING", stream, "billing", "-", "+", "10")).toMatchObject([
      [id, "faster", expect.anything(), 7],
    ]);
    await made.stop();
  });

  it("leaves alone what a consumer has touched, and what was not delivered too often", async () => {
    const made = await harness("pending");
    const config = { ...made.config, deliveryLimit: 3, minIdleMs: 1 };
    const { stream } = config;
    await made.produce!(["young", "old"]);
    const ids = ((await redis.call("XRANGE", stream, "-", "+")) as [string][]).map(([id]) => id);
    await redis.call("XCLAIM", stream, "billing", "app", "0", ids[1]!, "RETRYCOUNT", "3", "JUSTID");
    const parked: DeadLetter[] = [];
    const consumer = consumerOf(adapter, config, async (batch) => {
      parked.push(...batch);
    });
    await eventually(() => parked.map(({ payload }) => Buffer.from(payload).toString())).toEqual(["old"]);
    expect(parked[0]).toMatchObject({
      eventId: `${stream}:${ids[1]}`,
      errorCode: "DELIVERY_LIMIT",
      attempts: 3,
      origin: { stream, consumer: "billing", deadLetter: { id: ids[1] } },
    });
    await eventually(() => pendingCount(stream, "billing")).toBe(1);
    // Busy for an hour, as far as the server knows.
    await redis.call("XCLAIM", stream, "billing", "app", "0", ids[0]!, "RETRYCOUNT", "9", "JUSTID");
    const idle = consumerOf(adapter, { ...config, minIdleMs: 3_600_000 }, async (batch) => {
      parked.push(...batch);
    });
    await consumer.stop();
    await eventually(() => idle.state().state).toBe("running");
    await idle.stop();
    await made.stop();
  });

  it("two readers park each entry, and the count of deliveries stays that of the consumers", async () => {
    const made = await harness("pending");
    const bodies = Array.from({ length: 400 }, (_, n) => `n-${n}`);
    await made.produce!(bodies);
    const hold = Promise.withResolvers<void>();
    const parked: string[] = [];
    const config = { ...made.config, minIdleMs: 60_000 };
    const ids = ((await redis.call("XRANGE", config.stream, "-", "+")) as [string][]).map(([id]) => id);
    await redis.call(
      "XCLAIM",
      config.stream,
      "billing",
      "app",
      "0",
      ...ids,
      "IDLE",
      "60000",
      "RETRYCOUNT",
      "7",
      "JUSTID",
    );
    const readers = [1, 2].map(() =>
      consumerOf(adapter, config, async (batch) => {
        parked.push(...batch.map(({ payload }) => Buffer.from(payload).toString()));
        await hold.promise;
      }),
    );
    await eventually(() => parked.length).toBe(400); // 250 and 150: nobody takes what the other has
    expect(new Set(parked).size).toBe(400);
    const pending = (await redis.call("XPENDING", config.stream, "billing", "-", "+", "1000")) as [
      string,
      string,
      number,
      number,
    ][];
    expect(new Set(pending.map(([, consumer, , deliveries]) => `${consumer} ${deliveries}`))).toEqual(
      new Set(["parkade 7"]),
    );
    hold.resolve();
    await eventually(() => pendingCount(config.stream, "billing")).toBe(0);
    await Promise.all(readers.map((reader) => reader.stop()));
    await made.stop();
  });

  it("goes on after a server that lost everything, and says so meanwhile", async () => {
    const made = await harness("stream");
    const parked: string[] = [];
    const consumer = consumerOf(adapter, made.config, async (batch) => {
      parked.push(...batch.map(({ payload }) => Buffer.from(payload).toString()));
    });
    await made.produce!(["before"]);
    await eventually(() => parked).toEqual(["before"]);
    await redis.flushall();
    await server.restart();
    await eventually(() => consumer.state().lastError).toMatch(/does not exist|cannot connect|lost/);
    await expect(adapter.publisher(made.config).publish(outbound({}), never)).rejects.toMatchObject({ sent: "no" });
    await redis.call("XADD", made.config.stream, "*", "payload", "after");
    await eventually(() => parked).toEqual(["before", "after"]); // its own group is made again, from the start
    await consumer.stop();
    await made.stop();
  });

  it("keeps an entry whose field names are no text, and says why it cannot be sent", async () => {
    const made = await harness("pending");
    await addAndFail(made.config.stream, "billing", [[Buffer.from([0xff, 0xfe]), "v", "payload", "p"]]);
    const parked: DeadLetter[] = [];
    const consumer = consumerOf(adapter, made.config, async (batch) => {
      parked.push(...batch);
    });
    await eventually(() => parked.length).toBe(1);
    await consumer.stop();
    const { origin, payload } = parked[0]!;
    expect(origin.rawFields).toEqual([
      ["//4=", "dg=="],
      ["cGF5bG9hZA==", "cA=="],
    ]);
    const target = adapter.publisher(made.config);
    await expect(target.publish(outbound(origin, { payload }), never)).rejects.toMatchObject({
      code: "REDIS_UNREADABLE",
    });
    await target.close();
    await made.stop();
  });
}
