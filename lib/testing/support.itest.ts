import pg from "pg";
import { describe, expect, test } from "vitest";
import { describeWith } from "./describe-with.ts";
import { kafkaMissing, makeTopic } from "./kafka.ts";
import { testDatabase } from "./postgres.ts";
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

describeWith(kafkaMissing, "a server of the whole test run", () => {
  test("is the same for everybody who asks, also at once", async () => {
    const [a, b] = await Promise.all([shared("kafka"), shared("kafka")]);
    expect(a).toEqual(b);
    await makeTopic(a, "shared-by-all");
    await expect(makeTopic(b, "shared-by-all")).rejects.toThrow();
  }, 180_000);
});
