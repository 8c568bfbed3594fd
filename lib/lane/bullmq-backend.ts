import {
  createPostgresBackend,
  DEFAULT_SCHEMA,
  Job,
  Queue,
  type QueueOptions,
  quoteSchemaName,
  runMigrations,
  UnsupportedPostgresVersionError,
  Worker,
  type WorkerListener,
  type WorkerOptions,
} from "bullmq";
import type { LaneJob } from "@/lib/lane/jobs.shapes";
import type { DomainError } from "@/lib/platform/plain/problem.pure";
import { PostgresPool } from "@/lib/platform/postgres-pool";
import { type LaneConnection, lanePool, QUEUE_NAMES, redisPrefix } from "./connection";
import { laneJobId } from "./lane-job-id";
import type { QueueName } from "./port";
import { asQueueProblem, queueUnfit } from "./queue-unavailable";
import { connectRedis, type LaneRedis } from "./redis-client";

/** The part of BullMQ's Queue and Worker that the lane uses, the same on both backends. */
type LaneBullQueue = Pick<Queue<LaneJob>, "addBulk" | "getRanges" | "getVersion" | "close">;
type LaneBullWorker = {
  run(): Promise<void>;
  /** Fetches no more jobs, waits for those that run, then disconnects. */
  close(): Promise<void>;
  waitUntilReady(): Promise<unknown>;
  on<E extends keyof WorkerListener<unknown, void>>(event: E, listener: WorkerListener<unknown, void>[E]): unknown;
};

type JobProcessor = (job: Job<unknown>, token: string | undefined) => Promise<void>;

/** BullMQ writes event streams that Parkade does not read: they are kept short. */
const EVENTS_KEPT = 100;

/** A producer holds few connections; the web process has one pool for each lane. */
const PRODUCER_CONNECTIONS_MAX = 2;
const WORKER_CONNECTIONS_MAX = 5;

/** `attempts: 1` because our engine retries. Finished jobs go at once; the last failed ones are kept to be read. */
const JOB_OPTIONS = { attempts: 1, removeOnComplete: true, removeOnFail: { age: 86_400, count: 500 } } as const;

/** A new BullMQ job; `delayMs` holds it back. */
export function bullJob(job: LaneJob, wallMs: number, delayMs = 0) {
  const opts = { ...JOB_OPTIONS, jobId: laneJobId(job, wallMs), delay: Math.max(0, delayMs) };
  return { name: job.kind, data: job, opts };
}

export type OpenQueues = {
  queues: Record<QueueName, LaneBullQueue>;
  /** Rejects unless the server takes a write. On Postgres the store is asked for that; here only for an answer. */
  probeWrite(): Promise<void>;
  close(): Promise<void>;
};

const QUEUES = Object.keys(QUEUE_NAMES) as QueueName[];

/** The key that a write probe sets; it expires by itself. */
const PROBE_KEY = "write-probe";
const PROBE_KEPT_MS = 60_000;

async function setForAWhile(client: LaneRedis, key: string): Promise<void> {
  await client.set(key, "1", "PX", PROBE_KEPT_MS);
}

/** Connects and migrates the queue tables on Postgres. Rejects with DomainError `queue-unavailable` and leaves nothing open. */
export async function openQueues(connection: LaneConnection, onError: (error: Error) => void): Promise<OpenQueues> {
  if (connection.kind === "redis") {
    const client = await connectRedis(connection.url, "fail-fast", onError);
    // On a cluster each queue may have another master: each is asked to write.
    const probes = QUEUES.map((name) => `${redisPrefix(connection, name)}:${PROBE_KEY}`);
    const probeWrite = async () => {
      await Promise.all([...new Set(probes)].map((key) => setForAWhile(client, key)));
    };
    const optionsOf = (name: QueueName) => queueOptions({ connection: client, prefix: redisPrefix(connection, name) });
    return openAll((name) => new Queue<LaneJob>(QUEUE_NAMES[name], optionsOf(name)), {
      kind: "redis",
      onError,
      probeWrite,
      release: () => closeRedis(client),
    });
  }
  const pool = await queuePool(connection, PRODUCER_CONNECTIONS_MAX, onError);
  return openAll((name) => new Queue(QUEUE_NAMES[name], queueOptions({ connection: pool }), createPostgresBackend), {
    kind: "postgres",
    onError,
    probeWrite: null,
    release: () => pool.end(),
  });
}

type ClosableQueue = LaneBullQueue & {
  waitUntilReady(): Promise<unknown>;
  on(event: "error", listener: (error: Error) => void): unknown;
};

async function openAll(
  open: (name: QueueName) => ClosableQueue,
  how: {
    kind: LaneConnection["kind"];
    onError: (error: Error) => void;
    probeWrite: OpenQueues["probeWrite"] | null;
    release: () => Promise<void>;
  },
): Promise<OpenQueues> {
  const queues = { main: open("main"), slow: open("slow"), sets: open("sets") };
  const all = Object.values(queues);
  const close = async () => {
    await Promise.allSettled(all.map((queue) => queue.close()));
    await how.release();
  };
  for (const queue of all) queue.on("error", how.onError);
  try {
    // One after the other: the first one migrates, the second finds it done.
    for (const queue of all) await queue.waitUntilReady();
  } catch (error) {
    await close();
    throw readable(how.kind, error);
  }
  const answer = async () => {
    await queues.main.getVersion();
  };
  return { queues, probeWrite: how.probeWrite ?? answer, close };
}

