import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { afterEach, beforeEach, expect, inject, test } from "vitest";
import { createDb, type Db } from "@/lib/platform/database/db";
import { sqlState } from "@/lib/platform/postgres-pool";
import { addSource } from "@/lib/testing/letters";
import { openWorld, type World } from "@/lib/testing/redrive-world";

const SQL = readFileSync(join(import.meta.dirname, "../../../docs/reader-role.sql"), "utf8");
const INSUFFICIENT_PRIVILEGE = "42501";

let world: World;
let opened: Db[];
/** Roles belong to the server, which other tests use, too. */
let roles: string[];
beforeEach(async () => {
  world = await openWorld({ redisUrl: null });
  [opened, roles] = [[], []];
});
afterEach(async () => {
  for (const db of opened) await db.end();
  await world.close();
  const server = new pg.Client({ connectionString: inject("postgresUrl") });
  await server.connect();
  for (const role of roles) await server.query(`drop role if exists ${role}`);
  await server.end();
});

/** Opens the store as a role of its own in the group. `sources`: null = it is not listed. */
async function asReader(group: string, sources: string[] | null): Promise<Db> {
  const role = `report_${randomBytes(6).toString("hex")}`;
  roles.unshift(role);
  await world.db.run(`create role ${role} login password 'w'`);
  await world.db.run(`grant ${group} to ${role}`);
  if (sources !== null) await world.db.run("insert into reading.readers values ($1, $2)", [role, sources]);
  const db = createDb(Object.assign(new URL(world.url), { username: role, password: "w" }).href, { max: 1 });
  opened.push(db);
  return db;
}

const sourcesOf = async (db: Db, view: string) =>
  (await db.query<{ source: string }>(`select distinct source from reading.${view} order by 1`)).map(
    ({ source }) => source,
  );

test("a report reads the rows of its sources and nothing else, whatever it sets, creates or calls", async () => {
  await addSource(world.db, "billing");
  await world.park(2);
  await world.park(1, () => ({ eventId: "of-billing" }), "billing");
  await world.request({ select: { filter: { source: ["orders"] } } });
  const reader = `reader_${randomBytes(6).toString("hex")}`;
  roles.push(reader, `${reader}_payloads`);
  const file = SQL.replaceAll("parkade_reader", reader);
  await world.db.run(file);
  // They run as their owner, and the role of web and worker owns the objects in `public`: it could replace a table by a view.
  const ofOwner = await world.db.query<{ text: string }>(
    "select prosrc as text from pg_proc where prosecdef and pronamespace = 'reading'::regnamespace",
  );
  expect(ofOwner.length).toBeGreaterThan(0);
  expect(ofOwner.filter(({ text }) => text.includes("public."))).toEqual([]);
  const one = await asReader(reader, ["orders"]);
  const all = await asReader(reader, ["*"]);
  const unlisted = await asReader(reader, null);
  const bodies = await asReader(`${reader}_payloads`, ["orders"]);
  // An operator runs it again after an upgrade: the list stays.
  await world.db.run(file);
  for (const view of ["events", "levels", "redrive_items"]) {
    const expected = view === "redrive_items" ? ["orders"] : ["billing", "orders"];
    expect([await sourcesOf(one, view), await sourcesOf(all, view)]).toEqual([["orders"], expected]);
    expect(await sourcesOf(unlisted, view)).toEqual([]);
  }
  expect(await one.query("select name from reading.sources")).toEqual([{ name: "orders" }]);
  expect(await one.query("select state from reading.redrives")).toHaveLength(1);
  for (const view of ["flow_hours", "flow_days"]) expect(await sourcesOf(all, view)).toEqual([]);
  expect(await sourcesOf(bodies, "event_bodies")).toEqual(["orders"]);

  const tables = await world.db.query<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname in ('public', 'bullmq') and c.relkind in ('r', 'p', 'v')`,
  );
  expect(tables.length).toBeGreaterThan(60);
  for (const refused of [
    ...tables.map(({ name }) => `select 1 from ${name} limit 1`),
    "select 1 from reading.event_bodies",
    "select 1 from reading.readers",
    "delete from reading.sources",
    "create table reading.mine (a int)",
  ]) {
    const state = await one.run(refused).then(
      () => "allowed",
      (error: unknown) => sqlState(error),
    );
    expect([refused, state]).toEqual([refused, INSUFFICIENT_PRIVILEGE]);
  }

  await one.run("create temp table readers as select session_user as role_name, '{*}'::text[] as sources");
  await one.run("set search_path = pg_temp, public, reading");
  // A function that costs nothing would be called before the condition of the view, were it no barrier.
  await one.run(
    "create function pg_temp.spy(text) returns boolean language plpgsql cost 0.0001 as $$ begin raise exception 'seen %', $1; end $$",
  );
  expect(await one.query("select 1 from reading.events where source <> 'orders' and pg_temp.spy(source)")).toEqual([]);

  const columns = await world.db.query<{ name: string }>(
    `select column_name as name from information_schema.columns
      where table_schema = 'reading' and table_name not in ('readers', 'event_bodies')`,
  );
  expect(columns.length).toBeGreaterThan(50);
  const confidential =
    /config|payload|header|body|secret|token|password|reason|detail|message|operator|created_by|actor|stack|tags/;
  expect(columns.filter(({ name }) => confidential.test(name))).toEqual([]);
});
