import pg from "pg";
import { describe, expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/postgres";
import { idempotencyConformance } from "./idempotency.conformance";
import { openIdempotencyStore } from "./idempotency-store";

describe("idempotency store on Postgres", () => {
  test("a fence grows over a server clock that was set back", async () => {
    const database = await testDatabase();
    const admin = new pg.Pool({ connectionString: database.url, max: 1 });
    const store = openIdempotencyStore<string>({ kind: "postgres", connectionString: database.url }, () => {});
    const claim = (await store.claim("k", { windowMs: 60_000, leaseMs: 10_000 })) as { fence: number };
    const ahead = claim.fence + 3_600_000_000;
    await admin.query("update idempotency_claims set fence = $1, lease_until = now()", [ahead]);
    expect(await store.claim("k", { windowMs: 60_000, leaseMs: 10_000 })).toEqual({
      kind: "claimed",
      fence: ahead + 1,
    });
    await admin.end();
    await store.close();
    await database.drop();
  });

  idempotencyConformance(async () => {
    const database = await testDatabase();
    const admin = new pg.Pool({ connectionString: database.url, max: 1 });
    return {
      connect: async () => {
        const store = openIdempotencyStore<unknown>({ kind: "postgres", connectionString: database.url }, () => {});
        return { store, close: store.close };
      },
      age: async (key, ms) => {
        await admin.query(
          `update idempotency_claims set lease_until = lease_until - make_interval(secs => $2),
                  expires_at = expires_at - make_interval(secs => $2) where key = $1`,
          [key, ms / 1000],
        );
      },
      wipe: async () => {
        await admin.query("truncate idempotency_claims");
      },
      nowMs: async () => {
        const { rows } = await admin.query("select extract(epoch from clock_timestamp())::float8 * 1000 as ms");
        return rows[0].ms;
      },
      slackMs: 30_000,
      close: async () => {
        await admin.end();
        await database.drop();
      },
    };
  });
});
