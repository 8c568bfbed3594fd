import { randomBytes } from "node:crypto";
import { createPostgresBackend, type Job, Queue, runMigrations, Worker } from "bullmq";
import { Redis } from "ioredis";
import pg from "pg";
import { afterAll, beforeAll, inject } from "vitest";
import { type BrokerHarness, QUOTED } from "@/lib/brokers/broker.conformance";
import { bullmqAdapter } from "@/lib/brokers/bullmq/adapter";
import type { BullmqConfig } from "@/lib/brokers/bullmq/kind.shapes";
import { MARKS } from "@/lib/brokers/bullmq/marks";
import { parseSourceConfig } from "@/lib/brokers/kinds/kinds.shapes";
import { systemClock } from "@/lib/platform/clock";
import { type TestRedis, testRedis } from "@/lib/testing/redis";
import { startTcpProxy } from "@/lib/testing/tcp-proxy";

export const never = new AbortController().signal;
export const adapter = bullmqAdapter({ clock: systemClock, random: () => 0 });
export const REDRIVE = "018f9c4e-1111-7000-8000-000000000001";

export const unique = (name: string) => `${name}-${randomBytes(4).toString("hex")}`;
export const configOf = (config: object) => parseSourceConfig("bullmq", config).config as BullmqConfig;

/** An application with its queues: on Redis or on PostgreSQL. */
export type App = {
  url: (login?: string) => URL;
  port: number;
  queue(name: string): Queue;
  /** A worker that fails every job once it is asked to. */
  worker(name: string, work: (job: Job) => Promise<unknown>): Worker;
  /** The failed jobs without a mark of that failure. */
  unparked(name: string): Promise<number>;
  /** Lets all failed jobs have failed at this time. Milliseconds. */
  failedAt(name: string, atMs: number): Promise<void>;
  stop(): Promise<void>;
};

const UNPARKED = `
  local count = 0
  for _, id in ipairs(redis.call('zrange', KEYS[1], 0, -1)) do
    local job = redis.call('hmget', ARGV[1] .. id, 'finishedOn', ARGV[2])
    local parked = job[2] and cjson.decode(job[2]).parked
    if tonumber(parked) ~= tonumber(job[1]) then count = count + 1 end
  end
  return count`;

export async function redisApp(): Promise<App> {
  const server: TestRedis = await testRedis({ stored: true });
  const open: { close(): Promise<void> }[] = [];
  const track = <T extends { close(): Promise<void> }>(one: T) => {
    open.push(one);
    return one;
  };
  const connection = () => new Redis(server.url, { maxRetriesPerRequest: null });
  const clients: Redis[] = [];
  const client = () => {
    const made = connection();
    made.on("error", () => undefined);
    clients.push(made);
    return made;
  };
  const marker = client();
  return {
    url: (login = "") => new URL(`redis://${login}127.0.0.1:${server.port}`),
    port: server.port,
    queue: (name) => track(new Queue(name, { connection: client() })),
    worker: (name, work) => track(new Worker(name, work as never, { connection: client() })),
    unparked: async (name) => {
      const [failed, jobs] = [`bull:${name}:failed`, `bull:${name}:`];
      return Number(await marker.eval(UNPARKED, 1, failed, jobs, MARKS));
    },
    failedAt: async (name, atMs) => {
      for (const id of await marker.zrange(`bull:${name}:failed`, "0", "-1")) {
        await marker.zadd(`bull:${name}:failed`, atMs, id);
        await marker.hset(`bull:${name}:${id}`, "finishedOn", atMs);
      }
    },
    stop: async () => {
      await Promise.all(open.map((one) => one.close()));
      for (const one of clients) one.disconnect();
      await server.stop();
    },
  };
}

export async function postgresApp(): Promise<App> {
  const server = new URL(inject("postgresUrl"));
  const name = unique("bullmq").replaceAll("-", "_");
  const admin = new pg.Client({ connectionString: server.href });
  await admin.connect();
  await admin.query(`create database ${name}`);
  await admin.query(`create role ${name}_limited login password 'hunter2'`);
  await admin.end();
  const at = new URL(server);
  at.pathname = `/${name}`;
  const pool = new pg.Pool({ connectionString: at.href, options: "-c search_path=bullmq", max: 100 });
  const client = await pool.connect();
  await runMigrations(client).finally(() => client.release());
  const open: { close(): Promise<void> }[] = [];
  const track = <T extends { close(): Promise<void> }>(one: T) => {
    open.push(one);
    return one;
  };
  return {
    url: (login) => {
      const url = new URL(at);
      if (login !== undefined) [url.username, url.password] = login.replace("@", "").split(":") as [string, string];
      return url;
    },
    port: Number(at.port),
    queue: (queueName) =>
      track(new Queue(queueName, { connection: pool as never }, createPostgresBackend) as unknown as Queue),
    worker: (queueName, work) =>
      track(
        new Worker(queueName, work as never, { connection: pool as never }, createPostgresBackend) as unknown as Worker,
      ),
    unparked: async (queueName) => {
      const { rows } = await pool.query<{ n: number }>(
        `select count(*)::int as n from job where queue = $1 and state = 'failed'
           and (opts -> $2 ->> 'parked')::bigint is distinct from finished_at_ms`,
        [queueName, MARKS],
      );
      return rows[0]!.n;
    },
    failedAt: async (queueName, atMs) => {
      await pool.query("update job set finished_at_ms = $2 where queue = $1 and state = 'failed'", [queueName, atMs]);
    },
    stop: async () => {
      await Promise.all(open.map((one) => one.close()));
      // BullMQ keeps connections that listen: they end with this process.
      void pool.end();
    },
  };
}

