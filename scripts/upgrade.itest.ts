import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { foldRollups } from "../lib/observe/rollups/fold-rollups.write.ts";
import { createDb, type Db } from "../lib/platform/database/db.ts";
import { readEnv } from "../lib/platform/env.ts";
import { createLog } from "../lib/platform/log.ts";
import { type TestDatabase, testDatabase } from "../lib/testing/postgres.ts";
import { auditGaps, contradictions, rollupDrift } from "../lib/testing/rollup-drift.ts";
import { startSink } from "../lib/testing/sink.ts";
import { startWorker } from "../workers/worker.ts";
import { migrate } from "./migrate.ts";

const FOLDER = join(import.meta.dirname, "..", "prisma", "migrations");

/** A row is its JSON as PostgreSQL wrote it: numbers keep every digit. */
type Store = { migrations: string[]; partitions: Record<string, string>[]; rows: Record<string, string[]> };

/**
 * What an earlier version of Parkade left: 24 events, of them 3 ignored and 2 that bounced, one after its confirmation; a
 * blacklisted aggregate; two redrives that are done and one under way.
 */
const STORE: Store = JSON.parse(readFileSync(join(import.meta.dirname, "fixtures", "store-of-20261122.json"), "utf8"));

let database: TestDatabase;
let db: Db;
let before: string;
beforeEach(async () => {
  database = await testDatabase();
  db = createDb(database.url, { max: 2 });
  before = mkdtempSync(join(tmpdir(), "parkade-migrations-"));
  for (const name of STORE.migrations) cpSync(join(FOLDER, name), join(before, name), { recursive: true });
  await db.run("drop schema public cascade");
  await db.run("create schema public");
  await migrate(database.url, before);
  for (const { parent, name, bound } of STORE.partitions)
    await db.run(`create table ${name} partition of ${parent} ${bound}`);
  await db.transaction(async (tx) => {
    await tx.run("set local session_replication_role = replica"); // rows in any order, audit entries included
    for (const [table, rows] of Object.entries(STORE.rows)) {
      await tx.run(`delete from ${table}`);
      const all = `[${rows.join(",")}]`;
      await tx.run(`insert into ${table} select * from jsonb_populate_recordset(null::${table}, $1::jsonb)`, [all]);
    }
  });
});
afterEach(async () => {
  await db.end();
  await database.drop();
  rmSync(before, { recursive: true, force: true });
});

test("a store that an earlier version wrote is migrated with nothing lost, and adds up", async () => {
  const counted = async () => ({
    events: await db.query("select status, count(*) as n from dlq_events group by 1 order by 1"),
    items: await db.query("select state, count(*) as n from redrive_items group by 1 order by 1"),
    redrives: await db.query("select id, state, total, delivered, failed, refused, bounced from redrives order by id"),
    audit: await db.query("select action, sum(count) as n from audit_entries group by 1 order by 1"),
    bodies: await db.query("select id, payload, headers::text, origin from dlq_event_bodies order by id"),
  });
  const known = await counted();
  expect(known.events).toHaveLength(4);
  const applied = await migrate(database.url, FOLDER);
  expect(applied.length).toBeGreaterThan(10);
  expect(await counted()).toEqual(known);
  // What there was is the first revision, on all days, and what is open goes on with it.
  for (const table of ["dlq_events", "redrive_items", "redrive_attempts"])
    expect(await db.query(`select distinct revision from ${table}`)).toEqual([{ revision: 1 }]);
  expect(
    await db.query(
      `select count(*) filter (where inhparent = 'event_revisions'::regclass)
            - count(*) filter (where inhparent = 'dlq_event_bodies'::regclass) as missing from pg_inherits`,
    ),
  ).toEqual([{ missing: 0 }]);
  await foldRollups(db);
  for (const broken of [rollupDrift, auditGaps, contradictions]) expect(await broken(db)).toEqual([]);
  // The first redrive had two confirmations, one of an event that came back since.
  expect(await db.query("select confirmed from redrives order by id")).toEqual([
    { confirmed: 1 },
    { confirmed: 1 },
    { confirmed: 0 },
  ]);
});

test("a redrive that was under way goes on after it, with the bytes and keys that it had", async () => {
  const queued = await db.query<{ key: string }>(
    `select s.name || ':' || e.event_id as key from dlq_events e join sources s on s.id = e.source_id
      where e.status = 'QUEUED' order by 1`,
  );
  expect(queued.length).toBeGreaterThan(0);
  await migrate(database.url, FOLDER);
  const sink = await startSink();
  await db.run("update sources set config = jsonb_build_object('redriveUrl', $1::text)", [sink.url]);
  await db.run("update redrives set rate_per_second = 1000 where state = 'RUNNING'");
  await db.run("update targets set rate_per_second = null");
  const env = readEnv({ DATABASE_URL: database.url, REDIS_URL: "", PARKADE_LOG_LEVEL: "silent" });
  const worker = await startWorker(env, createLog({ level: "silent", process: "test" }));
  try {
    const open = () => db.query("select state from redrives where state <> 'DONE'");
    await expect.poll(open).toEqual([]);
  } finally {
    await worker.stop("the test ends");
    await sink.stop();
  }
  const known = new Set(queued.map(({ key }) => key));
  const sent = sink.arrived.map(({ key }) => key);
  expect(sent.length).toBeGreaterThan(0);
  expect(sent.filter((key) => !known.has(key))).toEqual([]);
  expect(await db.query("select distinct revision from redrive_attempts")).toEqual([{ revision: 1 }]);
  await foldRollups(db);
  for (const broken of [rollupDrift, auditGaps, contradictions]) expect(await broken(db)).toEqual([]);
});
