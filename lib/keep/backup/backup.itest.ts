import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readEnv } from "@/lib/env";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { openBackup } from "@/lib/keep/backup/read-backup-file";
import { backUp, restore } from "@/lib/keep/backup/testing/backups";
import { createLaneQueue } from "@/lib/lane/queue";
import { parseArchiveLocation } from "@/lib/platform/archive/archive-location.pure";
import { openArchiveStore } from "@/lib/platform/archive/archive-store";
import { systemClock } from "@/lib/platform/clock";
import { createDb, type Db } from "@/lib/platform/database/db";
import { createLog } from "@/lib/platform/log";
import { resumeSends } from "@/lib/redrive/life/change-stop";
import { fillEmptyTables } from "@/lib/testing/filled-tables";
import { type TestDatabase, testDatabase } from "@/lib/testing/postgres";
import { program } from "@/lib/testing/programs";
import { worldOfEachTest } from "@/lib/testing/redrive-world";
import { auditGaps, contradictions, rollupDrift } from "@/lib/testing/rollup-drift";
import { intend } from "@/lib/testing/sends";
import { takeItems } from "@/lib/testing/slice-items";
import { prepareAppRole } from "@/scripts/app-role";
import { migrate } from "@/scripts/migrate";
import { startWorker } from "@/workers/worker";

const world = worldOfEachTest({ invariants: false });

let folder: string;
let target: TestDatabase;
let restored: Db;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "parkade-backup-"));
  target = await testDatabase({ empty: true });
  restored = createDb(target.url, { max: 2, applicationName: "test" });
});
afterEach(async () => {
  await restored.end();
  await target.drop({ force: true });
  rmSync(folder, { recursive: true, force: true });
});

const MIGRATIONS = "_prisma_migrations";

async function tableNames(db: Db): Promise<string[]> {
  const rows = await db.query<{ name: string }>(
    `select relname::text as name from pg_class
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition and relname <> '${MIGRATIONS}' order by 1`,
  );
  return rows.map(({ name }) => name);
}

/** All rows of all tables, as PostgreSQL writes them, with the day that each lies in. */
/** As a person leaves them after a restore, which disables them. */
const CHANNELS_ON = "update alert_channels set enabled = true, updated_by = 'ada', updated_at = '2026-11-01Z'";

async function contents(db: Db): Promise<Record<string, string[]>> {
  const all: Record<string, string[]> = {};
  for (const name of await tableNames(db)) {
    const rows = await db.query<{ row: string }>(
      `select t.tableoid::regclass || ' ' || t::text as row from ${name} t order by t::text collate "C"`,
    );
    all[name] = rows.map(({ row }) => row);
  }
  return all;
}

/** Everything that the migrations, and the days that were made since, have put into the schema. */
const schema = (db: Db) =>
  db.query(
    `select 'relation' as kind, c.relname::text as name, c.relkind::text || coalesce(c.reloptions::text, '') || coalesce(pg_get_expr(c.relpartbound, c.oid), '') as what
       from pg_class c where c.relnamespace = 'public'::regnamespace
      union all
     select 'column', c.relname || '.' || a.attname, format_type(a.atttypid, a.atttypmod) || a.attnotnull || a.attidentity::text || coalesce(pg_get_expr(d.adbin, d.adrelid), '')
       from pg_class c join pg_attribute a on a.attrelid = c.oid left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
      where c.relnamespace = 'public'::regnamespace and a.attnum > 0 and not a.attisdropped
      union all
     select 'index', c.relname, pg_get_indexdef(c.oid) from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('i', 'I')
      union all
     select 'constraint', conrelid::regclass || '.' || conname, pg_get_constraintdef(oid) from pg_constraint where connamespace = 'public'::regnamespace
      order by 1, 2, 3`,
  );

const broken = async (db: Db) => [...(await rollupDrift(db)), ...(await auditGaps(db)), ...(await contradictions(db))];
const isReadOnly = async () => {
  const fresh = createDb(target.url, { max: 1, applicationName: "test" });
  const [row] = await fresh.query<{ on: string }>("select current_setting('default_transaction_read_only') as on");
  await fresh.end();
  return row!.on === "on";
};

const REASON = /^Restored from the backup of .*: what was sent since then is parked again$/;

