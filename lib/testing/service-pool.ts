import pg from "pg";
import { afterAll, beforeAll } from "vitest";
import { type TestDatabase, testDatabase } from "./postgres";

/** The pool of a service with a database for all tests of a file, in which `sql` was run. */
export function servicePoolOfFile(max: number, sql: string): pg.Pool {
  const pool = new pg.Pool({ max });
  let database: TestDatabase;
  beforeAll(async () => {
    database = await testDatabase();
    pool.options.connectionString = database.url;
    await pool.query(sql);
  });
  afterAll(async () => {
    await pool.end();
    await database.drop();
  });
  return pool;
}
