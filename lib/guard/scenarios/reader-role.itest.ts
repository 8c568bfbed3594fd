import { randomBytes } from "node:crypto";
import pg from "pg";
import { afterEach, beforeEach, expect, inject, test } from "vitest";
import { createDb, type Db } from "@/lib/platform/database/db";
import { sqlState } from "@/lib/platform/postgres-pool";
import { addSource } from "@/lib/testing/letters";
import { openWorld, type World } from "@/lib/testing/redrive-world";
import { prepareAppRole } from "../../../scripts/app-role.ts";
import { isMigrationDue, migrate } from "../../../scripts/migrate.ts";
import { dropReading, payloadRoleOf, prepareReader } from "../../../scripts/reader-role.ts";

const INSUFFICIENT_PRIVILEGE = "42501";
const mark = randomBytes(6).toString("hex");
const app = { name: `app_${mark}`, password: "w" };
const reader = `reader_${mark}`;
/** People and programs, each with a role of its own in the group. */
const people = { one: `one_${mark}`, all: `all_${mark}`, none: `none_${mark}`, bodies: `bodies_${mark}` };
let world: World;
let owner: pg.Client;
let opened: Db[];

beforeEach(async () => {
  opened = [];
  world = await openWorld({ redisUrl: null });
  await addSource(world.db, "billing");
  await world.park(2);
  await world.park(1, () => ({ eventId: "of-billing" }), "billing");
  const worker = await world.worker();
  await world.ended((await world.request({ select: { filter: { source: ["orders"] } } })).id);
  await worker.stop("upgrade");
  await prepareAppRole(world.url, app);
  await prepareReader(world.url, reader);
  owner = new pg.Client({ connectionString: world.url });
  await owner.connect();
  for (const name of Object.values(people)) {
    await owner.query(`create role ${name} login password 'w'`);
    await owner.query(`grant ${name === people.bodies ? payloadRoleOf(reader) : reader} to ${name}`);
  }
  await owner.query("insert into reading.readers values ($1, '{orders}'), ($2, '{*}'), ($3, '{orders}')", [
    people.one,
    people.all,
    people.bodies,
  ]);
});
afterEach(async () => {
  for (const db of opened) await db.end();
  await owner.end();
  await world.close();
  const client = new pg.Client({ connectionString: inject("postgresUrl") });
  await client.connect();
  for (const name of [...Object.values(people), reader, payloadRoleOf(reader), app.name])
    await client.query(`drop role if exists ${name}`);
  await client.end();
});

function urlOf(name: string): string {
  const url = new URL(world.url);
  url.username = name;
  url.password = "w";
  return url.href;
}

function as(name: string): Db {
  const db = createDb(urlOf(name), { max: 1 });
  opened.push(db);
  return db;
}

const refusal = (db: Db, text: string) =>
  db.run(text).then(
    () => "allowed",
    (error: unknown) => sqlState(error),
  );
const sourcesOf = async (db: Db, view: string) =>
  (await db.query<{ source: string }>(`select distinct source from reading.${view} order by 1`)).map(
    ({ source }) => source,
  );

test("a reader sees the rows of its sources, another all, and one that nobody listed none", async () => {
  for (const view of ["events", "levels"]) {
    expect(await sourcesOf(as(people.one), view), view).toEqual(["orders"]);
    expect(await sourcesOf(as(people.all), view), view).toEqual(["billing", "orders"]);
    expect(await sourcesOf(as(people.none), view), view).toEqual([]);
  }
  const counts = async (db: Db) =>
    db.query(
      "select (select count(*) from reading.sources) as sources, (select count(*) from reading.redrive_items) as items, (select count(*) from reading.redrives) as redrives",
    );
  expect(await counts(as(people.one))).toEqual([{ sources: 1, items: 2, redrives: 1 }]);
  expect(await counts(as(people.none))).toEqual([{ sources: 0, items: 0, redrives: 0 }]);
  // A group may stand in the list as well as a person.
  await owner.query("insert into reading.readers values ($1, '{billing}')", [reader]);
  expect(await sourcesOf(as(people.one), "events")).toEqual(["billing", "orders"]);
  expect(await sourcesOf(as(people.none), "events")).toEqual(["billing"]);
});

