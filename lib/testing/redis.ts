import { spawnSync } from "node:child_process";
import type { TestCertificates } from "./certificates.ts";
import { freePort } from "./free-port.ts";
import { type TestServer, testServer } from "./server-process.ts";

/**
 * False on a machine without redis-server. `describe.skipIf(!redisInstalled)("on Redis", ...)` shows the tests as
 * skipped instead of letting them pass silently.
 */
export const redisInstalled = spawnSync("redis-server", ["--version"], { stdio: "ignore" }).status === 0;

export type RedisOptions = {
  /** The server then speaks TLS only, and `url` begins with `rediss`. */
  certificates?: Pick<TestCertificates, "caFile" | "server">;
  /** Every write is on disk before its answer. Otherwise a killed server comes back empty. */
  stored?: boolean;
  /** More settings of redis.conf, such as `{ requirepass: "x" }`. */
  settings?: Record<string, string>;
};

export type TestRedis = TestServer & {
  url: string;
  port: number;
  /** Kills the server if it runs and starts it again on the same port. */
  restart(): Promise<void>;
};

/** A real redis-server of its own on a free port, without eviction. */
export async function testRedis({
  certificates,
  stored = false,
  settings = {},
}: RedisOptions = {}): Promise<TestRedis> {
  if (!redisInstalled) throw new Error("redis-server is not installed: guard the test with redisInstalled");
  const port = await freePort();
  const server = await testServer("redis", async (folder) => {
    const all = {
      ...{ bind: "127.0.0.1", dir: folder, save: "", "maxmemory-policy": "noeviction" },
      ...(stored ? { appendonly: "yes", appendfsync: "always" } : { appendonly: "no" }),
      ...(certificates ? tlsSettings(port, certificates) : { port }),
      ...settings,
    };
    const args = Object.entries(all).flatMap(([name, value]) => [`--${name}`, String(value)]);
    return { command: "redis-server", args, ready: (log) => log.includes("Ready to accept connections") };
  });
  const restart = async () => {
    await server.kill();
    await server.start();
  };
  return { ...server, url: `${certificates ? "rediss" : "redis"}://127.0.0.1:${port}`, port, restart };
}

function tlsSettings(port: number, { caFile, server }: Pick<TestCertificates, "caFile" | "server">) {
  return {
    ...{ port: 0, "tls-port": port, "tls-auth-clients": "optional" },
    ...{ "tls-cert-file": server.certFile, "tls-key-file": server.keyFile, "tls-ca-cert-file": caFile },
  };
}
