import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { readScopedFilter } from "@/lib/guard/viewer/scope.read";
import type { Viewer } from "@/lib/guard/viewer/viewer.pure";
import { createDb, type Db } from "@/lib/platform/database/db";
import { type TestDatabase, testDatabase } from "@/lib/testing/postgres";

const VIEWS: Viewer = { name: "reader", means: "token", sources: "all", actions: ["view"] };
const GROUPS = 15_000;

let database: TestDatabase;
let db: Db;

beforeAll(async () => {
  database = await testDatabase();
  db = createDb(database.url);
  const text =
    "no stock of lamp for ' || md5(n::text) || ' at ada' || n || '@example.com, password=' || md5(n::text) || '";
  await db.run(
    `insert into dlq_groups (fingerprint, error_code, message_pattern, sample_event, first_seen, last_seen)
     select 'g' || n, 'STOCK', '${text}', gen_random_uuid(), now(), now() from generate_series(1, ${GROUPS}) n`,
  );
});
afterAll(async () => {
  await db.end();
  await database.drop();
});

test("words of somebody who may not reveal are looked up in many groups, and others have their turn meanwhile", async () => {
  const given = vi.spyOn(globalThis, "setImmediate");
  try {
    const { fingerprint } = await readScopedFilter(db, VIEWS, { q: "stock lamp" });
    expect(fingerprint).toHaveLength(GROUPS);
    expect(given.mock.calls.length).toBeGreaterThan(3);
    expect((await readScopedFilter(db, VIEWS, { q: "ada7@example.com" })).fingerprint).toEqual([]);
  } finally {
    given.mockRestore();
  }
});
