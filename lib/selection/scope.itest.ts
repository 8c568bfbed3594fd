import { beforeAll, expect, test, vi } from "vitest";
import type { Viewer } from "@/lib/guard/viewer/viewer.pure";
import { readScopedFilter } from "@/lib/selection/scope.read";
import { storeOfFile } from "@/lib/testing/store-of-file";

const VIEWS: Viewer = { name: "reader", means: "token", sources: "all", actions: ["view"] };
const GROUPS = 15_000;

const { db } = storeOfFile();

beforeAll(async () => {
  const text =
    "no stock of lamp for ' || md5(n::text) || ' at ada' || n || '@example.com, password=' || md5(n::text) || '";
  await db.run(
    `insert into dlq_groups (fingerprint, error_code, message_pattern, sample_event, first_seen, last_seen)
     select 'g' || n, 'STOCK', '${text}', gen_random_uuid(), now(), now() from generate_series(1, ${GROUPS}) n`,
  );
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
