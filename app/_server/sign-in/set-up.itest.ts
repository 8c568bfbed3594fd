import { afterEach, beforeEach, expect, test } from "vitest";
import { createDeps, type Deps, setDeps } from "@/app/_server/deps";
import { readEnv } from "@/lib/env";
import { createLog } from "@/lib/platform/log";
import { type TestDatabase, testDatabase } from "@/lib/testing/postgres";
import { startTcpProxy, type TcpProxy } from "@/lib/testing/tcp-proxy";
import { migrate } from "../../../scripts/migrate.ts";
import { makeSetupLinkAtStart } from "./set-up";

let database: TestDatabase;
let proxy: TcpProxy;
let deps: Deps;
let stopping: AbortController;

beforeEach(async () => {
  database = await testDatabase({ empty: true });
  const url = new URL(database.url);
  proxy = await startTcpProxy(Number(url.port));
  url.port = String(proxy.port);
  deps = createDeps(readEnv({ DATABASE_URL: url.href }), createLog({ process: "test", level: "silent" }));
  stopping = new AbortController();
});
afterEach(async () => {
  setDeps(null);
  await deps.close();
  await proxy.stop();
  await database.drop();
});

/** Asks for the link, and resolves when it waits for the store. */
async function waiting(): Promise<{ link: Promise<string | null> }> {
  const waits = Promise.withResolvers<void>();
  setDeps({ ...deps, log: Object.assign(Object.create(deps.log), { warn: () => waits.resolve() }) });
  const link = makeSetupLinkAtStart(stopping.signal);
  await Promise.race([waits.promise, link]);
  return { link };
}

test("a start before the store makes the link for the first account as soon as the store is there", async () => {
  await migrate(database.url);
  await proxy.refuse();
  const { link } = await waiting();
  await proxy.accept();
  expect(await link).toMatch(/\/sign-in\/link#[\w-]{43}$/);
  expect(await deps.db.query("select purpose from account_links")).toEqual([{ purpose: "setup" }]);
});

test("a start before the migration makes it as soon as the store is migrated", async () => {
  const { link } = await waiting();
  await migrate(database.url);
  expect(await link).toMatch(/\/sign-in\/link#[\w-]{43}$/);
});

test("a process that stops waits no longer", async () => {
  const { link } = await waiting();
  stopping.abort();
  await expect(link).rejects.toBe(stopping.signal.reason);
});

test("any other answer of the store is passed on", async () => {
  await migrate(database.url);
  await deps.db.run("alter table account_links add check (purpose <> 'setup')");
  await expect(waiting()).rejects.toMatchObject({ code: "23514" });
});
