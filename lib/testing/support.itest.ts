import pg from "pg";
import { describe, expect, test } from "vitest";
import { testCertificates } from "./certificates.ts";
import { describeWith } from "./describe-with.ts";
import { kafkaMissing, makeTopic } from "./kafka.ts";
import { testDatabase } from "./postgres.ts";
import { redisInstalled, testRedis } from "./redis.ts";
import { processesOf } from "./server-process.ts";
import { shared } from "./shared-server.ts";

async function query(url: string, text: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await client.query(text);
  } finally {
    await client.end();
  }
}

describe("test databases", () => {
  test("are migrated, and what one writes the other does not see", async () => {
    const [a, b] = await Promise.all([testDatabase(), testDatabase()]);
    await query(a.url, "create table mine ()");
    const seen = await query(b.url, "select to_regclass('mine') as mine, to_regclass('_prisma_migrations') as applied");
    expect(seen.rows[0]).toEqual({ mine: null, applied: "_prisma_migrations" });
    await Promise.all([a.drop(), b.drop()]);
  });

  test("report a connection that the test left open", async () => {
    const database = await testDatabase();
    const leaked = new pg.Client({ connectionString: database.url });
    leaked.on("error", () => undefined);
    await leaked.connect();
    await leaked.query("select 'left behind'");
    await expect(database.drop()).rejects.toThrow("left behind");
  });
});

describe.skipIf(!redisInstalled)("test Redis", () => {
  test("keeps its data on request, speaks TLS, and leaves no process", async () => {
    const { Redis } = await import("ioredis");
    const certificates = testCertificates();
    const server = await testRedis({ stored: true, certificates, settings: { requirepass: "s3cret-7" } });
    const open = (ca: string) => {
      const options = { password: "s3cret-7", tls: { ca }, lazyConnect: true, retryStrategy: () => null };
      const client = new Redis(server.url, options);
      client.on("error", () => undefined);
      return client;
    };
    const before = open(certificates.ca);
    await before.set("key", "kept");
    await server.restart();
    const after = open(certificates.ca);
    expect(await after.get("key")).toBe("kept");
    await expect(open(certificates.otherCa).connect()).rejects.toThrow();
    before.disconnect();
    after.disconnect();
    expect(processesOf(server.folder)).toHaveLength(1);
    await server.stop();
    expect(processesOf(server.folder)).toEqual([]);
    certificates.remove();
  });
});

describeWith(kafkaMissing, "a server of the whole test run", () => {
  test("is the same for everybody who asks, also at once", async () => {
    const [a, b] = await Promise.all([shared("kafka"), shared("kafka")]);
    expect(a).toEqual(b);
    await makeTopic(a, "shared-by-all");
    await expect(makeTopic(b, "shared-by-all")).rejects.toThrow();
  }, 180_000);
});
