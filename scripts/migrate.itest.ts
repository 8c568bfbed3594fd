import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type TestDatabase, testDatabase } from "../lib/testing/postgres.ts";
import { migrate, migrationsIn } from "./migrate.ts";

let database: TestDatabase;
let folder: string;
beforeEach(async () => {
  database = await testDatabase();
  await query("drop schema public cascade; create schema public; drop schema if exists audit_owner cascade");
  folder = mkdtempSync(join(tmpdir(), "parkade-migrations-"));
});
afterEach(async () => {
  rmSync(folder, { recursive: true, force: true });
  await database.drop();
});

function migration(name: string, sql: string): void {
  mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, name, "migration.sql"), sql);
}

async function query(text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

describe("migrate", () => {
  test("applies by name, once, and keeps the record that Prisma reads", async () => {
    migration("20260202000000_second", "alter table t add column b int");
    migration("20260101000000_first", "create table t (a int)");
    expect(await migrate(database.url, folder)).toEqual(["20260101000000_first", "20260202000000_second"]);
    expect(await migrate(database.url, folder)).toEqual([]);
    const rows = await query(
      "select *, finished_at >= started_at as ended from _prisma_migrations order by migration_name",
    );
    expect(rows).toMatchObject(
      migrationsIn(folder).map(({ name, checksum }) => ({
        migration_name: name,
        checksum,
        ended: true,
        applied_steps_count: 1,
        rolled_back_at: null,
        logs: null,
      })),
    );
  });

  test("leaves nothing of a migration that fails, and names the file and the line", async () => {
    migration("20260101000000_first", "create table t (a int)");
    migration("20260202000000_broken", "create table u (a int);\nselect no_such_column from t;");
    await expect(migrate(database.url, folder)).rejects.toThrow(
      /20260202000000_broken failed at line 2 .*no_such_column/,
    );
    expect(await query("select to_regclass('t')::text as t, to_regclass('u')::text as u")).toEqual([
      { t: "t", u: null },
    ]);
    expect(await query("select migration_name from _prisma_migrations")).toEqual([
      { migration_name: "20260101000000_first" },
    ]);
  });

  test("refuses a file that was changed after it was applied", async () => {
    migration("20260101000000_first", "create table t (a int)");
    await migrate(database.url, folder);
    migration("20260101000000_first", "create table t (a bigint)");
    await expect(migrate(database.url, folder)).rejects.toThrow(/20260101000000_first was changed .*DATABASE_URL/);
  });

  test("refuses a database that a newer release has migrated", async () => {
    migration("20260101000000_first", "create table t (a int)");
    migration("20260202000000_newer", "create table u (a int)");
    await migrate(database.url, folder);
    rmSync(join(folder, "20260202000000_newer"), { recursive: true });
    await expect(migrate(database.url, folder)).rejects.toThrow(
      /20260202000000_newer, which this release does not know/,
    );
  });

  test("refuses what another tool began and never finished", async () => {
    migration("20260101000000_first", "create table t (a int)");
    await migrate(database.url, folder);
    await query("update _prisma_migrations set finished_at = null");
    await expect(migrate(database.url, folder)).rejects.toThrow(/never finished.*migrate resolve/);
  });

  test("two machines that deploy at once apply each migration once", async () => {
    migration("20260101000000_slow", "create table t (a int); select pg_sleep(0.3); insert into t values (1)");
    const applied = await Promise.all([1, 2, 3].map(() => migrate(database.url, folder)));
    expect(applied.flat()).toEqual(["20260101000000_slow"]);
    expect(await query("select count(*)::int as n from t")).toEqual([{ n: 1 }]);
  });

  test("one that sets a lock_timeout lets others pass, and is tried again until the table is free", async () => {
    migration("20260101000000_first", "create table t (a int)");
    await migrate(database.url, folder);
    migration("20260202000000_patient", "set local lock_timeout = '300ms'; alter table t add column b int");
    const reader = new pg.Client({ connectionString: database.url });
    await reader.connect();
    try {
      await reader.query("begin; lock table t in access share mode");
      const applied = migrate(database.url, folder);
      const waiting = () => query("select 1 from pg_locks where not granted and relation = 't'::regclass");
      await expect.poll(waiting, { interval: 10, timeout: 10_000 }).toHaveLength(1);
      await expect.poll(waiting, { interval: 10, timeout: 10_000 }).toHaveLength(0);
      expect(await query("select count(*)::int as n from t")).toEqual([{ n: 0 }]);
      await reader.query("commit");
      expect(await applied).toEqual(["20260202000000_patient"]);
    } finally {
      await reader.end();
    }
  });
});
