import { createPostgresBackend, Queue, quoteSchemaName } from "bullmq";
import type { Redis } from "ioredis";
import { abortable } from "@/lib/brokers/abortable";
import type { BullmqConfig } from "@/lib/brokers/bullmq/kind.shapes";
import { logLine, MARKS, type Marks, marksOf } from "@/lib/brokers/bullmq/marks";
import { CodedError } from "@/lib/brokers/coded-error";
import type { AdapterDeps } from "@/lib/brokers/port";
import {
  addressOf,
  type Connecting,
  connectRedis,
  describeRedis,
  isReply,
  RedisFailure,
  redisCode,
} from "@/lib/brokers/redis-connection";
import { checkedSocket, DEFAULT_ADDRESSES } from "@/lib/platform/address-filter";
import { atMost } from "@/lib/platform/clock";
import { takesAnyCertificate, VERIFIED_TLS_RULE } from "@/lib/platform/plain/postgres-tls.pure";
import { PostgresPool } from "@/lib/platform/postgres-pool";

const STATEMENT_MS_MAX = 5_000;
/** How long an orderly end may take before the sockets are closed. */
const CLOSE_MS_MAX = 1_000;

const FAILED = "failed";

/** The part of BullMQ's Queue that is used, the same on both backends. */
export type JobQueue = Pick<Queue, "getJob" | "getJobs" | "addJobLog" | "getFailedCount" | "add" | "close">;

type Stored = { data: string; marks: Marks };

/** A failed job of a queue, without its data. `finishedOn`: when it failed, epoch ms. */
export type FailedJob = { id: string; finishedOn: number };

/** The queues of an application, over one connection to its Redis or PostgreSQL. */
export type JobStore = {
  queue(name: string): JobQueue;
  /** Whether an application has ever used the queue. */
  exists(name: string): Promise<boolean>;
  /** Failed jobs from position `start` on, `count` at most, without their data: it may be large. */
  failed(queue: string, page: { start: number; count: number; oldestFirst: boolean }): Promise<FailedJob[]>;
  /** Raw job data (BullMQ's own reading rounds large numbers) and Parkade's marks beside it. null = the job is gone. */
  stored(queue: string, id: string): Promise<Stored | null>;
  /** Writes marks beside the job, and into its log. Nothing is written for a job that is gone. */
  mark(queue: string, id: string, marks: Marks): Promise<void>;
  /** Throws when the connection is gone. */
  assertOpen(): void;
  close(): Promise<void>;
};

function isRedis(config: BullmqConfig): boolean {
  return config.url.startsWith("redis");
}

export async function openJobStore(config: BullmqConfig, connecting: Connecting, deps: AdapterDeps): Promise<JobStore> {
  return isRedis(config) ? redisStore(config, connecting, deps) : postgresStore(config, connecting, deps);
}

/** Queues that are made at their first use and closed with their store. */
function queues(open: (name: string) => Queue): { queue: (name: string) => Queue; closeAll: () => Promise<void> } {
  const made = new Map<string, Queue>();
  return {
    queue: (name) => {
      const known = made.get(name);
      if (known !== undefined) return known;
      const queue = open(name);
      queue.on("error", () => undefined); // the call that fails carries it
      made.set(name, queue);
      return queue;
    },
    closeAll: async () => {
      await Promise.all([...made.values()].map((queue) => queue.close().catch(() => undefined)));
    },
  };
}

/** A job that is gone is not made again: BullMQ would ignore each new job with its id. */
const SET_IN_JOB =
  "return redis.call('exists', KEYS[1]) == 1 and redis.call('hset', KEYS[1], ARGV[1], ARGV[2]) and 1 or 0";

/** For people. A job that was removed meanwhile has no log. */
async function addLog(queue: JobQueue, id: string, marks: Marks): Promise<void> {
  await queue.addJobLog(id, logLine(marks)).catch((error: unknown) => {
    if (!/missing/i.test(String(error))) throw error;
  });
}

/** Nothing is written about us into the queue's own settings. */
const LOOKING_ON = { skipMetasUpdate: true, skipVersionCheck: true, skipWaitingForReady: true };

async function redisStore(config: BullmqConfig, connecting: Connecting, deps: AdapterDeps): Promise<JobStore> {
  const redis: Redis = await connectRedis(config, connecting, deps);
  let lost: unknown = null;
  redis.on("close", () => {
    lost ??= new RedisFailure("ECONNRESET", `lost ${addressOf(config)}`);
  });
  const { prefix } = config;
  const { queue, closeAll } = queues((name) => new Queue(name, { connection: redis, prefix, ...LOOKING_ON }));
  return {
    queue,
    exists: async (name) => (await redis.exists(`${prefix}:${name}:meta`)) === 1,
    failed: async (name, { start, count, oldestFirst }) => {
      const key = `${prefix}:${name}:failed`;
      const end = start + count - 1;
      const order = oldestFirst ? [] : ["REV"];
      const flat = (await redis.call("zrange", key, start, end, ...order, "WITHSCORES")) as string[];
      return Array.from({ length: flat.length / 2 }, (_, at) => ({
        id: flat[2 * at]!,
        finishedOn: Number(flat[2 * at + 1]),
      }));
    },
    stored: async (name, id) => {
      const [data, marks] = await redis.hmget(`${prefix}:${name}:${id}`, "data", MARKS);
      return typeof data === "string" ? { data, marks: marksOf(marks ?? null) } : null;
    },
    mark: async (name, id, marks) => {
      const key = `${prefix}:${name}:${id}`;
      const written = await redis.eval(SET_IN_JOB, 1, key, MARKS, JSON.stringify(marks));
      if (written === 1) await addLog(queue(name), id, marks);
    },
    assertOpen: () => {
      if (lost !== null) throw lost;
    },
    close: async () => {
      await closeAll();
      redis.disconnect();
    },
  };
}

