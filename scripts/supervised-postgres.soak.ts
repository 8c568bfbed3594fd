import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterEach, describe, expect, test } from "vitest";
import { rememberedUrl } from "./embedded-postgres.ts";
import { type SupervisedPostgres, supervisePostgres } from "./supervised-postgres.ts";

const KILLS = 10;
/** Only a signal ends it: a backend that never waits does not notice that its postmaster is gone. */
const COMPUTES = "do $$ begin loop end loop; end $$";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function supervised(said: string[]): Promise<{ server: SupervisedPostgres; dataDir: string }> {
  const dataDir = mkdtempSync(join(tmpdir(), "parkade-revival-"));
  chmodSync(dataDir, 0o755);
  cleanups.push(() => rmSync(dataDir, { recursive: true, force: true }));
  const server = await supervisePostgres({ dataDir, ephemeral: true }, (line) => said.push(line));
  cleanups.push(() => server.force());
  return { server, dataDir };
}

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  // The kill breaks the connection: what counts is what comes after.
  client.on("error", () => undefined);
  await client.connect();
  return client;
}

describe("the supervised PostgreSQL", () => {
  test("is back on its port each time it is killed while backends compute", { timeout: 180_000 }, async () => {
    const said: string[] = [];
    const { server, dataDir } = await supervised(said);
    const first = await connected(server.url);
    await first.query("create table kept as select 59 as n");
    await first.end();
    for (let kill = 1; kill <= KILLS; kill++) {
      const busy = await connected(server.url);
      const computing = busy.query(COMPUTES).catch(() => undefined);
      const watcher = await connected(server.url);
      await expect
        .poll(async () => (await watcher.query("select from pg_stat_activity where query = $1", [COMPUTES])).rowCount)
        .toBe(1);
      process.kill(server.pid(), "SIGKILL");
      await expect.poll(() => said.filter((line) => line === "postgres: running again").length).toBe(kill);
      expect(rememberedUrl(dataDir)).toBe(server.url);
      const after = await connected(server.url);
      expect((await after.query("select n from kept")).rows).toEqual([{ n: 59 }]);
      await after.end();
      await computing;
      await busy.end().catch(() => undefined);
      await watcher.end().catch(() => undefined);
    }
    expect(said.filter((line) => !/ended|running again/.test(line))).toEqual([]);
  });
});
