import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { expect, test } from "vitest";
import { testDatabase } from "../lib/testing/postgres.ts";
import { migrate, migrationsIn } from "./migrate.ts";

const MIGRATION = "20261124000201_outbox_of_the_kit";
const FOLDER = join(import.meta.dirname, "..", "prisma", "migrations");

test("a row that somebody put into the outbox of before is kept", async () => {
  const database = await testDatabase();
  const before = mkdtempSync(join(tmpdir(), "parkade-migrations-"));
  const pool = new pg.Pool({ connectionString: database.url, max: 1 });
  try {
    for (const { name } of migrationsIn(FOLDER)) {
      if (name < MIGRATION) cpSync(join(FOLDER, name), join(before, name), { recursive: true });
    }
    await pool.query("drop schema public cascade; create schema public");
    await migrate(database.url, before);
    await pool.query(
      `insert into outbox (id, aggregate_type, aggregate_id, event_type, payload, headers)
       values ('00000000-0000-7000-9000-000000000001', 'order', '77', 'paid', '{"n": 1}', '{"a": "b"}')`,
    );
    expect(await migrate(database.url, FOLDER)).toContain(MIGRATION);
    const { rows } = await pool.query("select id, seq, payload, headers, status from outbox");
    expect(rows).toEqual([
      {
        id: "00000000-0000-7000-9000-000000000001",
        seq: "1",
        payload: Buffer.from('{"n": 1}'),
        headers: [["a", "b"]],
        status: "NEW",
      },
    ]);
  } finally {
    await pool.end();
    rmSync(before, { recursive: true, force: true });
    await database.drop();
  }
});