async function postgresStore(
  config: BullmqConfig,
  { name, signal }: Connecting,
  { clock, addresses = DEFAULT_ADDRESSES }: AdapterDeps,
): Promise<JobStore> {
  signal.throwIfAborted();
  if (takesAnyCertificate(config.url, undefined))
    throw new JobStoreFailure("BULLMQ_SSLMODE", `the URL ${VERIFIED_TLS_RULE}`);
  const pool = new PostgresPool(config.url, {
    max: 3,
    statementTimeoutMs: STATEMENT_MS_MAX,
    applicationName: name,
    stream: () => checkedSocket(addresses),
    sessionOptions: `-c search_path=${quoteSchemaName(config.schema)}`,
  });
  const { queue, closeAll } = queues(
    (name) => new Queue(name, { connection: pool as never, ...LOOKING_ON }, createPostgresBackend) as unknown as Queue,
  );
  const sockets = new Set<{ destroy(): void }>();
  pool.on("connect", (client) => {
    const { stream } = (client as unknown as { connection: { stream: { destroy(): void } } }).connection;
    sockets.add(stream);
    client.once("end", () => sockets.delete(stream));
  });
  /** A connection that is silent would hold an orderly end for as long as its statement may take. */
  const end = async () => {
    const ended = closeAll().then(() => pool.end());
    await atMost(clock, CLOSE_MS_MAX, ended);
    for (const socket of sockets) socket.destroy();
  };
  const { ca, cert, key, servername } = config.tls ?? {};
  if (config.tls !== undefined) Object.assign(pool.options, { ssl: { ca, cert, key, servername } });
  try {
    await abortable(pool.query("select 1 from job limit 1"), signal);
  } catch (error) {
    await end();
    throw error;
  }
  return {
    queue,
    exists: async (name) => {
      const found = await pool.query(
        "select 1 from meta where queue = $1 union all select 1 from job where queue = $1 limit 1",
        [name],
      );
      return found.rows.length > 0;
    },
    failed: async (name, { start, count, oldestFirst }) => {
      const { rows } = await pool.query<{ id: string; at: string }>(
        `select id, finished_at_ms::text as at from job where queue = $1 and state = $4
          order by finished_at_ms ${oldestFirst ? "asc" : "desc"} offset $2 limit $3`,
        [name, start, count, FAILED],
      );
      return rows.map(({ id, at }) => ({ id, finishedOn: Number(at) }));
    },
    stored: async (name, id) => {
      const { rows } = await pool.query<{ data: string; marks: string | null }>(
        "select data::text, (opts -> $3)::text as marks from job where queue = $1 and id = $2",
        [name, id, MARKS],
      );
      return rows[0] === undefined ? null : { data: rows[0].data, marks: marksOf(rows[0].marks) };
    },
    mark: async (name, id, marks) => {
      const { rowCount } = await pool.query(
        "update job set opts = opts || jsonb_build_object($3::text, $4::jsonb) where queue = $1 and id = $2",
        [name, id, MARKS, JSON.stringify(marks)],
      );
      if (rowCount === 1) await addLog(queue(name), id, marks);
    },
    assertOpen: () => undefined, // the pool connects again by itself
    close: end,
  };
}

/** Host and port, without credentials. */
export function storeAddress(config: BullmqConfig): string {
  if (isRedis(config)) return addressOf(config);
  const { hostname, port } = new URL(config.url);
  return `${hostname}:${port || 5432}`;
}

export function storeCode(error: unknown): string {
  if (error instanceof JobStoreFailure) return error.code;
  const code = (error as { code?: unknown }).code;
  if (typeof code === "string" && /^[0-9A-Z]{5}$/.test(code)) return `PG_${code}`;
  return redisCode(error);
}

export class JobStoreFailure extends CodedError {
  override readonly name = "JobStoreFailure";
}

export function describeStore(error: unknown, config: BullmqConfig): string {
  if (error instanceof JobStoreFailure) return error.message;
  if (isRedis(config)) return describeRedis(error, config);
  const where = storeAddress(config);
  const { code, message } = error as { code?: string; message?: string };
  if (code === "28P01" || code === "28000") return `${where} refuses access: check the user and the password`;
  if (code === "3D000" || code === "42501") return `${where} answered: ${message}`;
  if (code === "42P01") return `schema ${config.schema} on ${where} holds no tables of BullMQ`;
  const text = message ?? String(error);
  return code === undefined || text.includes(code)
    ? `cannot use ${where}: ${text}`
    : `cannot use ${where}: ${text} (${code})`;
}

/** Whether the server refused before it did anything. */
export function wasRefused(error: unknown): boolean {
  return (
    isReply(error) ||
    error instanceof JobStoreFailure ||
    /^(?:22|23|28|3D|42)/.test(String((error as { code?: unknown }).code))
  );
}
