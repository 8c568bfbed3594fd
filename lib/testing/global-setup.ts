import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runMigrations } from "bullmq";
import pg from "pg";
import type { TestProject } from "vitest/node";
import { startPostgres } from "../../scripts/embedded-postgres.ts";
import { generate } from "../../scripts/generate.ts";
import { migrate } from "../../scripts/migrate.ts";
import { bundlePrograms } from "./programs.ts";
import { offerSharedServers } from "./shared-servers.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Superuser connection string of the server of this test run; its database holds nothing. */
    postgresUrl: string;
    /** Where `shared` asks for the servers that all test files use together. */
    sharedServersUrl: string;
    /** Where `program` finds the programs that tests start. */
    programsFolder: string;
  }
}

export const TEMPLATE = "parkade_template";

/** No data here must survive a power failure, and fsync does not change the effect of a killed process. */
const TEST_SETTINGS = {
  fsync: "off",
  full_page_writes: "off",
  synchronous_commit: "off",
  shared_buffers: "128MB",
  max_connections: "300",
};

/** One PostgreSQL for the whole run with a migrated template database, which every test file clones in milliseconds. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  generate();
  const dataDir = mkdtempSync(join(placeForData(), DATA_PREFIX));
  // mkdtemp makes the folder private; run by root, the server runs as another user, who needs access.
  chmodSync(dataDir, 0o755);
  const server = await startPostgres({ dataDir, settings: TEST_SETTINGS, ephemeral: true });
  const servers = await offerSharedServers();
  const programs = await bundlePrograms();
  const teardown = async () => {
    rmSync(programs, { recursive: true, force: true });
    await servers.stop();
    await server.stop();
    rmSync(dataDir, { recursive: true, force: true });
  };
  try {
    await makeTemplate(server.url);
  } catch (error) {
    await teardown();
    throw error;
  }
  project.provide("postgresUrl", server.url);
  project.provide("sharedServersUrl", servers.url);
  project.provide("programsFolder", programs);
  return teardown;
}

const DATA_PREFIX = "parkade-test-";
/** More than all databases of a run need at a time. */
const DATA_BYTES = 4 * 1024 ** 3;

/**
 * In memory where the machine has room for it: each database is hundreds of files, and to make and remove them on a disk took a tenth
 * of a run. What a killed run left there is removed first.
 */
function placeForData(): string {
  const memory = "/dev/shm";
  if (!existsSync(memory)) return tmpdir();
  for (const name of readdirSync(memory).filter((entry) => entry.startsWith(DATA_PREFIX))) {
    if (!isServed(join(memory, name))) rmSync(join(memory, name), { recursive: true, force: true });
  }
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize >= DATA_BYTES ? memory : tmpdir();
}

/** A server works on the folder, or is about to. */
function isServed(folder: string): boolean {
  const pidFile = join(folder, "postgres", "postmaster.pid");
  if (!existsSync(pidFile)) return Date.now() - statSync(folder).mtimeMs < 60_000;
  return existsSync(`/proc/${Number.parseInt(readFileSync(pidFile, "utf8"), 10)}`);
}

async function makeTemplate(serverUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  try {
    const url = new URL(serverUrl);
    // Tests connect some ten thousand times. A secret that somebody could steal is derived in 4096 rounds, at each connection.
    await client.query("set scram_iterations = 1");
    await client.query(`alter role current_user password ${client.escapeLiteral(decodeURIComponent(url.password))}`);
    await client.query(`create database ${TEMPLATE}`);
    url.pathname = `/${TEMPLATE}`;
    await migrate(url.href);
    await makeQueueTables(url.href);
    // A database with an open connection cannot be cloned.
    await client.query(`alter database ${TEMPLATE} allow_connections false`);
  } finally {
    await client.end();
  }
}

/** A worker whose queue is on PostgreSQL makes them at its first start, which takes as long as ten clones. */
async function makeQueueTables(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await runMigrations(client);
  } finally {
    await client.end();
  }
}
