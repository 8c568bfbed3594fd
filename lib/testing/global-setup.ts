import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import type { TestProject } from "vitest/node";
import { startPostgres } from "../../scripts/embedded-postgres.ts";
import { generate } from "../../scripts/generate.ts";
import { migrate } from "../../scripts/migrate.ts";
import { offerSharedServers } from "./shared-servers.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Superuser connection string of the server of this test run; its database holds nothing. */
    postgresUrl: string;
    /** Where `shared` asks for the servers that all test files use together. */
    sharedServersUrl: string;
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
  const dataDir = mkdtempSync(join(tmpdir(), "parkade-test-"));
  // mkdtemp makes the folder private; run by root, the server runs as another user, who needs access.
  chmodSync(dataDir, 0o755);
  const server = await startPostgres({ dataDir, settings: TEST_SETTINGS, ephemeral: true });
  const servers = await offerSharedServers();
  const teardown = async () => {
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
  return teardown;
}

async function makeTemplate(serverUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  try {
    await client.query(`create database ${TEMPLATE}`);
    const url = new URL(serverUrl);
    url.pathname = `/${TEMPLATE}`;
    await migrate(url.href);
    // A database with an open connection cannot be cloned.
    await client.query(`alter database ${TEMPLATE} allow_connections false`);
  } finally {
    await client.end();
  }
}
