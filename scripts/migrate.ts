import { createHash, randomUUID } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { connectPostgres } from "./servers.ts";
import { StartError } from "./start-error.ts";

const FOLDER = join(import.meta.dirname, "..", "prisma", "migrations");

/** The key that `prisma migrate deploy` locks with: the two runners exclude each other. */
const LOCK_KEY = 72707369;
/** Two machines that deploy at once: the second waits for the first, but not for ever. */
const LOCK_TIMEOUT_MS = 120_000;
/** A migration of a large store rewrites tables; one that takes longer than an hour ends without a change. */
const STATEMENT_MS_MAX = 3_600_000;
/** A migration that sets a lock_timeout is tried this often, with a pause in which others have the table. */
const LOCK_TRIES_MAX = 100;
const LOCK_PAUSE_MS = 500;
const LOCK_NOT_AVAILABLE = "55P03";
const LOCKED: readonly (string | undefined)[] = [LOCK_NOT_AVAILABLE, "40P01"];

/** Prisma's own bookkeeping, column for column, so that `prisma migrate deploy` and `status` keep working. */
const TABLE = `create table if not exists _prisma_migrations (
  id varchar(36) primary key not null,
  checksum varchar(64) not null,
  finished_at timestamptz,
  migration_name varchar(255) not null,
  logs text,
  rolled_back_at timestamptz,
  started_at timestamptz not null default now(),
  applied_steps_count integer not null default 0
)`;

type Migration = { name: string; sql: string; checksum: string };
type Applied = { migration_name: string; checksum: string; finished_at: Date | null };

/** `only`: no others than these. */
type Restoring = { only: ReadonlySet<string> | null };

/**
 * Brings the database to the state of prisma/migrations: each folder's migration.sql in order of its name, one
 * transaction each, under an advisory lock. Returns the names applied now. Throws StartError when the server cannot be
 * reached or is older than PostgreSQL 15, when an applied file was changed since, when a migration fails (which
 * leaves the database as it was before that migration), or when the database holds half of a backup, unless a restore asks.
 */
export async function migrate(
  databaseUrl: string,
  folder: string = FOLDER,
  restoring: Restoring | null = null,
): Promise<string[]> {
  const client = await connectPostgres(databaseUrl, STATEMENT_MS_MAX);
  try {
    await client.query(`set lock_timeout = ${LOCK_TIMEOUT_MS}`);
    await lock(client);
    await client.query("set lock_timeout = 0");
    await client.query("set client_min_messages = warning");
    // A restore has made the database read-only for all others.
    if (restoring !== null) await client.query("set default_transaction_read_only = off");
    else await assertNotRestoring(client);
    await client.query(TABLE);
    await stampBaseline(client, migrationsIn(folder));
    const pending = (await pendingOf(client, migrationsIn(folder))).filter(
      ({ name }) => restoring?.only?.has(name) ?? true,
    );
    for (const migration of pending) await applyWhenFree(client, migration);
    return pending.map((migration) => migration.name);
  } finally {
    // Ends the session and with it the lock.
    await client.end();
  }
}

/** The migrations of a folder in the order they apply. A folder without migration.sql is none. */
export function migrationsIn(folder: string): Migration[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(join(folder, entry.name, "migration.sql")))
    .map((entry) => entry.name)
    .sort()
    .map((name) => {
      const bytes = readFileSync(join(folder, name, "migration.sql"));
      return { name, sql: bytes.toString("utf8"), checksum: createHash("sha256").update(bytes).digest("hex") };
    });
}

/** The migrations of a backup in the names of this release. Throws StartError when a development version must migrate it first. */
export function migrationsOfBackup(migrations: readonly { name: string; sha256: string }[]) {
  const old = beforeBaseline(migrations, "The backup");
  if (old !== null) throw new StartError(old);
  if (!isAtBaseline(migrations)) return migrations;
  const { name, checksum } = migrationsIn(FOLDER).find((migration) => migration.name === BASELINE)!;
  return [{ name, sha256: checksum }];
}

async function lock(client: pg.Client): Promise<void> {
  try {
    await client.query("select pg_advisory_lock($1)", [LOCK_KEY]);
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || error.code !== LOCK_NOT_AVAILABLE) throw error;
    throw new StartError(
      `Another migration has held the database of DATABASE_URL for ${LOCK_TIMEOUT_MS / 1000} s: wait until it ends, then start again.`,
    );
  }
}

/** The marker of `lib/keep/backup/restore-target.write.ts`. */
async function assertNotRestoring(client: pg.Client): Promise<void> {
  const { rowCount } = await client.query("select from pg_tables where schemaname = 'parkade_restore'");
  if (rowCount === 0) return;
  throw new StartError(
    "The database of DATABASE_URL holds half of a backup, whose restore has not ended: run `parkade backup restore` with the same file again, which goes on with it.",
  );
}