/** Options of a queue, whatever its connection. */
function queueOptions<O extends object>(options: O): O & Pick<QueueOptions, "streams" | "defaultJobOptions"> {
  return { ...options, streams: { events: { maxLen: EVENTS_KEPT } } };
}

type OpenWorkerOptions = Pick<
  WorkerOptions,
  "concurrency" | "lockDuration" | "stalledInterval" | "drainDelay" | "maxStalledCount" | "runRetryDelay"
>;

export type OpenWorker = {
  worker: LaneBullWorker;
  /** Puts a job behind all that wait, to be started after `delayMs` (whole milliseconds). */
  enqueueAgain(job: LaneJob, options: { wallMs: number; delayMs: number }): Promise<void>;
  /** Resolves when the server answers. */
  ping(): Promise<unknown>;
  /** Gives up on commands that wait for a server which does not come back, and drops the connection. */
  cut(): void;
  /** Closes the connections that BullMQ leaves open. */
  release(): Promise<void>;
};

/** A worker that is connected and does not run yet. Rejects with DomainError `queue-unavailable`. */
export async function openWorker(
  connection: LaneConnection,
  lane: QueueName,
  how: { process: JobProcessor; options: OpenWorkerOptions; onError: (error: Error) => void },
): Promise<OpenWorker> {
  const options = { ...how.options, autorun: false };
  if (connection.kind === "redis") {
    const client = await connectRedis(connection.url, "wait-forever", how.onError);
    const prefix = redisPrefix(connection, lane);
    const worker = new Worker(QUEUE_NAMES[lane], how.process, { ...options, prefix, connection: client });
    const open = { cut: () => client.disconnect(), release: () => closeRedis(client) };
    return ready(worker, "redis", { ...open, onError: how.onError });
  }
  // One more: BullMQ listens on it for as long as the worker runs.
  const max = (connection.max ?? WORKER_CONNECTIONS_MAX) + 1;
  const pool = await queuePool({ ...connection, max }, max, how.onError);
  const worker = new Worker(QUEUE_NAMES[lane], how.process, { ...options, connection: pool }, createPostgresBackend);
  // Statements end by their timeout.
  return ready(worker, "postgres", { cut: () => {}, release: () => pool.end(), onError: how.onError });
}

type AnyWorker = LaneBullWorker &
  Parameters<typeof Job.create>[0] & {
    getBackend(): { getQueueMetaField(field: string): Promise<unknown> };
  };

async function ready(
  worker: AnyWorker,
  kind: LaneConnection["kind"],
  open: { cut: () => void; release: () => Promise<void>; onError: (error: Error) => void },
): Promise<OpenWorker> {
  worker.on("error", open.onError);
  try {
    await worker.waitUntilReady();
  } catch (error) {
    await worker.close();
    await open.release();
    throw readable(kind, error);
  }
  const ping = () => worker.getBackend().getQueueMetaField("version");
  const enqueueAgain: OpenWorker["enqueueAgain"] = async (job, { wallMs, delayMs }) => {
    const { name, data, opts } = bullJob(job, wallMs, delayMs);
    await Job.create(worker, name, data, opts);
  };
  return { worker, enqueueAgain, ping, cut: open.cut, release: open.release };
}

/** Creating or changing the tables of BullMQ; also waits for another process that does so. */
const MIGRATION_STATEMENT_MS_MAX = 60_000;

/**
 * A pool whose sessions see the tables of BullMQ, which are brought up to date first. Rejects with DomainError `queue-unavailable`.
 */
async function queuePool(
  connection: Extract<LaneConnection, { kind: "postgres" }>,
  max: number,
  onError: (error: Error) => void,
): Promise<PostgresPool> {
  const migrating = new PostgresPool(connection.connectionString, {
    max: 1,
    statementTimeoutMs: MIGRATION_STATEMENT_MS_MAX,
    applicationName: "parkade-lane",
  });
  try {
    const client = await migrating.connect();
    await runMigrations(client).finally(() => client.release());
  } catch (error) {
    throw readable("postgres", error);
  } finally {
    await migrating.end();
  }
  return lanePool(connection, {
    max,
    applicationName: "parkade-lane",
    onIdleError: onError,
    sessionOptions: `-c search_path=${quoteSchemaName(DEFAULT_SCHEMA)}`,
  });
}

function readable(kind: LaneConnection["kind"], error: unknown): DomainError {
  if (error instanceof UnsupportedPostgresVersionError) {
    return queueUnfit(
      `The Postgres at DATABASE_URL is version ${error.serverVersion}, which is too old for the queue: use ${error.minimumVersion} or later.`,
      error,
    );
  }
  return asQueueProblem(kind, error);
}

/** QUIT lets replies in flight arrive; where there is no connection any more there is nothing to wait for. */
async function closeRedis(client: LaneRedis): Promise<void> {
  if (client.status === "ready") await client.quit().catch(() => client.disconnect());
  else client.disconnect();
}
