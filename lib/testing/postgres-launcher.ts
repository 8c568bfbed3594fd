import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import pg from "pg";
import { afterEach } from "vitest";
import { type EmbeddedPostgres, startPostgres } from "../../scripts/embedded-postgres.ts";

const MODULE = pathToFileURL(join(import.meta.dirname, "../../scripts/embedded-postgres.ts")).href;

type Launcher = { pid: number; url: string; kill(): Promise<void> };

/** Starts the embedded PostgreSQL from a process of its own, which a test can kill with -9. `pid` is the server's. */
async function launchPostgres(dataDir: string): Promise<Launcher> {
  const code = `const { startPostgres } = await import(${JSON.stringify(MODULE)});
    const { url, pid } = await startPostgres({ dataDir: ${JSON.stringify(dataDir)}, ephemeral: true });
    process.send({ url, pid }); setInterval(() => {}, 1000);`;
  const child: ChildProcess = spawn(process.execPath, ["--input-type=module", "-e", code], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const ended = once(child, "exit");
  const [{ url, pid }] = await once(child, "message");
  const kill = async () => {
    child.kill("SIGKILL");
    await ended;
  };
  return { url, pid, kill };
}

const cleanups: (() => unknown)[] = [];

/** Folders, servers and launchers of the embedded PostgreSQL for the tests of a file, which end after each test. */
export function embeddedOfEachTest() {
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  });
  const folder = (mode = 0o755): string => {
    const dir = mkdtempSync(join(tmpdir(), "parkade-embedded-"));
    chmodSync(dir, mode);
    cleanups.push(() => rmSync(dir, { recursive: true, force: true }));
    return dir;
  };
  const start = async (dataDir: string): Promise<EmbeddedPostgres> => {
    const server = await startPostgres({ dataDir, ephemeral: true });
    cleanups.push(() => server.stop("immediate"));
    return server;
  };
  const launcher = async (dataDir: string): Promise<Launcher> => {
    const launched = await launchPostgres(dataDir);
    cleanups.push(() => launched.kill());
    return launched;
  };
  return { cleanups, folder, start, launcher };
}

export async function queryAt(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}
