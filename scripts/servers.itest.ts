import { Redis } from "ioredis";
import { describe, expect, inject, test } from "vitest";
import { freePort } from "../lib/testing/free-port.ts";
import { redisInstalled, testRedis } from "../lib/testing/redis.ts";
import { redisClusterInstalled, testRedisCluster } from "../lib/testing/redis-cluster.ts";
import { checkRedis, connectPostgres } from "./servers.ts";

describe("DATABASE_URL", () => {
  const urlWith = (change: (url: URL) => void) => {
    const url = new URL(inject("postgresUrl"));
    change(url);
    return url.href;
  };

  test("a server nobody started", async () => {
    const port = await freePort();
    const attempt = connectPostgres(`postgresql://someone:s3cret@127.0.0.1:${port}/x`);
    await expect(attempt).rejects.toThrow(/^DATABASE_URL .*ECONNREFUSED.*: start that server/);
    await expect(attempt).rejects.not.toThrow(/s3cret/);
  });

  test("a wrong password", async () => {
    await expect(connectPostgres(urlWith((url) => (url.password = "wrong")))).rejects.toThrow(
      /correct its user and password/,
    );
  });

  test("a database that is not there", async () => {
    await expect(connectPostgres(urlWith((url) => (url.pathname = "/nowhere")))).rejects.toThrow(
      /create that database/,
    );
  });

  test.each(["localhost:5432", "mysql://localhost/x", "not a url"])("%s is no address of a PostgreSQL", async (url) => {
    await expect(connectPostgres(url)).rejects.toThrow(/^DATABASE_URL is not a postgres:\/\/ URL/);
  });
});

describe("REDIS_URL", () => {
  test("a server nobody started", async () => {
    const port = await freePort();
    const attempt = checkRedis(`redis://:s3cret@127.0.0.1:${port}`);
    await expect(attempt).rejects.toThrow(/^REDIS_URL .*ECONNREFUSED.*: start that server/);
    await expect(attempt).rejects.not.toThrow(/s3cret/);
  });

  test("http://127.0.0.1 is no address of a Redis", async () => {
    await expect(checkRedis("http://127.0.0.1")).rejects.toThrow(/^REDIS_URL must look like redis:\/\//);
  });

  test("a cluster nobody started", async () => {
    const port = await freePort();
    const attempt = checkRedis(`redis+cluster://:s3cret@127.0.0.1:${port}`);
    await expect(attempt).rejects.toThrow(/^REDIS_URL .*ECONNREFUSED.*: start that server/);
    await expect(attempt).rejects.not.toThrow(/s3cret/);
  });

  test.skipIf(!redisClusterInstalled)("a cluster that may evict what is queued", async () => {
    const cluster = await testRedisCluster();
    try {
      await checkRedis(cluster.url);
      await cluster.onEachMaster((node) => node.config("SET", "maxmemory-policy", "volatile-lru"));
      await expect(checkRedis(cluster.url)).rejects.toThrow(/evicts keys \(maxmemory-policy volatile-lru\)/);
    } finally {
      await cluster.stop();
    }
  });

  test.skipIf(!redisInstalled)("a server that is no cluster", async () => {
    const server = await testRedis();
    try {
      await expect(checkRedis(`redis+cluster://127.0.0.1:${server.port}`)).rejects.toThrow(
        /^REDIS_URL .*is no Redis Cluster: write redis:\/\//,
      );
    } finally {
      await server.stop();
    }
  });

  test.skipIf(!redisInstalled)("a server that may evict what is queued", async () => {
    const server = await testRedis();
    const client = new Redis(server.url);
    try {
      await checkRedis(server.url);
      await client.config("SET", "maxmemory-policy", "volatile-lru");
      await expect(checkRedis(server.url)).rejects.toThrow(/evicts keys \(maxmemory-policy volatile-lru\)/);
    } finally {
      client.disconnect();
      await server.stop();
    }
  });
});