test("a backup of every table comes back byte for byte, into the same schema, with all sends stopped", async () => {
  await world.park(30, (index) => ({
    aggregateId: `order-${index % 4}`,
    payload: Buffer.from([index, 0, 10, 92, 9, 255, 78]),
  }));
  const first = await world.request({ select: { ids: (await world.idsOf()).slice(0, 9) } });
  await fillEmptyTables(world.db);
  await world.db.run("update api_tokens set revoked_at = null");
  await world.db.run(CHANNELS_ON);
  await world.db.run("insert into archive_leftovers (key, remove_at) values ('being-written', now())");
  const known = await contents(world.db);
  // A table that a migration adds is filled above, or this names it.
  for (const [name, rows] of Object.entries(known)) expect([name, rows.length]).not.toEqual([name, 0]);
  const { path, manifest } = await backUp(world.url, folder);
  expect(manifest.tables.reduce((sum, { rows }) => sum + rows, 0)).toBe(Object.values(known).flat().length);
  expect(statSync(path).mode & 0o777).toBe(0o600);

  const report = await restore(target.url, path);
  expect(report).toMatchObject({ skipped: [], migrated: [], work: { redrives: 1, rules: 1, tokensRevoked: 1 } });
  const silenced = (await restored.query("select 1 from alert_channels where enabled")).length;
  expect([silenced, await restored.query("select 1 from alert_notices")]).toEqual([0, []]);
  expect(await restored.query("select 1 from operation_tells")).toEqual([]);
  await restored.run(CHANNELS_ON);
  const {
    stops,
    audit_entries: audit,
    audit_pending: _____,
    alert_notices: _,
    operation_tells: ____,
    api_tokens: tokens,
    ...rest
  } = await contents(restored);
  const {
    stops: knownStops,
    audit_entries: knownAudit,
    audit_pending: ______,
    alert_notices: __,
    operation_tells: ___,
    api_tokens: knownTokens,
    ...knownRest
  } = known;
  // No token of the backup is valid in the restored store.
  expect(tokens).toHaveLength(knownTokens!.length);
  expect(await restored.query("select 1 from api_tokens where revoked_at is null")).toEqual([]);
  // Nobody is signed in by what a backup holds.
  for (const table of [
    "sessions",
    "known_browsers",
    "account_links",
    "oidc_flows",
    "device_sign_ins",
    "sign_in_tries",
  ]) {
    expect([table, rest[table]]).toEqual([table, []]);
    rest[table] = knownRest[table]!;
  }
  // What was being written then may have been named since: the restored store does not remove it from the archive.
  const isKept = (row: string) => !row.includes("being-written");
  expect(rest).toEqual({ ...knownRest, archive_leftovers: knownRest.archive_leftovers!.filter(isKept) });
  expect(stops!.filter((row) => !knownStops!.includes(row))).toHaveLength(1);
  expect(audit!.filter((row) => !knownAudit!.includes(row))).toHaveLength(1);
  expect(await restored.query("select reason, created_by as by from stops where lifted_at is null")).toEqual([
    { reason: expect.stringMatching(REASON), by: "maria" },
  ]);
  expect(await schema(restored)).toEqual(await schema(world.db));
  expect((await restored.query("select state from redrives where id = $1", [first.id]))[0]).toEqual({
    state: "RUNNING",
  });
  // What numbers rows goes on where it was.
  const next = "select nextval(pg_get_serial_sequence('outbox', 'seq'))";
  expect(await restored.query(next)).toEqual(await world.db.query(next));
  expect(await isReadOnly()).toBe(false);
  // A start finds nothing to do, and takes the database.
  expect(await migrate(target.url)).toEqual([]);
});