test("a reader reads no table, no payload and no list of readers, and changes nothing", async () => {
  const db = as(people.one);
  const { rows: tables } = await owner.query<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname in ('public', 'bullmq') and c.relkind in ('r', 'p', 'v')`,
  );
  expect(tables.length).toBeGreaterThan(60);
  for (const { name } of tables)
    expect([name, await refusal(db, `select 1 from ${name} limit 1`)]).toEqual([name, INSUFFICIENT_PRIVILEGE]);
  for (const text of [
    "select 1 from reading.event_bodies",
    "select 1 from reading.readers",
    `insert into reading.readers values ('${people.none}', '{*}')`,
    "update reading.sources set name = 'x'",
    "delete from reading.sources",
    "create table reading.mine (a int)",
    "create function reading.mine() returns int language sql as 'select 1'",
    `set session authorization ${people.all}`,
    `set role ${people.all}`,
    "copy reading.events to program 'cat'",
  ])
    expect([text, await refusal(db, text)]).toEqual([text, INSUFFICIENT_PRIVILEGE]);
});

test("nothing that a reader can set, create or call shows it another row", async () => {
  const client = new pg.Client({ connectionString: urlOf(people.one) });
  await client.connect();
  try {
    await client.query("set search_path = pg_temp, public, reading");
    await client.query("create temp table readers (role_name name, sources text[])");
    await client.query("insert into readers values (session_user, '{*}')");
    await client.query("create temp table sources (id uuid, name text)");
    await client.query("set parkade.sources = '*'");
    await client.query(`set role ${reader}`);
    const { rows } = await client.query("select distinct source from reading.events");
    expect(rows).toEqual([{ source: "orders" }]);
    // A function that costs nothing would be asked before the condition of the view, were it no barrier.
    await client.query("reset role");
    await client.query(
      `create function pg_temp.spy(text) returns boolean language plpgsql cost 0.0001 as
         $$ begin raise exception 'seen %', $1; end $$`,
    );
    const seen = await client.query("select 1 from reading.events where source <> 'orders' and pg_temp.spy(source)");
    expect(seen.rows).toEqual([]);
  } finally {
    await client.end();
  }
});

test("payloads are read by those in the second role alone, and of their sources", async () => {
  const bodies = await as(people.bodies).query<{ source: string; payload: Buffer }>(
    "select source, payload from reading.event_bodies",
  );
  expect(bodies.map(({ source }) => source)).toEqual(["orders", "orders"]);
  expect(bodies[0]!.payload.length).toBeGreaterThan(0);
});

test("no view has a column of a secret, a person or a text that may hold one", async () => {
  const { rows } = await owner.query<{ column: string }>(
    `select table_name || '.' || column_name as column from information_schema.columns
      where table_schema = 'reading' and table_name not in ('readers', 'event_bodies')`,
  );
  expect(rows.length).toBeGreaterThan(50);
  const strange =
    /config|payload|header|body|secret|token|password|reason|detail|message|operator|created_by|actor|stack|tags/;
  expect(rows.map(({ column }) => column).filter((column) => strange.test(column))).toEqual([]);
});

test("migrations and restarts keep who sees what, and a role that signs in is refused as the group", async () => {
  await dropReading(world.url);
  expect(await migrate(world.url)).toEqual([]);
  await prepareReader(world.url, reader);
  await prepareReader(world.url, reader);
  expect(await sourcesOf(as(people.one), "events")).toEqual(["orders"]);
  await expect(prepareReader(world.url, people.all)).rejects.toThrow(/PARKADE_READER_ROLE signs in or is a superuser/);
});

test("a report that runs holds up no start without a migration, and is named where one is due", async () => {
  const report = new pg.Client({ connectionString: urlOf(people.all) });
  await report.connect();
  await report.query("begin; select from reading.events");
  expect(await isMigrationDue(world.url)).toBe(false);
  expect(await prepareReader(world.url, reader)).toEqual([]);
  await expect(dropReading(world.url, { lockMs: 50 })).rejects.toThrow(
    new RegExp(`reads the views of the schema reading.*process \\d+ of ${people.all}, since `),
  );
  await report.query("rollback");
  await report.end();
  expect(await sourcesOf(as(people.one), "events")).toEqual(["orders"]);
});

test("views of others on these views stop no start and live on, and what a change of columns stops is named", async () => {
  await owner.query(`create schema team; grant usage on schema team to ${people.one};
    create view team.report as select source, count(*)::int as n from reading.events group by 1;
    create view team.on_report as select n from team.report; grant select on team.report, team.on_report to ${people.one};
    create materialized view team.kinds as select name, kind from reading.sources`);
  const reads = (view: string) => as(people.one).query(`select * from ${view}`);
  const start = async (sql = "select") => {
    const left = await dropReading(world.url);
    await owner.query(sql);
    return [left, await prepareReader(world.url, reader)];
  };
  const wait = [
    expect.stringMatching(
      /^Reading reading\.sources fails .+ not set, because materialized view team\.kinds depends on it and /,
    ),
    expect.stringMatching(/^Reading reading\.events fails .+ not set, because view team\.report depends on it and /),
  ];
  expect(await start()).toEqual([wait, []]);
  expect([await reads("team.report"), await reads("team.on_report")]).toEqual([
    [{ source: "orders", n: 2 }],
    [{ n: 2 }],
  ]);
  // As a migration would: no table is behind the views then.
  const refused = [
    expect.stringMatching(/^The view reading\.sources has other columns .+ view team\.kinds depends on it: drop /),
  ];
  expect(await start("alter table sources alter column kind type varchar(60)")).toEqual([wait, refused]);
  expect(await start()).toEqual([wait, refused]);
  expect(await reads("team.on_report")).toEqual([{ n: 2 }]);
  // It says so, where no rows would be an answer as well.
  await expect(reads("reading.sources")).rejects.toThrow("Parkade is replacing this view");
  await owner.query("drop materialized view team.kinds");
  expect(await start()).toEqual([wait.slice(1), []]);
  expect(await reads("reading.sources")).toMatchObject([{ name: "orders" }]);
  await dropReading(world.url);
  await expect(reads("team.report")).rejects.toThrow("Parkade is replacing this view");
});
