import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { onTestFinished } from "vitest";
import { migrate, migrationsIn } from "../../scripts/migrate.ts";
import { testDatabase } from "./postgres.ts";

const FOLDER = join(import.meta.dirname, "..", "..", "prisma", "migrations");

/** A store as the last version before a migration left it, empty; dropped at the end of the test. */
export async function oldStore(migration: string) {
  const { url, drop } = await testDatabase();
  const before = mkdtempSync(join(tmpdir(), "parkade-migrations-"));
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  onTestFinished(async () => {
    await pool.end();
    rmSync(before, { recursive: true, force: true });
    await drop();
  });
  /** The rows of the last statement of the text. */
  const query = async (text: string): Promise<Record<string, unknown>[]> => {
    const result = await pool.query(text);
    return (Array.isArray(result) ? result.at(-1) : result).rows;
  };
  for (const { name } of migrationsIn(FOLDER)) {
    if (name < migration) cpSync(join(FOLDER, name), join(before, name), { recursive: true });
  }
  await query("drop schema public cascade; create schema public");
  await migrate(url, before);
  /** Resolves with the names of the migrations that it applied. */
  const upgrade = () => migrate(url, FOLDER);
  return { url, query, upgrade };
}
