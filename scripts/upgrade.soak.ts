import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { listGroups } from "../lib/events/groups/group-list.read.ts";
import { countEvents } from "../lib/events/list/event-count.read.ts";
import { listEvents } from "../lib/events/list/event-list.read.ts";
import { localViewer } from "../lib/guard/viewer/viewer.pure.ts";
import { restore } from "../lib/keep/backup/testing/backups.ts";
import { foldRollups } from "../lib/observe/rollups/fold-rollups.write.ts";
import { createDb, type Db } from "../lib/platform/database/db.ts";
import { readEnv } from "../lib/platform/env.ts";
import { createLog } from "../lib/platform/log.ts";
import { listRedrives } from "../lib/redrive/list/redrives.read.ts";
import { type TestDatabase, testDatabase } from "../lib/testing/postgres.ts";
import { auditGaps, contradictions, rollupDrift } from "../lib/testing/rollup-drift.ts";
import { startSink } from "../lib/testing/sink.ts";
import { startWorker } from "../workers/worker.ts";
import { migrate, migrationsIn } from "./migrate.ts";

const FOLDER = join(import.meta.dirname, "..", "prisma", "migrations");
const FIXTURES = join(import.meta.dirname, "fixtures");

/** A row is its JSON as PostgreSQL wrote it: numbers keep every digit. */
type Store = { migrations: string[]; partitions: Record<string, string>[]; rows: Record<string, string[]> };

/**
 * What an earlier version of Parkade left: 24 events, of them 3 ignored and 2 that bounced, one after its confirmation; a
 * blacklisted aggregate; two redrives that are done and one under way.
 */
const STORE: Store = JSON.parse(readFileSync(join(FIXTURES, "store-of-20261122.json"), "utf8"));

let database: TestDatabase;
let db: Db;
beforeEach(async () => {
  database = await testDatabase({ empty: true });
  db = createDb(database.url, { max: 2, applicationName: "test" });
});
afterEach(async () => {
  await db.end();
  await database.drop();
});

async function expectConsistent(): Promise<void> {
  await foldRollups(db);
  for (const broken of [rollupDrift, auditGaps, contradictions]) expect(await broken(db)).toEqual([]);
}

/** A worker of this release ends every redrive, at a sink in place of all targets. Resolves with the keys of what it sent. */
async function finishRedrives(): Promise<string[]> {
  const sink = await startSink();
  await db.run("update sources set config = jsonb_build_object('redriveUrl', $1::text)", [sink.url]);
  await db.run("update redrives set rate_per_second = 1000 where state = 'RUNNING'");
  await db.run("update targets set rate_per_second = null");
  const env = readEnv({ DATABASE_URL: database.url, REDIS_URL: "", PARKADE_LOG_LEVEL: "silent" });
  const worker = await startWorker(env, createLog({ level: "silent", process: "test" }));
  try {
    await expect.poll(() => db.query("select state from redrives where state <> 'DONE'")).toEqual([]);
  } finally {
    await worker.stop("the test ends");
    await sink.stop();
  }
  return sink.arrived.map(({ key }) => key);
}

async function queuedKeys(): Promise<string[]> {
  const rows = await db.query<{ key: string }>(
    `select s.name || ':' || e.event_id as key from dlq_events e join sources s on s.id = e.source_id
      where e.status = 'QUEUED' order by 1`,
  );
  return rows.map(({ key }) => key);
}

describe("a store of 20261122, under way", () => {
  let before: string;
  beforeEach(async () => {
    before = mkdtempSync(join(tmpdir(), "parkade-migrations-"));
    for (const name of STORE.migrations) cpSync(join(FOLDER, name), join(before, name), { recursive: true });
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
  afterEach(() => rmSync(before, { recursive: true, force: true }));

  test("a store that an earlier version wrote is migrated with nothing lost, and adds up", async () => {
    const counted = async () => ({
      events: await db.query("select status, count(*) as n from dlq_events group by 1 order by 1"),
      items: await db.query("select state, count(*) as n from redrive_items group by 1 order by 1"),
      redrives: await db.query(
        "select id, state, total, delivered, failed, refused, bounced from redrives order by id",
      ),
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
    await expectConsistent();
    // The first redrive had two confirmations, one of an event that came back since.
    expect(await db.query("select confirmed from redrives order by id")).toEqual([
      { confirmed: 1 },
      { confirmed: 1 },
      { confirmed: 0 },
    ]);
  });

  test("a redrive that was under way goes on after it, with the bytes and keys that it had", async () => {
    const queued = await queuedKeys();
    expect(queued.length).toBeGreaterThan(0);
    await migrate(database.url, FOLDER);
    const sent = await finishRedrives();
    expect(sent.length).toBeGreaterThan(0);
    expect(sent.filter((key) => !queued.includes(key))).toEqual([]);
    expect(await db.query("select distinct revision from redrive_attempts")).toEqual([{ revision: 1 }]);
    await expectConsistent();
  });
});

/**
 * Backups of stores that earlier versions wrote with their own demo: 144 dead letters of nine days and eight redrives. All but the first
 * also have a redrive under way, with two sends whose end is not known.
 */
const BACKUPS = readdirSync(FIXTURES).filter((name) => name.endsWith(".tar"));

describe.each(BACKUPS)("%s", (name) => {
  test("is restored, migrated with nothing lost, read by every list, and its redrive ends with the keys it had", async () => {
    const { manifest, migrated } = await restore(database.url, join(FIXTURES, name));
    expect(migrated).toEqual(
      migrationsIn(FOLDER)
        .map((all) => all.name)
        .slice(manifest.migrations.length),
    );
    await expectConsistent();
    const rows = (table: RegExp) => {
      const found = manifest.tables.filter((backedUp) => table.test(backedUp.name));
      return found.reduce((sum, backedUp) => sum + backedUp.rows, 0);
    };
    const stored = async (table: string) => (await db.query<{ n: number }>(`select count(*) as n from ${table}`))[0]!.n;
    for (const table of [
      "dlq_events",
      "dlq_event_bodies",
      "event_keys",
      "sources",
      "targets",
      "redrives",
      "redrive_items",
      "redrive_attempts",
    ])
      expect([table, await stored(table)]).toEqual([table, rows(new RegExp(`^${table}(_\\d{8})?$`))]);
    // With the stop of the restore.
    expect(await stored("audit_entries")).toBe(rows(/^audit_entries$/) + 1);

    const [ada, now] = [localViewer("ada"), Date.now()];
    const page = { filter: {}, limit: 500, cursor: null };
    expect((await listEvents(db, ada, page, now)).items).toHaveLength(144);
    const counted = await countEvents(db, ada, {}, now);
    expect(counted.total).toMatchObject({ kind: "exact", value: 144 });
    const groups = (await listGroups(db, ada, page, now)).items;
    expect(groups.reduce((sum, group) => sum + Object.values(group.counts).reduce((all, n) => all + n, 0), 0)).toBe(
      144,
    );
    const redrives = await listRedrives(db, ada, { ...page, states: null, waitsFor: null }, now);
    expect(redrives.items).toHaveLength(rows(/^redrives$/));

    const queued = await queuedKeys();
    expect(queued.length > 0).toBe(name !== BACKUPS[0]);
    await db.run("update stops set lifted_at = now()");
    const sent = await finishRedrives();
    expect(sent.filter((key) => !queued.includes(key))).toEqual([]);
    expect(new Set(sent).size).toBe(sent.length);
    expect(sent.length > 0).toBe(queued.length > 0);
    await expectConsistent();
  });
});
