import { randomBytes, randomUUID } from "node:crypto";
import pg from "pg";
import { afterEach, beforeEach, expect, inject, test } from "vitest";
import { readEnv } from "@/lib/env";
import { ignoreEvents } from "@/lib/events/bulk/ignore-events";
import { verifyChain } from "@/lib/guard/audit-chain/verify-chain";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import { ensurePartitions } from "@/lib/intake/partitions.write";
import { forgetData } from "@/lib/keep/forget/forget-data";
import { createLaneQueue } from "@/lib/lane/queue";
import { foldRollups } from "@/lib/observe/rollups/fold-rollups.write";
import { removeExpired } from "@/lib/observe/rollups/upkeep.write";
import { systemClock } from "@/lib/platform/clock";
import { createDb, type Db } from "@/lib/platform/database/db";
import { createLog } from "@/lib/platform/log";
import { sqlState } from "@/lib/platform/postgres-pool";
import { redriveRequestSchema } from "@/lib/redrive/request/redrive-request.shapes";
import { requestRedrive } from "@/lib/redrive/request/request-redrive";
import { deadLetter } from "@/lib/testing/letters";
import { openWorld, type World } from "@/lib/testing/redrive-world";
import { startWorker } from "@/workers/worker";
import { prepareAppRole } from "../../../scripts/app-role.ts";
import { migrate } from "../../../scripts/migrate.ts";

const INSUFFICIENT_PRIVILEGE = "42501";
const role = { name: `app_${randomBytes(6).toString("hex")}`, password: "w-2!'x" };
let world: World;
let appUrl: string;

/** A database that an earlier release has used: everything in it belongs to the superuser, BullMQ's tables too. */
beforeEach(async () => {
  world = await openWorld({ redisUrl: null });
  await world.park(2);
  const worker = await world.worker();
  await world.ended((await world.request()).id);
  await worker.stop("upgrade");
  const url = new URL(world.url);
  url.username = role.name;
  url.password = encodeURIComponent(role.password);
  appUrl = url.href;
});
afterEach(async () => {
  const broken = await world.broken();
  await world.close();
  const client = new pg.Client({ connectionString: inject("postgresUrl") });
  await client.connect();
  await client.query(`drop role if exists ${role.name}`);
  await client.end();
  expect(broken).toEqual([]);
});

const refusal = (db: Db, text: string) =>
  db.run(text).then(
    () => "allowed",
    (error: unknown) => sqlState(error),
  );

/** Tables that functions of the owner write to, or that the app may only add to. */
const OWNERS = "audit_entries audit_subjects audit_seals audit_anchors audit_pending _prisma_migrations";

