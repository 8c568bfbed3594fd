import { createHash, randomBytes } from "node:crypto";
import { deflateSync } from "node:zlib";
import type { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll } from "vitest";
import type { BrokerHarness, ExactMessage } from "@/lib/brokers/broker.conformance";
import { parseSourceConfig } from "@/lib/brokers/kinds/kinds.shapes";
import type { OutboundMessage } from "@/lib/brokers/port";
import { sidekiqAdapter } from "@/lib/brokers/sidekiq/adapter";
import type { SidekiqConfig } from "@/lib/brokers/sidekiq/kind.shapes";
import { type RedisBroker, redisBroker } from "@/lib/brokers/testing/redis-broker";
import { backOut, sendOne } from "@/lib/brokers/testing/round-trip";
import { systemClock } from "@/lib/platform/clock";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import type { TestRedis } from "@/lib/testing/redis";
import { startTcpProxy } from "@/lib/testing/tcp-proxy";

export const adapter = sidekiqAdapter({ clock: systemClock, random: () => 0 });
let broker: RedisBroker;
let server: TestRedis;
export let redis: Redis;

export const configOf = (change: object = {}) =>
  parseSourceConfig("sidekiq", { url: server.url, ...change }).config as SidekiqConfig;

export const BACKTRACE = ["app/jobs/charge.rb:12:in `perform'", "sidekiq/processor.rb:220"];
const packed = deflateSync(JSON.stringify(BACKTRACE)).toString("base64");

/** In the form of Sidekiq 8: times in milliseconds. Spaces and digits show that the bytes are kept. */
export const VERSION_8 = `{"retry":true,"queue":"billing","args":[12345678901234567890, {"b":1.10}],"class":"Sidekiq::ActiveJob::Wrapper","wrapped":"ChargeJob","jid":"b4a577edbccf1d805744efa9","created_at":1795330000123,"enqueued_at":1795330000124,"error_message":"card é declined","error_class":"Stripe::CardError","failed_at":1795330001000,"retry_count":25,"retried_at":1795337000000,"error_backtrace":"${packed}"}`;
/** In the form of Sidekiq 6 and 7: times in seconds. */
export const VERSION_7 = `{"class":"Mailer","args":[],"retry":3,"queue":"default","jid":"0123456789abcdef01234567","created_at":1695330000.5,"enqueued_at":1695330000.6,"error_class":"Timeout::Error","error_message":"execution expired","failed_at":1695330001.25,"retry_count":2}`;

export const kill = (job: string, score = 1_795_337_000.5) => redis.zadd("dead", score, job);

export const redrive = (letter: DeadLetter, config = configOf(), change: Partial<OutboundMessage> = {}, slow = false) =>
  sendOne(adapter, config, backOut(letter, change), slow ? "slow" : "main");

/** The job that stands for a text: its only argument. */
const job = {
  payload: (text: string) =>
    Buffer.from(
      JSON.stringify({
        class: "Charge",
        args: [text],
        queue: "orders",
        jid: createHash("sha256").update(text).digest("hex").slice(0, 24),
        retry: true,
      }),
    ),
  text: (payload: Buffer): string => JSON.parse(String(payload)).args[0],
};

export async function harness(): Promise<BrokerHarness<SidekiqConfig>> {
  const proxy = await startTcpProxy(server.port);
  const namespace = `shop-${randomBytes(4).toString("hex")}`;
  const dead = `${namespace}:dead`;
  const through = (login = "") => `redis://${login}127.0.0.1:${proxy.port}`;
  const config = configOf({ url: through(), namespace });
  let score = 0;
  const bury = async (jobs: (string | Buffer)[]) => {
    for (const member of jobs) await redis.zadd(dead, ++score, member);
  };
  /** As workers took them out of the queue. */
  let taken: string[] = [];
  const emptied = async () => {
    const queue = `${namespace}:queue:orders`;
    const [[, jobs]] = (await redis.multi().lrange(queue, 0, -1).del(queue).exec()) as [[null, string[]], unknown];
    taken = jobs.reverse();
    return taken.map((one) => job.text(Buffer.from(one)));
  };
  const prepare = async () => {
    await redis.set(`${namespace}-text:dead`, "x");
    await redis.set(`${namespace}:queue:text`, "x");
    await redis.call("ACL", "SETUSER", "limited", "on", ">hunter2", "~*", "+@all", "-zrem");
  };
  await prepare();
  return {
    adapter,
    config,
    refusing: configOf({ ...config, redriveTo: { queue: "text" } }),
    proxy,
    origin: {},
    without: { anyBody: job, headers: true },
    arrived: async () =>
      (await emptied()).map((text) => ({ body: job.payload(text), contentType: "application/json", headers: {} })),
    produce: (bodies) => bury(bodies.map(job.payload)),
    remaining: () => redis.zcard(dead),
    exact: {
      carries: {
        keys: false,
        absentBody: false,
        emptyBody: false,
        binaryBody: false,
        nullHeaders: false,
        duplicateHeaders: false,
        binaryHeaders: false,
      },
      produceExact: (messages) => bury(messages.map(({ body }) => job.payload(String(body)))),
      arrivedExact: async () =>
        (await emptied()).map((text): ExactMessage => ({ key: null, body: Buffer.from(text), headers: [] })),
      bounce: () => bury(taken.slice(0, 1)),
      restart: async () => {
        await server.restart();
        await prepare();
      },
      misconfigured: [
        [
          "a wrong password",
          configOf({ ...config, url: through("nobody:hunter2@") }),
          /check the user and the password/,
        ],
        [
          "a user without one command",
          configOf({ ...config, url: through("limited:hunter2@") }),
          /refuses a command: .*zrem/i,
        ],
        ["a key of another type", configOf({ ...config, namespace: `${namespace}-text` }), /is not a Sidekiq set/],
      ],
      tls: broker.tlsCases((secure) => configOf({ ...secure, namespace })),
    },
    stop: () => proxy.stop(),
  };
}

/** Starts Redis for the suite at hand. */
export function onRedis(): void {
  beforeAll(async () => {
    broker = await redisBroker();
    ({ server, redis } = broker);
  });
  afterEach(() => redis.flushall());
  afterAll(() => broker?.close());
}