async function readApplied(client: pg.Client): Promise<Applied[]> {
  const { rows } = await client.query<Applied>(
    "select migration_name, checksum, finished_at from _prisma_migrations where rolled_back_at is null order by migration_name",
  );
  return rows;
}

function namesOf(applied: Applied[]): { name: string; sha256: string }[] {
  return applied.map(({ migration_name: name, checksum: sha256 }) => ({ name, sha256 }));
}

/** A store at the last development migration has the schema of the baseline: only the record of its migrations changes. */
async function stampBaseline(client: pg.Client, migrations: Migration[]): Promise<void> {
  const baseline = migrations.find(({ name }) => name === BASELINE);
  const applied = await readApplied(client);
  if (!baseline || !isAtBaseline(namesOf(applied))) return;
  await client.query("begin");
  await client.query("delete from _prisma_migrations");
  await record(client, baseline);
  await client.query("commit");
}

async function pendingOf(client: pg.Client, migrations: Migration[]): Promise<Migration[]> {
  const rows = await readApplied(client);
  const old = beforeBaseline(namesOf(rows), "The database of DATABASE_URL");
  if (old !== null && migrations.some(({ name }) => name === BASELINE)) throw new StartError(old);
  const applied = new Map(rows.map((row) => [row.migration_name, row]));
  for (const row of rows) checkApplied(row, migrations);
  return migrations.filter((migration) => !applied.has(migration.name));
}

function checkApplied(row: Applied, migrations: Migration[]): void {
  const { migration_name: name, checksum, finished_at } = row;
  if (finished_at === null) {
    throw new StartError(
      `Migration ${name} was begun by another tool and never finished: settle it with \`prisma migrate resolve\`, then start again.`,
    );
  }
  const migration = migrations.find((candidate) => candidate.name === name);
  if (!migration) {
    throw new StartError(
      `The database of DATABASE_URL holds migration ${name}, which this release does not know: start the newer release that made it.`,
    );
  }
  if (migration.checksum !== checksum) {
    throw new StartError(
      `Migration ${name} was changed after it was applied to the database of DATABASE_URL: restore the file, and put the change into a new migration.`,
    );
  }
}

/** All statements wait behind one that waits for the whole table: a migration of a busy table gives up soon, and is tried again. */
async function applyWhenFree(client: pg.Client, migration: Migration): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await apply(client, migration);
    } catch (error) {
      const cause = error instanceof StartError ? error.cause : null;
      const locked = cause instanceof pg.DatabaseError && LOCKED.includes(cause.code);
      if (!locked || tries === LOCK_TRIES_MAX) throw error;
      await sleep(LOCK_PAUSE_MS);
    }
  }
}

async function apply(client: pg.Client, migration: Migration): Promise<void> {
  await client.query("begin");
  try {
    await client.query(migration.sql);
    await record(client, migration);
    await client.query("commit");
  } catch (error) {
    await client.query("rollback");
    if (!(error instanceof pg.DatabaseError)) throw error;
    const line = error.position ? migration.sql.slice(0, Number(error.position)).split("\n").length : null;
    throw new StartError(
      `Migration ${migration.name} failed${line ? ` at line ${line}` : ""} (${error.message}); nothing of it was kept.`,
      { cause: error },
    );
  }
}

async function record(client: pg.Client, { checksum, name }: Migration): Promise<void> {
  await client.query(
    `insert into _prisma_migrations (id, checksum, migration_name, started_at, finished_at, applied_steps_count)
     values ($1, $2, $3, transaction_timestamp(), clock_timestamp(), 1)`,
    [randomUUID(), checksum, name],
  );
}

/** The schema of the first release, in one migration. */
export const BASELINE = "20261208000000_baseline";

/** The last of the development migrations that the baseline replaces. */
const LAST_REPLACED = "20261207620001_uncounted_entries";
/** SHA-256 over `<name> <sha256>\n` of all 86 in order: a store or a backup that has exactly these has the baseline's schema. */
const REPLACED = "2b129f33c2b871731907a2fe65b3b8dd7abbbd1118071e62ccb6023923a0f6d7";

type Named = { name: string; sha256: string };

/** The store or the backup has what the baseline makes, under the names of the migrations that it replaces. */
export function isAtBaseline(migrations: readonly Named[]): boolean {
  const hash = createHash("sha256");
  for (const { name, sha256 } of migrations.toSorted((one, other) => (one.name < other.name ? -1 : 1)))
    hash.update(`${name} ${sha256}\n`);
  return hash.digest("hex") === REPLACED;
}

/** What to do with a store or a backup of a development version; null: it is none. `what` names it at the start of the sentence. */
export function beforeBaseline(migrations: readonly Named[], what: string): string | null {
  const old = migrations.filter(({ name }) => name < BASELINE);
  if (old.length === 0 || isAtBaseline(migrations)) return null;
  return `${what} is at migration ${old.at(-1)!.name} of a development version before 0.1.0: start the last development version (migration ${LAST_REPLACED}) on it once, then this one.`;
}
