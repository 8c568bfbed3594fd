import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { guardAgainstOrphan } from "../../scripts/orphan-guard.ts";
import { freePort } from "./free-port.ts";

/**
 * False on a machine without redis-server. `describe.skipIf(!redisInstalled)("on Redis", ...)` shows the tests as
 * skipped instead of letting them pass silently.
 */
export const redisInstalled = spawnSync("redis-server", ["--version"], { stdio: "ignore" }).status === 0;

export type TestRedis = {
  url: string;
  port: number;
  /** Ends the server and removes its folder. */
  stop(): Promise<void>;
  /** kill -9: connections break, everything stored is lost. */
  kill(): Promise<void>;
  /** Starts an empty server on the same port, after `kill` or as a replacement of the running one. */
  restart(): Promise<void>;
};

const READY_MS = 10_000;

/** A real redis-server of its own on a free port, without persistence and without eviction. */
export async function testRedis(): Promise<TestRedis> {
  if (!redisInstalled) throw new Error("redis-server is not installed: guard the test with redisInstalled");
  const folder = mkdtempSync(join(tmpdir(), "parkade-redis-"));
  const port = await freePort();
  let server = await start(port, folder);
  const end = (signal: NodeJS.Signals) => endOf(server, signal);
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    kill: () => end("SIGKILL"),
    restart: async () => {
      await end("SIGKILL");
      server = await start(port, folder);
    },
    stop: async () => {
      await end("SIGTERM");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function start(port: number, folder: string): Promise<ChildProcess> {
  const server = spawn(
    "redis-server",
    [
      ...["--port", String(port), "--bind", "127.0.0.1", "--dir", folder],
      ...["--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction"],
    ],
    { stdio: "ignore" },
  );
  // A killed test run must not leave a server.
  if (server.pid) server.once("exit", guardAgainstOrphan(server.pid, { signal: "KILL" }));
  const until = performance.now() + READY_MS;
  while (!(await answers(port))) {
    if (server.exitCode !== null || performance.now() > until) throw new Error(`redis-server did not start on ${port}`);
    await sleep(10);
  }
  return server;
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("data", (data) => {
      socket.destroy();
      resolve(data.toString().startsWith("+PONG"));
    });
    socket.once("error", () => resolve(false));
    socket.once("connect", () => socket.write("PING\r\n"));
  });
}

function endOf(server: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    server.once("exit", () => resolve());
    server.kill(signal);
  });
}
