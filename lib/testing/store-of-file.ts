import { afterAll, beforeAll } from "vitest";
import { createDb, type Db } from "@/lib/platform/database/db";
import { testDatabase } from "./postgres";

/** A database for all tests of a file, and the pool to it: both can be used from the first `beforeAll` of the file on. */
export function storeOfFile(options: Parameters<typeof createDb>[1] = {}): { db: Db; database: { url: string } } {
  const [db, database] = [{} as Db, { url: "" }];
  let drop: () => Promise<void>;
  beforeAll(async () => {
    const made = await testDatabase();
    drop = made.drop;
    database.url = made.url;
    Object.assign(db, createDb(made.url, options));
  });
  afterAll(async () => {
    await db.end();
    await drop();
  });
  return { db, database };
}
