import { afterEach, beforeEach, expect, test } from "vitest";
import { type AggregateCursor, removeIdleAggregates } from "@/lib/order/idle-aggregates.write";
import { createDb, type Db, type Tx } from "@/lib/platform/database/db";
import { type TestDatabase, testDatabase } from "@/lib/testing/postgres";
import { countingRows } from "@/lib/testing/rows-looked-at";

let database: TestDatabase;
let db: Db;
beforeEach(async () => {
  database = await testDatabase();
  db = createDb(database.url, { max: 1 });
});
afterEach(async () => {
  await db.end();
  await database.drop();
});

const SOURCE = "019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b20";
const add = (name: string, columns: string, values: string) =>
  db.run(`insert into aggregates (source_id, aggregate_id, ${columns}) values ($1, $2, ${values})`, [SOURCE, name]);

test("an aggregate's row goes when it says nothing, and stays while it is leased or has failed", async () => {
  await add("given back two days ago", "lease_until", "now() - interval '3 days'");
  await add("never leased", "aggregate_type", "'order'");
  await add("confirmed since", "failed_at, failed_redrives", "now() - interval '401 days', '{}'");
  await add("failed long ago", "consecutive_failures, failed_at", "2, now() - interval '401 days'");
  await add("given back just now", "lease_until", "now() - interval '1 day'");
  await add("leased", "lease_until", "now() + interval '5 s'");
  await add("failed", "consecutive_failures, failed_at", "2, now() - interval '399 days'");
  await add("failed at an unknown time", "consecutive_failures", "2");
  expect(await removeIdleAggregates(db, null)).not.toBeNull();
  const left = await db.query<{ name: string }>("select aggregate_id as name from aggregates order by 1");
  expect(left.map(({ name }) => name)).toEqual([
    "failed",
    "failed at an unknown time",
    "given back just now",
    "leased",
  ]);
});

test("are looked for page by page, by the key, however many there are", async () => {
  await db.run(
    `insert into aggregates (source_id, aggregate_id, lease_until)
     select $1, 'order-' || n, now() - case when n % 2 = 0 then interval '3 days' else interval '1 day' end
       from generate_series(1, 30000) n`,
    [SOURCE],
  );
  await db.run("analyze aggregates");
  let rows = () => 0;
  const transaction: Db["transaction"] = (work, options) =>
    db.transaction((tx) => {
      const looked = countingRows(tx, "aggregates");
      rows = looked.rows;
      return work(looked.db as Tx);
    }, options);
  await removeIdleAggregates({ ...db, transaction }, null);
  // A page of 5,000, each read again by key under its lock, and the removed ones.
  expect(rows()).toBeLessThanOrEqual(12_500);
  let pages = 0;
  for (let after: AggregateCursor = null; pages === 0 || after !== null; pages++) {
    after = await removeIdleAggregates(db, after);
  }
  expect(pages).toBeLessThanOrEqual(7);
  const kept = "select count(*)::int as n, bool_and(lease_until > now() - interval '2 days') as all from aggregates";
  expect(await db.query(kept)).toEqual([{ n: 15_000, all: true }]);
});
