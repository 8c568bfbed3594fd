import pg from "pg";
import { describe, expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/postgres";
import { openTokenBucket } from "./token-bucket";
import { tokenBucketConformance } from "./token-bucket.conformance";

describe("token bucket on Postgres", () => {
  describe("the contract", () => {
    tokenBucketConformance(async () => {
      const database = await testDatabase();
      const admin = new pg.Pool({ connectionString: database.url, max: 1 });
      return {
        connect: () => openTokenBucket({ kind: "postgres", connectionString: database.url }, () => {}),
        age: async (key, ms) => {
          const text = "update rate_buckets set updated_at = updated_at - make_interval(secs => $2) where key = $1";
          await admin.query(text, [key, ms / 1000]);
        },
        wipe: async () => {
          await admin.query("delete from rate_buckets");
        },
        close: async () => {
          await admin.end();
          await database.drop();
        },
      };
    });
  });

  test("who had to wait for the row is credited up to now, not up to when the wait began", async () => {
    const database = await testDatabase();
    const open = await openTokenBucket({ kind: "postgres", connectionString: database.url }, () => {});
    const spec = { key: "target", ratePerSecond: 100, burst: 100_000 };
    await open.bucket.takeUpTo(spec, 100_000);
    const blocker = new pg.Client({ connectionString: database.url });
    await blocker.connect();
    const emptiedMs = performance.now();
    await blocker.query("begin");
    await blocker.query("update rate_buckets set tokens = 0, updated_at = clock_timestamp() where key = 'target'");
    const asking = [open.bucket.takeUpTo(spec, 100_000), open.bucket.takeUpTo(spec, 100_000)];
    await blocker.query("select pg_sleep(0.3)");
    await blocker.query("commit");
    const granted = (await Promise.all(asking)).reduce((sum, answer) => sum + answer.granted, 0);
    expect(granted).toBeGreaterThanOrEqual(30);
    expect(granted).toBeLessThanOrEqual((performance.now() - emptiedMs) / 10);
    await blocker.end();
    await open.close();
    await database.drop();
  });
});
