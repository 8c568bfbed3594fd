import { rmSync } from "node:fs";
import { runMigrations } from "bullmq";
import pg from "pg";
import type { TestProject } from "vitest/node";
import { startPostgres } from "../../scripts/embedded-postgres.ts";
import { generate } from "../../scripts/generate.ts";
import { migrate } from "../../scripts/migrate.ts";
import { makeDataPlace } from "./data-place.ts";
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
  const dataDir = makeDataPlace("test", DATA_BYTES);
  const server = await startPostgres({ dataDir, settings: TEST_SETTINGS, ephemeral: true });
  const servers = await offerSharedServers();
  const programs = await bundlePrograms();
  // The processes that tests start inherit it: a worker of Parkade then takes a quarter less of a processor to start. They write there
  // when they end, which may be after the run: the next run removes it.
  process.env.NODE_COMPILE_CACHE ??= makeDataPlace("compiled", COMPILED_BYTES);
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

/** More than all databases of a run need at a time. */
const DATA_BYTES = 4 * 1024 ** 3;
const COMPILED_BYTES = 256 * 1024 ** 2;

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
