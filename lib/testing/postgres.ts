import { randomBytes } from "node:crypto";
import pg from "pg";
import { inject } from "vitest";
import { TEMPLATE } from "./global-setup.ts";

export type TestDatabase = {
  /** Connection string of a migrated, empty database that nobody else uses. */
  url: string;
  /**
   * Removes the database. Throws when a connection is still open two seconds later: the code under test leaked a pool.
   * Pass `{ force: true }` where a connection is left on purpose (a killed worker).
   */
  drop(options?: { force?: boolean }): Promise<void>;
};

/** Maximum time until a closing connection disappears from the server's list. */
const CLOSING_MS = 2_000;

/** A fresh clone of the migrated template, or a database without a table, on the PostgreSQL that the global setup started. */
export async function testDatabase({ empty = false } = {}): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString("hex")}`;
  const url = new URL(inject("postgresUrl"));
  // Copying the files takes half as long as writing each page to the log, and the database is dropped three times as fast.
  const copy = empty ? "" : ` template ${TEMPLATE} strategy file_copy`;
  await onServer((client) => client.query(`create database ${name}${copy}`));
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: ({ force = false } = {}) =>
      onServer(async (client) => {
        const left = force ? [] : await connectionsLeft(client, name);
        await client.query(`drop database if exists ${name} with (force)`);
        if (left.length > 0) {
          throw new Error(
            `the test left ${left.length} open connection(s), the last statement was: ${left.join("; ")}`,
          );
        }
      }),
  };
}

async function onServer<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: inject("postgresUrl") });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** The last statements of the connections to `name` that do not close by themselves within CLOSING_MS. */
async function connectionsLeft(client: pg.Client, name: string): Promise<string[]> {
  const until = performance.now() + CLOSING_MS;
  for (;;) {
    const { rows } = await client.query<{ query: string }>(
      "select left(query, 120) as query from pg_stat_activity where datname = $1 and backend_type = 'client backend'",
      [name],
    );
    if (rows.length === 0 || performance.now() > until) return rows.map((row) => row.query);
    await client.query("select pg_sleep(0.02)");
  }
}
