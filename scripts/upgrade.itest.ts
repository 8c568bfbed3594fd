import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readEnv } from "../lib/env.ts";
import { listGroups } from "../lib/events/groups/group-list.read.ts";
import { countEvents } from "../lib/events/list/event-count.read.ts";
import { listEvents } from "../lib/events/list/event-list.read.ts";
import { sealEntries } from "../lib/guard/audit-chain/seal-entries.ts";
import { verifyChain } from "../lib/guard/audit-chain/verify-chain.ts";
import { localViewer } from "../lib/guard/viewer/viewer.pure.ts";
import { ensurePartitions } from "../lib/intake/partitions.write.ts";
import { restore } from "../lib/keep/backup/testing/backups.ts";
import { foldRollups } from "../lib/observe/rollups/fold-rollups.write.ts";
import { listControls } from "../lib/order/controls/control-list.read.ts";
import { liftControls } from "../lib/order/controls/lift-controls.ts";
import { systemClock } from "../lib/platform/clock.ts";
import { createDb, type Db } from "../lib/platform/database/db.ts";
import { uuidv7, uuidv7TimeMs } from "../lib/platform/ids.ts";
import { createLog } from "../lib/platform/log.ts";
import { listRedrives } from "../lib/redrive/list/redrives.read.ts";
import { lineFaults } from "../lib/testing/lines.ts";
import { type TestDatabase, testDatabase } from "../lib/testing/postgres.ts";
import { auditGaps, contradictions, rollupDrift } from "../lib/testing/rollup-drift.ts";
import { startSink } from "../lib/testing/sink.ts";
import { startWorker } from "../workers/worker.ts";
import { BASELINE, migrate, migrationsIn, migrationsOfBackup } from "./migrate.ts";

const FOLDER = join(import.meta.dirname, "..", "prisma", "migrations");
const FIXTURES = join(import.meta.dirname, "fixtures");

/**
 * A backup of the demo's store, at the last development migration: 144 dead letters of nine days, nine redrives, one of them under way with
 * two sends whose end is not known, and an account.
 */
const BACKUP = join(FIXTURES, "store-before-baseline.tar");
/** The names and checksums of the migrations that the baseline replaces. */
const REPLACED = readFileSync(join(FIXTURES, "migrations-before-baseline.txt"), "utf8")
  .trimEnd()
  .split("\n")
  .map((line) => line.split(" ") as [name: string, sha256: string]);

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

/** An empty store of 0.1.0. */
async function storeOfFirstRelease(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "parkade-migrations-"));
  cpSync(join(FOLDER, BASELINE), join(folder, BASELINE), { recursive: true });
  await migrate(database.url, folder).finally(() => rmSync(folder, { recursive: true, force: true }));
}

/** A store with the schema of the baseline, under the names of the migrations that it replaces. */
async function developmentStore(applied = REPLACED): Promise<void> {
  await storeOfFirstRelease();
  await db.run("delete from _prisma_migrations");
  for (const [name, sha256] of applied) {
    await db.run(
      "insert into _prisma_migrations (id, migration_name, checksum, finished_at) values (gen_random_uuid(), $1, $2, now())",
      [name, sha256],
    );
  }
}

describe("a store of the development version before 0.1.0", () => {
  const LATER = migrationsIn(FOLDER).flatMap(({ name }) => (name > BASELINE ? [name] : []));
  const applied = () => db.query("select migration_name as name from _prisma_migrations order by 1");

  test("counts as having the baseline when it is at the last migration, and keeps its rows", async () => {
    await developmentStore();
    await db.run(
      `insert into accounts (id, kind, name, name_key, role, created_by)
       values (gen_random_uuid(), 'person', 'Ada', 'ada', 'admin', 'setup')`,
    );
    expect(await migrate(database.url)).toEqual(LATER);
    expect(await applied()).toEqual([BASELINE, ...LATER].map((name) => ({ name })));
    expect(await db.query("select name from accounts")).toEqual([{ name: "Ada" }]);
  });

  test("has its source of a RabbitMQ stream stopped, and reads its other queues", async () => {
    await developmentStore();
    await db.run(
      `insert into sources (id, name, kind, config) select gen_random_uuid(), name, 'rabbitmq', config::jsonb
         from (values ('stream', '{"queue":"s","streamOffset":"next"}'), ('queue', '{"queue":"q","streamOffset":"first"}')) v (name, config)`,
    );
    await db.run("insert into source_positions (source_id, log) select id, 's' from sources where name = 'stream'");
    await migrate(database.url);
    expect(await db.query("select name, mode, mode_reason as why, config from sources order by name")).toEqual([
      { name: "queue", mode: "running", why: null, config: { queue: "q" } },
      { name: "stream", mode: "stopped", why: "RabbitMQ streams are no longer read", config: { queue: "s" } },
    ]);
  });

  test("is refused and unchanged when it is older, with what to do", async () => {
    await developmentStore(REPLACED.slice(0, -1));
    const refusal = /is at migration 20261207500001_encryption_waits of a development version.*20261207620001.*once/;
    await expect(migrate(database.url)).rejects.toThrow(refusal);
    expect(await applied()).toHaveLength(REPLACED.length - 1);
    const migrations = REPLACED.slice(0, -1).map(([name, sha256]) => ({ name, sha256 }));
    expect(() => migrationsOfBackup(migrations)).toThrow(/^The backup is at migration 20261207500001.*once/);
  });

  test("is restored from its backup, read by every list, and its redrive ends with the keys it had", async () => {
    const { manifest, migrated } = await restore(database.url, BACKUP);
    expect(manifest.migrations).toHaveLength(REPLACED.length);
    expect(migrated).toEqual(LATER);
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
    expect(queued.length).toBeGreaterThan(0);
    await db.run("update stops set lifted_at = now()");
    const sent = await finishRedrives();
    expect(sent.filter((key) => !queued.includes(key))).toEqual([]);
    expect(new Set(sent).size).toBe(sent.length);
    expect(sent.length).toBeGreaterThan(0);
    await expectConsistent();
  });
});

