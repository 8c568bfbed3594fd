import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { redisInstalled, testRedis } from "../lib/testing/redis.ts";
import { prepareAppRole, roleOf } from "../scripts/app-role.ts";
import { readServerFacts, writeServerFacts } from "../scripts/data-folder.ts";
import { startPostgres } from "../scripts/embedded-postgres.ts";
import { freePort } from "../scripts/free-port.ts";
import { migrate } from "../scripts/migrate.ts";
import { ROOT, startStack } from "../scripts/stack.ts";
import { startDownstream } from "./downstream.ts";

export type Product = {
  /** Of the console and its API. */
  url: string;
  /** Of a scripted receiver (e2e/downstream.ts). */
  downstreamUrl: string;
  /** For a journey that stops one and continues it. */
  webPid: number;
  workerPid: number;
};

/**
 * Starts the product as `npm start` would: the production build, web and worker as separate processes on free ports, an
 * empty migrated PostgreSQL, and Redis when redis-server is installed (PARKADE_E2E_QUEUE=postgres runs the queue on
 * PostgreSQL instead). Logs of web and worker: reports/e2e/<name>/logs. `env`: further variables; `say` receives what a person at the
 * screen reads; `asShipped`: with the settings that it ships with.
 */
export async function startProduct(
  name: string,
  { env = {}, say = (line: string) => console.log(line), asShipped = false } = {},
): Promise<{ product: Product; stop(): Promise<void> }> {
  const cleanups: Cleanups = [];
  const stop = async () => {
    for (const cleanup of cleanups.reverse()) await cleanup();
  };
  try {
    const databaseUrl = await freshDatabase(cleanups);
    const redisUrl = await queueRedis(cleanups);
    const downstream = await startDownstream();
    cleanups.push(downstream.stop);
    const stack = await startStack({
      port: await freePort(),
      dataDir: join(ROOT, "reports", "e2e", name),
      databaseUrl,
      redisUrl,
      env: { PARKADE_ARCHIVE: archiveFolder(cleanups), ...env },
      say,
    });
    cleanups.push(stack.stop);
    if (!asShipped) {
      await shortenCanaries(stack.url);
      await lengthenAttempts(stack.url);
    }
    const pids = { webPid: stack.web.pid()!, workerPid: stack.worker.pid()! };
    return { product: { url: stack.url, downstreamUrl: downstream.url, ...pids }, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The steps of a canary wait a minute by default, which is longer than most journeys. */
async function shortenCanaries(url: string): Promise<void> {
  await call("PATCH", `${url}/api/v1/settings`, { settings: { canaryQuietMs: 400 }, reason: "journeys are short" });
}

/**
 * An attempt that a busy machine cuts off after three seconds is made again, and journeys count each delivery. The window of a breaker,
 * 30 s, must hold two attempts.
 */
async function lengthenAttempts(url: string): Promise<void> {
  const { items } = (await call("GET", `${url}/api/v1/policies`)) as { items: { name: string; body: object }[] };
  for (const { name, body } of items) {
    const longer = { ...body, attemptTimeoutMs: 15_000, deadlineMs: 900_000 };
    await call("PUT", `${url}/api/v1/policies/${name}`, { body: longer, reason: "the machine is busy" });
  }
}

async function call(method: string, url: string, body?: object): Promise<unknown> {
  const answer = await fetch(url, {
    method,
    headers: { "content-type": "application/json" },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

type Cleanups = (() => Promise<void> | void)[];

function archiveFolder(cleanups: Cleanups): string {
  const folder = mkdtempSync(join(tmpdir(), "parkade-e2e-archive-"));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  return pathToFileURL(folder).href;
}

/** No data of a journey must survive a power failure. `max_wal_size` bounds what each store takes of the machine's memory. */
const STORE = { fsync: "off", full_page_writes: "off", synchronous_commit: "off", max_wal_size: "256MB" };

/** Names the folder of the run, which holds the empty store and its copies. */
export const TEMPLATES = "PARKADE_E2E_DATA";

/** Makes the store that each product copies: migrated, with the role that cannot change the audit, as under `npm start`. */
export async function makeTemplate(folder: string): Promise<void> {
  const dataDir = join(folder, "template");
  const postgres = await startPostgres({ dataDir, settings: STORE, ephemeral: true });
  try {
    await migrate(postgres.url);
    await prepareAppRole(postgres.url, roleOf(postgres.appUrl));
  } finally {
    await postgres.stop();
  }
}

async function freshDatabase(cleanups: Cleanups): Promise<string> {
  const folder = process.env[TEMPLATES]!;
  const dataDir = join(mkdtempSync(join(folder, "store-")), "data");
  chmodSync(dirname(dataDir), 0o755);
  cleanups.push(() => rmSync(dirname(dataDir), { recursive: true, force: true }));
  // Run by root, the server's files belong to another user: Node's own copy would not keep the owner.
  execFileSync("cp", ["-a", join(folder, "template"), dataDir]);
  writeServerFacts(dataDir, { ...readServerFacts(dataDir)!, clusterDir: join(dataDir, "postgres"), port: 0 });
  const postgres = await startPostgres({ dataDir, settings: STORE, ephemeral: true });
  cleanups.push(() => postgres.stop());
  return postgres.appUrl;
}

async function queueRedis(cleanups: Cleanups): Promise<string | null> {
  if (!redisInstalled || process.env.PARKADE_E2E_QUEUE === "postgres") return null;
  const redis = await testRedis();
  cleanups.push(redis.stop);
  return redis.url;
}
