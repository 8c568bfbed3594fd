import { afterEach, beforeEach, expect, test } from "vitest";
import { PostgresPool } from "@/lib/platform/postgres-pool";
import { type TestDatabase, testDatabase } from "@/lib/testing/postgres";
import { startTcpProxy, type TcpProxy } from "@/lib/testing/tcp-proxy";

const CONNECTIONS = 4;

let database: TestDatabase;
let proxy: TcpProxy;
let pools: PostgresPool[];

/** A pool through the proxy with idle connections: CONNECTIONS of them were in use at the same time. */
async function warmPool(statementTimeoutMs = 500): Promise<PostgresPool> {
  const url = new URL(database.url);
  url.port = String(proxy.port);
  const pool = new PostgresPool(url.href, { max: CONNECTIONS, applicationName: "test", statementTimeoutMs });
  pools.push(pool);
  await Promise.all(Array.from({ length: CONNECTIONS }, () => pool.query("select pg_sleep(0.1)")));
  expect(pool.idleCount).toBe(CONNECTIONS);
  return pool;
}

beforeEach(async () => {
  pools = [];
  database = await testDatabase();
  proxy = await startTcpProxy(Number(new URL(database.url).port));
});
afterEach(async () => {
  for (const pool of pools) await pool.end();
  await proxy.stop();
  await database.drop();
});

test("a silent connection costs one statement, and no idle connection of any pool to that server another", async () => {
  const [pool, other] = [await warmPool(), await warmPool()];
  proxy.halfOpen();
  await expect(pool.query("select 1")).rejects.toThrow(/timeout/);
  const all = [pool, other].flatMap((one) => Array.from({ length: CONNECTIONS }, () => one.query("select 1 as one")));
  for (const { rows } of await Promise.all(all)) expect(rows).toEqual([{ one: 1 }]);
});

test("a connection that dies in the hands of a user who does not listen ends no process", async () => {
  const pool = await warmPool(60_000);
  const client = await pool.connect();
  const waiting = client.query("select pg_sleep(60)");
  waiting.catch(() => undefined);
  proxy.cut();
  await expect(waiting).rejects.toThrow();
  client.release(true);
  // Without the listener the test's own process reports an error that nobody has caught.
});

test("an error of a statement leaves the other connections in use", async () => {
  const pool = await warmPool();
  const pids = async () => {
    const { rows } = await pool.query("select pid from pg_stat_activity where application_name = 'test'");
    return rows.map((row: { pid: number }) => row.pid);
  };
  const before = await pids();
  await expect(pool.query("select 1 / 0")).rejects.toMatchObject({ code: "22012" });
  await expect(pool.query("select pg_sleep(30)")).rejects.toMatchObject({ code: "57014" });
  const after = new Set(await pids());
  expect(before.filter((pid) => after.has(pid)).length).toBeGreaterThanOrEqual(CONNECTIONS - 2);
});