describe("a store of 0.1.0", () => {
  test("loses its Opsgenie channels with what waits for them, each with an audit entry, and keeps the others", async () => {
    await storeOfFirstRelease();
    await db.run(
      `insert into alert_channels (id, name, kind, enabled, severities, config, created_by, created_at, updated_by, updated_at)
       select gen_random_uuid(), kind, kind, true, '{critical}', jsonb_build_object('kind', kind, 'apiKey', 'env:PARKADE_SECRET_X'),
              'ada', now(), 'ada', now() from unnest('{opsgenie,webhook}'::text[]) kind`,
    );
    await db.run(
      `insert into alert_outbox (id, aggregate_id, event_type, destination, payload)
       select kind, 'a', 'fired', id::text, '' from alert_channels`,
    );
    await db.run("insert into alert_notices select id, gen_random_uuid(), now(), now(), now() from alert_channels");
    await migrate(database.url);
    expect(await db.query("select name from alert_channels")).toEqual([{ name: "webhook" }]);
    expect(await db.query("select id from alert_outbox")).toEqual([{ id: "webhook" }]);
    expect(await db.query("select count(*) as n from alert_notices")).toEqual([{ n: 1 }]);
    const deleted =
      "select id, subject_id as name, before -> 'config' as config from audit_entries where action = 'channel.deleted'";
    const [entry, ...more] = await db.query<{ id: string }>(deleted);
    expect(entry).toMatchObject({ name: "opsgenie", config: { kind: "opsgenie", apiKey: "env:PARKADE_SECRET_X" } });
    expect(more).toEqual([]);
    expect(uuidv7TimeMs(entry!.id)).toBeGreaterThan(Date.now() - 60_000);
    expect(await db.query("select entry_id as id from audit_pending")).toEqual([{ id: entry!.id }]);
  });

  test("keeps the blacklists that Parkade imposed: their ids, reasons, times and redrives, listed and lifted like the others", async () => {
    await storeOfFirstRelease();
    await db.run("insert into sources (id, name, kind, config) values (gen_random_uuid(), 'orders', 'http', '{}')");
    const [first, second] = [uuidv7(1), uuidv7(2)];
    for (const [id, type, aggregate] of [
      [first, "order", "42"],
      [second, "", "43"],
      [null, "order", "44"],
    ])
      await db.run(
        `insert into aggregates (source_id, aggregate_type, aggregate_id, consecutive_failures, blacklist_id, blacklisted_at,
                                 blacklist_reason, blacklist_redrive)
         select id, $1, $2, 3, $3::uuid, to_timestamp(1795000000), '3 redrives failed', $3::uuid from sources`,
        [type, aggregate, id],
      );
    await migrate(database.url);
    const ada = localViewer("ada");
    const page = { limit: 10, cursor: null };
    const { items } = await listControls(db, ada, { ...page, state: "live" });
    const imposed = { origin: "automatic", createdBy: "worker", createdAt: "2026-11-18T11:06:40.000Z", catches: 0 };
    expect(items).toMatchObject([
      { ...imposed, id: second, scope: { aggregateId: "43", source: "orders" }, reason: "3 redrives failed" },
      { ...imposed, id: first, scope: { aggregateId: "42", aggregateType: "order", source: "orders" } },
    ]);
    const deps = { db, clock: systemClock };
    expect(await liftControls(deps, { filter: { redrive: first }, reason: "fixed" }, ada)).toMatchObject({
      controls: 1,
    });
    expect((await listControls(db, ada, { ...page, state: "ended" })).items.map(({ id }) => id)).toEqual([first]);
  });

  test("has its audit sealed anew in one chain, and an entry says where its three chains ended and what was found", async () => {
    await storeOfFirstRelease();
    await db.run(
      `insert into audit_entries (id, at, actor, action, subject_kind)
       select uuidv7(), now(), 'ada', kind || '.changed', kind from unnest('{account,setting,event}'::text[]) kind`,
    );
    await db.run(
      "insert into audit_subjects select gen_random_uuid(), id from audit_entries where subject_kind = 'event'",
    );
    await db.run(
      "insert into audit_subjects select gen_random_uuid(), id, gen_random_uuid() from audit_entries where subject_kind = 'event'",
    );
    await db.run(
      `insert into audit_seals (scope, seq, kind, entry_id, ref, content_hash, text_hash, chain_hash, sealed_at)
       select s, 1, 'entry', e.id, e.id, 'c', 't', convert_to(s, 'UTF8'), now()
         from unnest('{access,configuration,messages}'::text[], '{account,setting,event}'::text[]) k (s, kind)
         join audit_entries e on e.subject_kind = k.kind`,
    );
    await db.run("insert into audit_anchors values (uuidv7(), 'file:///a', 'messages', 1, 'x', now())");
    await db.run(
      `insert into audit_verifications (id, extent, requested_by, requested_at, finished_at, good, result)
       values (uuidv7(), 'whole', 'worker', now(), now(), false, '{"first": {"code": "changed"}}')`,
    );
    await migrate(database.url);
    const hex = (text: string) => Buffer.from(text).toString("hex");
    expect(await db.query("select before from audit_entries where action = 'audit.sealed-anew'")).toEqual([
      {
        before: {
          chains: ["access", "configuration", "messages"].map((scope) => ({ scope, seq: 1, chainHash: hex(scope) })),
          finding: { code: "changed" },
        },
      },
    ]);
    const everything = { from: null, fromEntry: null };
    expect(await verifyChain(db, everything)).toMatchObject({ good: true, seals: 0 });
    // Three entries, that of the upgrade, and the events that were added to one.
    expect(await sealEntries(db)).toBe(5);
    expect(await verifyChain(db, everything)).toMatchObject({ good: true, seals: 5, entries: 4, head: { seq: 5 } });
    await db.run("update audit_entries set actor = 'eve' where subject_kind = 'event'");
    expect(await verifyChain(db, everything)).toMatchObject({ good: false, first: { code: "changed" } });
  });

  test("keeps the newest confirmed version of each aggregate, in its row", async () => {
    await storeOfFirstRelease();
    await ensurePartitions(db, Date.now());
    await db.run("insert into sources (id, name, kind, config) values (gen_random_uuid(), 'orders', 'http', '{}')");
    await db.run(
      `insert into dlq_events (id, source_id, event_id, aggregate_type, aggregate_id, version, error_code, fingerprint, attempts, first_seen,
                               status, confirmed_at)
       select uuidv7(), s.id, v.aggregate || v.version, nullif(v.type, ''), v.aggregate, v.version, 'E', 'f', 1, now(), v.status,
              case when v.confirmed then now() end
         from sources s, (values ('order', 'a', 7, 'REDRIVEN', true), ('order', 'a', 9, 'REDRIVEN', true), ('order', 'a', 10, 'REDRIVEN', false),
                                 ('order', 'a', 11, 'PENDING', false), ('', 'a', 3, 'REDRIVEN', true), ('order', 'b', 1, 'PENDING', false))
                as v (type, aggregate, version, status, confirmed)`,
    );
    await db.run(
      "insert into aggregates (source_id, aggregate_type, aggregate_id, consecutive_failures) select id, 'order', 'a', 2 from sources",
    );
    await migrate(database.url);
    expect(
      await db.query(
        `select a.aggregate_type as type, a.consecutive_failures as failures, a.confirmed_version as version, e.event_id as event
           from aggregates a left join dlq_events e on e.id = a.confirmed_event order by 1`,
      ),
    ).toEqual([
      { type: "", failures: 0, version: 3, event: "a3" },
      { type: "order", failures: 2, version: 9, event: "a9" },
    ]);
    expect(await lineFaults(db)).toEqual([]);
  });

  test("loses its legal holds, and accounts the right to place them alone", async () => {
    await storeOfFirstRelease();
    await db.run(
      `insert into legal_holds (id, scope, value, reason, created_by, created_at)
       values (gen_random_uuid(), 'errorCode', 'TIMEOUT', 'a claim', 'ada', now())`,
    );
    await db.run(
      `insert into accounts (id, kind, name, name_key, role, actions, created_by)
       values (gen_random_uuid(), 'person', 'Ada', 'ada', 'operator', '{hold,forget}', 'setup')`,
    );
    await migrate(database.url);
    expect(await db.query("select actions from accounts")).toEqual([{ actions: ["forget"] }]);
  });

  test("is refused while it has encrypted bodies, with how to decrypt them, and taken when they are decrypted", async () => {
    await storeOfFirstRelease();
    await ensurePartitions(db, Date.now());
    const id = uuidv7(Date.now());
    await db.run("insert into data_keys (id, master_key, wrapped) values ($1, '2026-a', '')", [id]);
    await db.run(
      `insert into event_bounces (id, bounce, at, sent, data_key, sealed) values ($1, 1, now(), 1, $1, '\\x01')`,
      [id],
    );
    await expect(migrate(database.url)).rejects.toThrow(
      /encrypted bodies.*PARKADE_ENCRYPTION_KEY_ID=none.*nothing of it/,
    );
    await db.run("update event_bounces set data_key = null, sealed = null");
    await migrate(database.url);
    expect(await db.query("select bounce from event_bounces")).toEqual([{ bounce: 1 }]);
  });
});