test("no function that runs as the owner calls or writes to what the role of web and worker can replace", async () => {
  // The state left by earlier releases, or by a store with one role.
  await world.db.run(`create role ${role.name} login`);
  for (const object of ["schema audit_owner", "table audit_pending", "table audit_seals"])
    await world.db.run(`alter ${object} owner to ${role.name}`);
  await prepareAppRole(world.url, role);
  const owned = await world.db.query(
    `select c.relname as name from pg_class c where c.relname = any($1) and c.relkind = 'r' and pg_get_userbyid(c.relowner) = $2
      union all select n.nspname from pg_namespace n where n.nspname = 'audit_owner' and pg_get_userbyid(n.nspowner) = $2
      union all select p.proname from pg_proc p where p.pronamespace = 'audit_owner'::regnamespace and pg_get_userbyid(p.proowner) = $2`,
    [OWNERS.split(" "), role.name],
  );
  expect(owned).toEqual([]);
  const definers = await world.db.query(
    `select p.oid::regprocedure::text as name, array_to_string(p.proconfig, ';') as settings from pg_proc p
      where p.prosecdef and p.pronamespace::regnamespace::text not in ('pg_catalog', 'information_schema')`,
  );
  expect(definers).toEqual([
    {
      name: "audit_owner.redact_audit_entries(uuid,text,text,uuid,integer)",
      settings: "search_path=pg_catalog, pg_temp",
    },
  ]);

  const db = createDb(appUrl, { max: 1 });
  try {
    const [entry] = await db.query<{ id: string; actor: string }>("select id, actor from audit_entries limit 1");
    const steal = `begin update public.audit_entries set actor = 'eve' where id = '${entry!.id}'; return`;
    await db.run(
      `create function public.forget_in_json(value jsonb, texts text) returns jsonb language plpgsql as $f$ ${steal} value; end $f$`,
    );
    await db.run(`create function public.steal() returns trigger language plpgsql as $f$ ${steal} new; end $f$`);
    for (const text of [
      "create or replace function audit_owner.forget_in_json(value jsonb, texts text) returns jsonb language sql as 'select value'",
      "create function audit_owner.regexp_replace(text, text, text, text) returns text language sql as 'select $1'",
      "create trigger steal before insert on audit_pending for each row execute function public.steal()",
      "create rule steal as on insert to audit_pending do also select 1",
      "drop table audit_pending",
      "alter schema audit_owner rename to gone",
    ])
      expect([text, await refusal(db, text)]).toEqual([text, INSUFFICIENT_PRIVILEGE]);
    const id = randomUUID();
    await db.run(
      "insert into audit_entries (id, at, actor, action, subject_kind, subject_id) values ($1, now(), 'ada', 'data.forgotten', 'forget', $2)",
      [randomUUID(), id],
    );
    await db.query("select audit_owner.redact_audit_entries($1, 'order', 'order', null, 1000)", [id]);
    expect(await db.query("select 1 from audit_entries where actor = 'eve'")).toEqual([]);
  } finally {
    await db.end();
  }
});

test("an owner that is no superuser sets up the role, and takes back what the role had", async () => {
  const owner = `owner_${randomBytes(6).toString("hex")}`;
  const server = new pg.Client({ connectionString: inject("postgresUrl") });
  await server.connect();
  await server.query(`create role ${owner} login createrole password 'w'`);
  await server.query(`create database ${owner} owner ${owner}`);
  try {
    const url = Object.assign(new URL(world.url), { username: owner, password: "w", pathname: `/${owner}` }).href;
    await migrate(url);
    await prepareAppRole(url, role);
    const db = createDb(url, { max: 1 });
    await db.run(`grant create on schema audit_owner to ${role.name}`);
    for (const object of ["table audit_pending", "function audit_owner.forget_in_json(jsonb, text)"])
      await db.run(`alter ${object} owner to ${role.name}`);
    await prepareAppRole(url, role);
    const owned = await db.query(
      `select relname from pg_class where relname like 'audit_%' and relkind = 'r' and pg_get_userbyid(relowner) = $1
       union all select proname from pg_proc where pronamespace = 'audit_owner'::regnamespace and pg_get_userbyid(proowner) = $1`,
      [role.name],
    );
    expect(owned).toEqual([{ relname: "audit_verifications" }]);
    await db.end();
  } finally {
    await server.query(`drop database if exists ${owner} with (force)`);
    await server.query(`drop role if exists ${role.name}`);
    await server.query(`drop role if exists ${owner}`);
    await server.end();
  }
});

test("a trigger that the role has made on the tables of the owner keeps a start from going on", async () => {
  await prepareAppRole(world.url, role);
  await world.db.run("create function planted() returns trigger language plpgsql as 'begin return new; end'");
  await world.db.run(`alter function planted() owner to ${role.name}`);
  await world.db.run("create trigger planted before insert on audit_pending for each row execute function planted()");
  await expect(prepareAppRole(world.url, role)).rejects.toThrow(/triggers.*planted on audit_pending/);
  await world.db.run("drop trigger planted on audit_pending");
});

