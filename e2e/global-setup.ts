import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FullConfig } from "@playwright/test";
import { redisInstalled, testRedis } from "../lib/testing/redis.ts";
import { prepareAppRole, roleOf } from "../scripts/app-role.ts";
import { buildAll } from "../scripts/build.ts";
import { startPostgres } from "../scripts/embedded-postgres.ts";
import { freePort } from "../scripts/free-port.ts";
import { migrate } from "../scripts/migrate.ts";
import { ROOT, startStack } from "../scripts/stack.ts";
import { startDownstream } from "./downstream.ts";

/**
 * Starts the product for all journeys, as `npm start` would: the production build, web and worker as separate processes
 * on free ports, an empty migrated PostgreSQL, and Redis when redis-server is installed (PARKADE_E2E_QUEUE=postgres runs
 * the queue on PostgreSQL instead). Logs of web and worker: reports/e2e/logs, or reports/e2e/<n>/logs of the nth shard.
 *
 * A journey has:
 * - `baseURL`: `page.goto("/events")` and `request.post("/api/v1/events", ...)` reach the console and its API
 * - `process.env.PARKADE_E2E_DOWNSTREAM`: URL of a scripted receiver (e2e/downstream.ts); give it as `redriveUrl` of an
 *   HTTP source. `test` of e2e/fixtures.ts offers it as the fixture `downstream` { url, rules(...), deliveries(), forget() }
 * - `process.env.PARKADE_E2E_WEB_PID`, `PARKADE_E2E_WORKER_PID`: for a journey that stops one and continues it
 *
 * Journeys share the product and its data: each makes its own source with a name of its own and filters by it.
 */
export default async function setup({ shard }: FullConfig): Promise<() => Promise<void>> {
  await buildAll((line) => console.log(line));
  const cleanups: (() => Promise<void> | void)[] = [];
  const teardown = async () => {
    for (const cleanup of cleanups.reverse()) await cleanup();
  };
  try {
    const databaseUrl = await freshDatabase(cleanups);
    const redisUrl = await queueRedis(cleanups);
    const downstream = await startDownstream();
    cleanups.push(downstream.stop);
    const stack = await startStack({
      port: await freePort(),
      dataDir: join(ROOT, "reports", "e2e", String(shard?.current ?? "")),
      databaseUrl,
      redisUrl,
      say: (line) => console.log(line),
    });
    cleanups.push(stack.stop);
    await shortenCanaries(stack.url);
    process.env.PARKADE_E2E_URL = stack.url;
    process.env.PARKADE_E2E_DOWNSTREAM = downstream.url;
    process.env.PARKADE_E2E_WEB_PID = String(stack.web.pid());
    process.env.PARKADE_E2E_WORKER_PID = String(stack.worker.pid());
    return teardown;
  } catch (error) {
    await teardown();
    throw error;
  }
}

/** The steps of a canary wait a minute by default, which is longer than most journeys. */
async function shortenCanaries(url: string): Promise<void> {
  const answer = await fetch(`${url}/api/v1/settings`, {
    method: "PATCH",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ settings: { canaryQuietMs: 400 }, reason: "journeys are short" }),
  });
  if (!answer.ok) throw new Error(`settings: ${answer.status} ${await answer.text()}`);
}

type Cleanups = (() => Promise<void> | void)[];

async function freshDatabase(cleanups: Cleanups): Promise<string> {
  const dataDir = mkdtempSync(join(tmpdir(), "parkade-e2e-"));
  // mkdtemp makes the folder private; under root the PostgreSQL server runs as another user, who must read it.
  chmodSync(dataDir, 0o755);
  cleanups.push(() => rmSync(dataDir, { recursive: true, force: true }));
  const postgres = await startPostgres({ dataDir, settings: { fsync: "off" }, ephemeral: true });
  cleanups.push(() => postgres.stop());
  await migrate(postgres.url);
  // As under `npm start`, the console runs as the database role that cannot change the audit.
  await prepareAppRole(postgres.url, roleOf(postgres.appUrl));
  return postgres.appUrl;
}

async function queueRedis(cleanups: Cleanups): Promise<string | null> {
  if (!redisInstalled || process.env.PARKADE_E2E_QUEUE === "postgres") return null;
  const redis = await testRedis();
  cleanups.push(redis.stop);
  return redis.url;
}