/** Adds jobs and lets a worker fail each of them. */
export async function addAndFail(
  app: App,
  queue: Queue,
  jobs: { name?: string; data: unknown; opts?: object }[],
): Promise<void> {
  await queue.addBulk(jobs.map(({ name = "order-placed", data, opts = {} }) => ({ name, data, opts })));
  let count = jobs.length;
  const done = Promise.withResolvers<void>();
  const worker = app.worker(queue.name, async () => {
    throw new TypeError("amount must be positive");
  });
  worker.on("failed", () => {
    count -= 1;
    if (count === 0) done.resolve();
  });
  if (count > 0) await done.promise;
  await worker.close();
}

export async function harness(app: App): Promise<BrokerHarness<BullmqConfig>> {
  const proxy = await startTcpProxy(app.port);
  const [source, target] = [app.queue(unique("orders")), app.queue(unique("orders-again"))];
  await Promise.all([source.waitUntilReady(), target.waitUntilReady()]);
  await addAndFail(app, source, []); // a worker has been there: the queue exists
  await target.add("first", {}).then((job) => job.remove());
  const through = (login?: string) => {
    const url = app.url(login);
    url.port = String(proxy.port);
    return url.href;
  };
  const config = configOf({ url: through(), queue: source.name, redriveTo: { mode: "new-job", queue: target.name } });
  const isRedis = config.url.startsWith("redis");
  return {
    adapter,
    config,
    refusing: configOf({ ...config, redriveTo: { mode: "new-job", queue: unique("nobody-made-it") } }),
    proxy,
    origin: {},
    without: { anyBody: QUOTED, headers: true },
    arrived: async () => {
      const jobs = await target.getJobs(["waiting", "prioritized"], 0, -1, true);
      await Promise.all(jobs.map((job) => job.remove()));
      return jobs.map((job) => ({
        body: Buffer.from(JSON.stringify(job.data)),
        contentType: "application/json",
        headers: {},
      }));
    },
    produce: (bodies) =>
      addAndFail(
        app,
        source,
        bodies.map((data) => ({ data })),
      ),
    remaining: () => app.unparked(source.name),
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
      produceExact: (messages) =>
        addAndFail(
          app,
          source,
          messages.map(({ body }) => ({ data: JSON.parse(String(body)) })),
        ),
      arrivedExact: async () => {
        const jobs = await target.getJobs(["waiting", "prioritized"], 0, -1, true);
        await Promise.all(jobs.map((job) => job.remove()));
        lastIds = jobs.map((job) => job.id!);
        return jobs.map((job) => ({ key: null, body: Buffer.from(JSON.stringify(job.data)), headers: [] }));
      },
      // The job that a redrive added fails again, under its own id.
      bounce: ({ body }) => addAndFail(app, source, [{ data: JSON.parse(String(body)), opts: { jobId: lastIds[0] } }]),
      restart: null,
      misconfigured: [
        [
          "a wrong password",
          configOf({ ...config, url: through("nobody:hunter2@") }),
          /refuses access: check the user and the password/,
        ],
        ["a queue that is not there", configOf({ ...config, queue: "not-there" }), /queue not-there does not exist/],
        ...(isRedis
          ? []
          : [
              [
                "a schema without tables",
                configOf({ ...config, schema: "elsewhere" }),
                /schema elsewhere .* no tables of BullMQ/,
              ] as [string, BullmqConfig, RegExp],
            ]),
      ],
      tls: null,
    },
    stop: async () => {
      await proxy.stop();
      await source.obliterate({ force: true }).catch(() => undefined);
      await Promise.all([source.close(), target.close()]);
    },
  };
}

let lastIds: string[] = [];

/** The application of the suite at hand. */
export function onApp(make: () => Promise<App>): () => App {
  let app: App;
  beforeAll(async () => {
    app = await make();
  });
  afterAll(async () => {
    await app?.stop();
  });
  return () => app;
}