test("web and worker do all their work as a role that is no superuser and cannot change the audit", async () => {
  await prepareAppRole(world.url, role);
  // A second start finds everything in step, and a migration after it still runs.
  await prepareAppRole(world.url, role);
  expect(await migrate(world.url)).toEqual([]);

  const db = createDb(appUrl, { max: 3 });
  const lane = createLaneQueue({ kind: "postgres", connectionString: appUrl, max: 2 }, systemClock);
  const log = createLog({ level: "silent", process: "test" });
  const deps = { db, lane, clock: systemClock, log };
  const worker = await startWorker(readEnv({ DATABASE_URL: appUrl }), log);
  try {
    const [me] = await db.query(
      "select rolsuper, rolcreaterole, rolcreatedb from pg_roles where rolname = current_user",
    );
    expect(me).toEqual({ rolsuper: false, rolcreaterole: false, rolcreatedb: false });
    const letters = ["a", "b", "c"].map((eventId) => ({
      source: "orders",
      letter: deadLetter({ eventId, aggregateId: null, version: null }),
    }));
    await parkEvents(deps, letters, localViewer("ada"));
    const select = (eventId: string) => ({ filter: { eventId: [eventId] } });
    const parsed = (eventId: string) =>
      redriveRequestSchema.parse({ select: select(eventId), lane: "main", reason: "tried as the app's role" });
    const { id } = await requestRedrive(deps, { request: parsed("a"), idempotency: null }, localViewer("ada"));
    await world.ended(id);
    expect(world.sink.of("a")).toHaveLength(1);
    await ignoreEvents(deps, { select: select("b"), reason: "not needed" } as never, localViewer("ada"));
    const day = systemClock.wallMs() + 40 * 86_400_000;
    expect(await ensurePartitions(db, day)).toHaveLength(1);
    await foldRollups(db);
    await removeExpired(db);
    const key = { aggregateId: "account-of-a" };
    await forgetData(deps, { key, reason: "for account-of-a", idempotency: null }, localViewer("ada"));
    // The worker has sealed as that role; what the forget replaced is sealed anew.
    const named = "select 1 from audit_entries where reason like '%account-of-a%'";
    await expect.poll(() => db.query(named)).toEqual([]);
    expect(await db.query("select 1 from audit_entries where reason = 'for [forgotten]'")).toHaveLength(1);

    const redactions = "select 1 from audit_seals where kind = 'redaction'";
    await expect.poll(() => db.query(redactions)).not.toHaveLength(0);
    await expect.poll(() => db.query("select 1 from audit_pending")).toEqual([]);
    const report = await verifyChain(db, { from: null, fromEntry: null });
    expect(report).toMatchObject({ good: true, appendOnly: true, findings: [] });
    expect(report.redactions).toBeGreaterThan(0);

    for (const text of [
      "update audit_entries set actor = 'somebody else'",
      "delete from audit_entries",
      "truncate audit_entries",
      "delete from audit_subjects",
      "update audit_subjects set entry_id = event_id",
      "update audit_seals set seq = seq + 1",
      "delete from audit_seals",
      "truncate audit_seals",
      "delete from audit_anchors",
      "update audit_anchors set seq = 1",
      "drop table audit_entries",
      "alter table audit_entries rename to gone",
      "delete from _prisma_migrations",
      "create role another superuser",
      "copy dlq_events to program 'cat'",
      "select pg_read_file('/etc/passwd')",
    ]) {
      expect([text, await refusal(db, text)]).toEqual([text, INSUFFICIENT_PRIVILEGE]);
    }
    const [left] = await db.query<{ n: number }>("select count(*) as n from audit_entries");
    expect(left!.n).toBeGreaterThan(3);
  } finally {
    await worker.stop("test over");
    await lane.close();
    await db.end();
  }
});

test("a role that is a superuser, or the owner itself, is refused in one sentence", async () => {
  const owner = { name: new URL(world.url).username, password: null };
  await expect(prepareAppRole(world.url, owner)).rejects.toThrow(/name the same role.*DATABASE_URL/);
  await world.db.run(`create role ${role.name} superuser`);
  await expect(prepareAppRole(world.url, role)).rejects.toThrow(/is a superuser: give web and worker/);
});