test("a file lists with tar, and its sections are what COPY and sha256sum take", async () => {
  await world.park(2);
  const { path, manifest } = await backUp(world.url, folder);
  const run = async (command: string) => {
    const child = spawn("sh", ["-c", command], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
    let out = "";
    child.stdout.on("data", (piece) => (out += piece));
    expect([command, ...(await once(child, "close"))]).toEqual([command, 0, null]);
    return out;
  };
  const listed = (await run(`tar tf ${path}`)).trim().split("\n");
  expect(listed).toEqual([
    ...manifest.tables.map(({ name }) => `tables/${name}.copy.zst`),
    "manifest.json",
    "manifest.json.sha256",
  ]);
  expect(await run(`tar xf ${path} && sha256sum --check manifest.json.sha256`)).toBe("manifest.json: OK\n");
  const { sha256 } = manifest.tables.find(({ name }) => name === "targets")!;
  expect(await run("sha256sum tables/targets.copy.zst")).toContain(sha256);
});

test("no superuser is needed: the role of web and worker takes a backup, and the owner of a database restores it", async () => {
  const suffix = randomBytes(8).toString("hex");
  const role = { name: `web_${suffix}`, password: "s3cret" };
  const as = (url: string, name: string) =>
    Object.assign(new URL(url), { username: name, password: role.password }).href;
  await world.park(3);
  await prepareAppRole(world.url, role);
  const { path } = await backUp(as(world.url, role.name), folder);
  const owner = `owner_${suffix}`;
  await restored.run(`create role ${owner} login password '${role.password}'`);
  const [{ name }] = (await restored.query<{ name: string }>("select current_database() as name")) as [
    { name: string },
  ];
  await restored.run(`alter database ${name} owner to ${owner}`);
  try {
    await restore(as(target.url, owner), path);
    const { stops: _stops, audit_entries: _audit, audit_pending: _due, ...rest } = await contents(restored);
    const { stops: _known, audit_entries: _entries, audit_pending: _waiting, ...known } = await contents(world.db);
    expect(rest).toEqual(known);
    expect(await isReadOnly()).toBe(false);
  } finally {
    await restored.run(`alter database ${name} owner to current_user`);
    for (const gone of [owner, role.name]) {
      await restored.run(`reassign owned by ${gone} to current_user`);
      await world.db.run(`reassign owned by ${gone} to current_user`);
      for (const db of [restored, world.db]) await db.run(`drop owned by ${gone}`);
      await restored.run(`drop role ${gone}`);
    }
  }
});

describe("while web and workers go on", () => {
  test("the backup shows one moment: every count, state and audit entry agrees in the restored store", async () => {
    await world.park(200, (index) => ({ eventId: `first-${index}`, aggregateId: `order-${index % 50}` }));
    await world.worker();
    const going = new AbortController();
    const parking = (async () => {
      for (let n = 0; !going.signal.aborted; n++)
        await world.park(20, (index) => ({ eventId: `later-${n}-${index}`, aggregateId: `order-${index}` }));
    })();
    await world.request();
    // The first section is written while the redrive sends, and so are all others.
    await expect.poll(() => world.sink.arrived.length).toBeGreaterThan(20);
    const sent = world.sink.arrived.length;
    const { path, manifest } = await backUp(world.url, folder);
    await expect.poll(() => world.sink.arrived.length).toBeGreaterThan(sent);
    going.abort();
    await parking;
    await restore(target.url, path);
    expect(await broken(restored)).toEqual([]);
    const [{ n }] = (await restored.query<{ n: number }>("select count(*) as n from dlq_events")) as [{ n: number }];
    const rows = manifest.tables.filter(({ name }) => /^dlq_events_\d+$/.test(name)).map((table) => table.rows);
    expect(rows.reduce((sum, count) => sum + count, 0)).toBe(n);
    expect(n).toBeGreaterThan(200);
  });

  test("a migration that commits as the backup begins is in it as a whole", async () => {
    await world.park(3);
    const migrating = Promise.withResolvers<void>();
    const waits = Promise.withResolvers<void>();
    const migration = world.db.transaction(async (tx) => {
      await tx.run("alter table targets add column note text default 'later'");
      migrating.resolve();
      await waits.promise;
      await tx.run(
        `insert into _prisma_migrations (id, checksum, migration_name, finished_at) values ('1', $1, '20991231235959_note', now())`,
        ["0".repeat(64)],
      );
    });
    await migrating.promise;
    const taking = backUp(world.url, folder);
    const locks =
      "select query from pg_stat_activity where wait_event_type = 'Lock' and application_name = 'parkade-backup'";
    await expect.poll(() => world.db.query(locks)).toHaveLength(1);
    waits.resolve();
    await migration;
    const { manifest, path } = await taking;
    expect(manifest.migrations.at(-1)).toEqual({ name: "20991231235959_note", sha256: "0".repeat(64) });
    expect(manifest.tables.find(({ name }) => name === "targets")!.columns).toContain("note");
    // A release that does not have the migration does not guess.
    await expect(restore(target.url, path)).rejects.toThrow(/20991231235959_note of Parkade 9.9.9.*newer/);
    expect(await tableNames(restored)).toEqual([]);
  });
});

describe("a restored store", () => {
  test("sends nothing by itself; after the stop is lifted a send that was under way is repeated under its key alone", async () => {
    await world.park(3, (index) => ({ aggregateId: `order-${index}` }));
    const { id: redriveId } = await world.request();
    const [item] = await takeItems(world.db, { redriveId, slices: [0, 99], limit: 1 });
    const [{ id: targetId }] = (await world.db.query<{ id: string }>(
      "select id from targets where name = 'orders'",
    )) as [{ id: string }];
    const key = `orders:${item!.eventId}`;
    const named = { target: "orders", targetId, idempotencyKey: key };
    const intent = { ...item!, attempt: 1, ...named, passes: false, whitelisted: false };
    expect((await intend(world.db, [intent])).size).toBe(1);
    const { path } = await backUp(world.url, folder);
    await restore(target.url, path);

    // The last gate of every send.
    expect(await intend(restored, [{ ...intent, attempt: 2 }])).toEqual(new Set());
    const env = readEnv({ DATABASE_URL: target.url, REDIS_URL: "", PARKADE_LOG_LEVEL: "silent" });
    const log = createLog({ level: "silent", process: "test" });
    const worker = await startWorker(env, log);
    const lane = createLaneQueue({ kind: "postgres", connectionString: target.url, max: 2 }, systemClock);
    try {
      // It has taken over what the worker of before had claimed.
      const attempts = "select state, idempotency_key as key from sends order by opened_at";
      expect(world.sink.arrived).toEqual([]);
      await resumeSends(
        { db: restored, lane, clock: systemClock, log, ...lowRate() },
        { target: null },
        localViewer("ada"),
      );
      await expect.poll(() => restored.query("select state from redrives")).toEqual([{ state: "DONE" }]);
      expect(await restored.query(attempts)).toEqual(
        expect.arrayContaining([
          { state: "ambiguous", key },
          { state: "delivered", key },
        ]),
      );
    } finally {
      await worker.stop("the test ends");
      await lane.close();
    }
    const sent = world.sink.arrived.map((arrival) => arrival.key).sort();
    expect(sent).toEqual(["orders:event-0000", "orders:event-0001", "orders:event-0002"]);
    // No send began while the stop was in force, though a worker ran.
    expect(
      await restored.query(
        `select count(*) as n from sends a, stops s
          where s.scope = 'everything' and a.opened_at > s.created_at and a.opened_at < s.lifted_at`,
      ),
    ).toEqual([{ n: 0 }]);
    expect(await broken(restored)).toEqual([]);
  });

  const lowRate = () => ({ lowRate: world.deps.lowRate });
});

/** Fault, what it does to a copy of the file, and what a person reads. */
const FAULTS: [string, (path: string) => void, RegExp][] = [
  ["a byte of a section", (path) => flip(path, sectionAt(path, "dlq_groups") + 20), /damaged in the table dlq_groups/],
  ["a byte of the manifest", (path) => flip(path, sectionAt(path, null) + 40), /damaged in its manifest/],
  ["a header", (path) => flip(path, sectionAt(path, "dlq_groups") - 300), /damaged after tables\/dlq_group_levels/],
  [
    "an end within a section",
    (path) => truncateSync(path, sectionAt(path, "dlq_groups") + 9),
    /cut off: it ends within tables\/dlq_groups/,
  ],
  [
    "an end between sections",
    (path) => truncateSync(path, sectionAt(path, "dlq_groups") - 512),
    /cut off after tables\/dlq_group_levels/,
  ],
  ["an end before the last entry", (path) => truncateSync(path, statSync(path).size - 2_048), /cut off/],
  ["another file", (path) => writeFileSync(path, "pg_dump"), /is not a backup of Parkade/],
  ["an empty file", (path) => truncateSync(path, 0), /is not a backup of Parkade/],
  ["no file", (path) => rmSync(path), /There is no file/],
];

/** Where the bytes of a table's section begin; null = those of the manifest. */
function sectionAt(path: string, table: string | null): number {
  const name = table === null ? "manifest.json\0" : `tables/${table}.copy.zst\0`;
  return readFileSync(path).indexOf(name, 0, "latin1") + 512;
}

function flip(path: string, at: number): void {
  const bytes = readFileSync(path);
  bytes[at]! ^= 1;
  writeFileSync(path, bytes);
}

describe("a restore refuses, and leaves the database as it was,", () => {
  test("a file that is not whole, and names the place", async () => {
    await world.park(5);
    const { path } = await backUp(world.url, folder);
    const copy = join(folder, "copy.tar");
    for (const [fault, damage, message] of FAULTS) {
      copyFileSync(path, copy);
      damage(copy);
      const refusal = await restore(target.url, copy).then(
        () => "restored",
        (error: Error) => error.message,
      );
      expect([fault, refusal]).toEqual([fault, expect.stringMatching(message)]);
    }
    expect(await tableNames(restored)).toEqual([]);
    expect(await isReadOnly()).toBe(false);
  });

  test("a database that holds anything", async () => {
    const { path } = await backUp(world.url, folder);
    await restored.run("create table notes (text text)");
    await expect(restore(target.url, path)).rejects.toThrow(
      /is not empty \(public\.notes\): .*never overwrites.*DATABASE_URL.*PARKADE_DATA_DIR/,
    );
    await expect(restore(world.url, path)).rejects.toThrow(/is not empty/);
    expect(await tableNames(restored)).toEqual(["notes"]);
    expect(await isReadOnly()).toBe(false);
  });

  test("a database to which Parkade is connected", async () => {
    const { path } = await backUp(world.url, folder);
    const web = createDb(target.url, { max: 1, applicationName: "parkade-web" });
    await web.query("select 1");
    await expect(restore(target.url, path)).rejects.toThrow(/connected to the database \(parkade-web\): stop web/);
    await web.end();
    expect(await tableNames(restored)).toEqual([]);
    expect(await isReadOnly()).toBe(false);
    await restore(target.url, path);
  });

  test("a second restore while one is under way", async () => {
    const { path } = await backUp(world.url, folder);
    let second: Promise<unknown> | null = null;
    await restore(target.url, path, {
      say: (line) => {
        if (!line.startsWith("sources:")) return;
        second ??= restore(target.url, path).catch((error: Error) => error.message);
      },
    });
    // The second one either found the first at work, or what it had restored.
    expect(await second).toMatch(/Another restore .* under way|is not empty/);
  });
});

async function killedAt(action: "backup" | "restore", url: string, path: string, diesAt: string): Promise<void> {
  const settings = JSON.stringify({ action, url, path, diesAt });
  const child = spawn(process.execPath, [program("doomed-backup"), settings], { stdio: "inherit" });
  expect([diesAt, ...(await once(child, "exit"))]).toEqual([diesAt, null, "SIGKILL"]);
}

describe("kill -9", () => {
  test("of a backup leaves nothing that looks like one, and does not keep the next one from being taken", async () => {
    await world.park(5);
    const killed = join(folder, "killed.tar");
    await killedAt("backup", world.url, killed, "dlq_groups:");
    expect(readdirSync(folder)).toEqual(["killed.tar.partial"]);
    await expect(openBackup(`${killed}.partial`)).rejects.toThrow(/cut off|damaged/);
    await expect(backUp(world.url, killed)).rejects.toThrow(/Remove it if no backup is running/);
    rmSync(`${killed}.partial`);
    const { path } = await backUp(world.url, folder);
    expect(readdirSync(folder).map((name) => join(folder, name))).toEqual([path]);
    // Its server-side end comes by itself: nothing of a killed backup holds the store.
    await expect
      .poll(() => world.db.query("select 1 from pg_stat_activity where application_name = 'parkade-backup'"))
      .toEqual([]);
  });

  test("of a restore leaves a database on which nothing starts, and in which the same file goes on", async () => {
    await world.park(20, (index) => ({ aggregateId: `order-${index % 3}` }));
    await world.request({ select: { ids: (await world.idsOf()).slice(0, 9) } });
    const known = await contents(world.db);
    const { path } = await backUp(world.url, folder);
    const other = await backUp(world.url, join(folder, "other.tar"));
    await killedAt("restore", target.url, path, "targets:");
    await expect(migrate(target.url)).rejects.toThrow(/half of a backup.*same file again/);
    await expect(restore(target.url, other.path)).rejects.toThrow(/half of another backup \(made at .*, id /);
    // A web or a worker that is started without a look at the migrations can change nothing.
    expect(await isReadOnly()).toBe(true);
    const said: string[] = [];
    await restore(target.url, path, { say: (line) => said.push(line) });
    expect(said).toContain("Continuing an unfinished restore of this backup");
    expect(said.filter((line) => line.startsWith("audit_entries:"))).toEqual([]);
    const { stops, audit_entries, audit_pending: _due, ...rest } = await contents(restored);
    const { stops: _, audit_entries: knownAudit, audit_pending: _waiting, ...knownRest } = known;
    expect(rest).toEqual(knownRest);
    expect([stops!.length, audit_entries!.length]).toEqual([1, knownAudit!.length + 1]);
    expect(await isReadOnly()).toBe(false);
    expect(await migrate(target.url)).toEqual([]);
    expect(await restored.query("select 1 from pg_namespace where nspname = 'parkade_restore'")).toEqual([]);
    expect(await broken(restored)).toEqual([]);
  });
});

test("a folder that is named with a slash is made, and the report has the size of the file", async () => {
  const made = await backUp(world.url, join(folder, "made/by-it/"));
  expect(made.path).toMatch(/\/made\/by-it\/parkade-[\d-]+Z\.tar$/);
  expect(made.bytes).toBe(statSync(made.path).size);
  expect(statSync(join(folder, "made")).mode & 0o777).toBe(0o700);
  await expect(backUp(world.url, `${made.path}/`)).rejects.toThrow(/cannot be created \(EEXIST.*choose another one/);
});

test("a backup that is stopped, or has no room, leaves no file and says why", async () => {
  await world.park(5);
  const stopping = new AbortController();
  const stop = (line: string) => line.startsWith("dlq_groups") && stopping.abort(new Error("Ctrl-C"));
  await expect(backUp(world.url, folder, { say: stop, signal: stopping.signal })).rejects.toThrow("Ctrl-C");
  await expect(backUp(world.url, join(folder, "missing/x.tar"))).rejects.toThrow(/missing does not exist: create it/);
  expect(readdirSync(folder)).toEqual([]);
  const { path } = await backUp(world.url, join(folder, "kept.tar"));
  const bytes = readFileSync(path);
  await expect(backUp(world.url, path)).rejects.toThrow(/kept\.tar already exists/);
  expect(readFileSync(path).equals(bytes)).toBe(true);
  await expect(backUp(target.url, folder)).rejects.toThrow(/no store of Parkade in this database/);
});

describe("the archive beside a restored store", () => {
  const named = (n: number) => `events/day=2026-11-25/source=orders/op-${n}.ndjson.zst`;

  test.each([
    ["not sealed", []],
    ["sealed", [Buffer.alloc(32, 7)]],
  ])(
    "is held against what the store names, %s: what is missing, has another length, or is not named",
    async (_, keys) => {
      const location = parseArchiveLocation(`file://${folder}`);
      const store = openArchiveStore(location, { clock: systemClock, encryptionKeys: keys });
      for (const n of [1, 2, 3, 4]) {
        await world.db.run(
          `with object as (
           insert into archive_objects (id, operation_id, source, key, events, bytes, sha256, removed_by, removed_at)
           values (gen_random_uuid(), gen_random_uuid(), 'orders', $1, 1, 5, 'x', 'ada', now()) returning id)
         insert into archived_events (id, object_id, source_id, source, event_id, error_code, status, payload_bytes)
         select gen_random_uuid(), id, gen_random_uuid(), 'orders', 'e', 'TIMEOUT', 'IGNORED', 1 from object where $2`,
          // Of the fourth all events have come back.
          [named(n), n < 4],
        );
      }
      const { path, manifest } = await backUp(world.url, folder);
      expect(manifest.archive).toEqual({ place: "/srv/archive", objects: 3, bytes: 15, newest: expect.any(String) });
      await store.put(named(1), Buffer.from("12345"));
      await store.put(named(2), Buffer.from("123"));
      await store.put(named(7), Buffer.from("12345"));
      await store.put(named(1).replace(".ndjson.zst", ".parquet"), Buffer.from("columns"));
      await store.put("events/day=2026-01-01/source=orders/other.ndjson.zst", Buffer.from("1"));
      const report = await restore(target.url, path, { archive: store });
      expect(report.archive).toEqual({ place: folder, named: 3, missing: 2, keys: [named(2), named(3)], unnamed: 2 });
    },
  );

  test("that does not answer does not undo the restore: the report says so", async () => {
    const { path } = await backUp(world.url, folder);
    const away = openArchiveStore(parseArchiveLocation(`file://${folder}/not-mounted`), { clock: systemClock });
    const { archive } = await restore(target.url, path, { archive: away });
    expect(archive).toEqual({ place: `${folder}/not-mounted`, fault: expect.stringContaining("not-mounted") });
    expect(existsSync(join(folder, "not-mounted"))).toBe(false);
    expect(await restored.query("select 1 from stops")).toHaveLength(1);
  });
});
