import { appendAudit } from "@/lib/guard/audit/audit.write";
import { endWaysIn } from "@/lib/guard/sessions/ended-ways-in.write";
import { insertStop } from "@/lib/guard/stops/stops.write";
import { keepUnfinished } from "@/lib/keep/archive/leftovers.write";
import { BackupFault } from "@/lib/keep/backup/backup-fault.pure";
import type { BackedUpTable, BackupManifest } from "@/lib/keep/backup/backup-manifest.shapes";
import { type ArchiveCheck, checkArchive } from "@/lib/keep/backup/check-archive";
import {
  analyzeTables,
  loadRows,
  makePartition,
  readTableNames,
  setSequence,
} from "@/lib/keep/backup/load-tables.write";
import { type OpenBackup, openBackup } from "@/lib/keep/backup/read-backup-file";
import {
  beginRestore,
  endOthers,
  endRestore,
  holdRestore,
  markLoaded,
  readLoaded,
  readOthers,
  writing,
} from "@/lib/keep/backup/restore-target.write";
import { RowTally, tallied } from "@/lib/keep/backup/row-tally";
import { silenceChannels } from "@/lib/keep/backup/silence-channels.write";
import { fixTexts, rowsOf } from "@/lib/keep/backup/store-layout.read";
import { STATEMENT_MS_MAX } from "@/lib/keep/backup/write-backup";
import type { ArchiveStore } from "@/lib/platform/archive/archive-store";
import type { Db, Queryable, Tx } from "@/lib/platform/database/db";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { sqlState } from "@/lib/platform/postgres-pool";
import { REDRIVE } from "@/lib/states/state.sql";

type MigrationName = { name: string; sha256: string };

type RestoreDeps = {
  /** With at least two connections, one of which is in use for all of the restore; named RESTORE_NAME. */
  db: Db;
  /** Those that this release has. */
  migrations: readonly MigrationName[];
  /** Those of a backup in the names of this release. Throws when an older version must migrate it first. */
  migrationsOf(migrations: readonly MigrationName[]): readonly MigrationName[];
  /** Applies these, or all; returns the names that it applied now. */
  migrate(names: ReadonlySet<string> | null): Promise<string[]>;
  /** null = none is configured. */
  archive: ArchiveStore | null;
  /** Who restores, for the audit. */
  actor: string;
  signal: AbortSignal;
  /** Receives lines on the progress. */
  say: (line: string) => void;
};

export type RestoreReport = {
  manifest: BackupManifest;
  rows: number;
  /** Tables of the backup that are none of Parkade's. */
  skipped: string[];
  /** Migrations that brought an older backup to this release. */
  migrated: string[];
  work: RestoredWork & { tokensRevoked: number };
  /** null = no archive is configured; else what it lacks, or why it cannot be asked. */
  archive: ArchiveCheck | { place: string; fault: string } | null;
};

/**
 * Puts a backup into an empty database, brings it to this release, and leaves all sends stopped. Each table is loaded, read back and
 * compared in a transaction of its own: a restore that was ended before its end goes on where it was when it is run
 * again. Nobody else can write meanwhile. Throws BackupFault and DomainError; until it resolves Parkade does not start on
 * the database.
 */
export async function restoreBackup(path: string, deps: RestoreDeps): Promise<RestoreReport> {
  const { db, say, signal } = deps;
  const backup = await openBackup(path);
  try {
    assertKnown(backup.manifest, deps);
    say(`Checking ${path}`);
    await backup.verify(signal);
    return await db.transaction(
      async (holder) => {
        await holdRestore(holder);
        return restoreHeld(backup, deps);
      },
      { statementTimeoutMs: STATEMENT_MS_MAX },
    );
  } finally {
    await backup.close();
  }
}

function assertKnown(manifest: BackupManifest, deps: RestoreDeps): void {
  const { parkade } = manifest;
  const known = new Map(deps.migrations.map(({ name, sha256 }) => [name, sha256]));
  const strange = deps.migrationsOf(manifest.migrations).find(({ name, sha256 }) => known.get(name) !== sha256);
  if (strange === undefined) return;
  throw new BackupFault(
    `The backup has the migration ${strange.name} of Parkade ${parkade}, which this release does not have: restore it with that release or a newer one`,
  );
}

async function restoreHeld(backup: OpenBackup, deps: RestoreDeps): Promise<RestoreReport> {
  const { db, say } = deps;
  const { manifest } = backup;
  const write = <T>(work: (tx: Tx) => Promise<T>) => writing(db, work, STATEMENT_MS_MAX);
  const isNew = await write((tx) => beginRestore(tx, manifest));
  // After the database has become read-only: whoever is connected now may still write, whoever comes later may not.
  const others = await readOthers(db);
  if (isNew && others.length > 0) {
    await write(endRestore);
    throw new BackupFault(`Parkade is connected to the database (${others.join(", ")}): stop web and workers first`);
  }
  if (!isNew) say("Continuing an unfinished restore of this backup");
  await deps.migrate(new Set(deps.migrationsOf(manifest.migrations).map(({ name }) => name)));
  const skipped = await load(backup, deps, write);
  const migrated = await deps.migrate(null);
  const work = await write(async (tx) => {
    for (const sequence of manifest.sequences) await setSequence(tx, sequence);
    const tokensRevoked = await disarm(tx, manifest, deps.actor);
    await endRestore(tx);
    return { ...(await readRestoredWork(tx)), tokensRevoked };
  });
  await endOthers(db);
  await write(analyzeTables);
  const rows = manifest.tables.reduce((sum, table) => sum + (skipped.includes(table.name) ? 0 : table.rows), 0);
  return { manifest, rows, skipped, migrated, work, archive: await archiveOf(deps) };
}

type Write = <T>(work: (tx: Tx) => Promise<T>) => Promise<T>;

/** Returns the tables that the migrations do not make. */
async function load(backup: OpenBackup, { db, say, signal }: RestoreDeps, write: Write): Promise<string[]> {
  const { tables, partitions } = backup.manifest;
  const made = await readTableNames(db);
  for (const partition of partitions) {
    signal.throwIfAborted();
    if (!made.has(partition.name)) await write((tx) => makePartition(tx, partition));
  }
  const known = await readTableNames(db);
  const loaded = await readLoaded(db);
  for (const table of tables) {
    signal.throwIfAborted();
    if (!known.has(table.name) || loaded.has(table.name)) continue;
    await write((tx) => loadTable(tx, backup, table, signal));
    if (table.rows > 0) say(`${table.name}: ${table.rows} ${table.rows === 1 ? "row" : "rows"}, as in the backup`);
  }
  return tables.map(({ name }) => name).filter((name) => !known.has(name));
}

async function loadTable(tx: Tx, backup: OpenBackup, table: BackedUpTable, signal: AbortSignal): Promise<void> {
  await fixTexts(tx);
  const read = new RowTally();
  try {
    await loadRows(tx, table, tallied(backup.rows(table), read, signal));
  } catch (error) {
    if (sqlState(error) === null) throw error;
    throw new BackupFault(`PostgreSQL does not accept the table ${table.name} (${(error as Error).message})`);
  }
  assertSame(table, read, "The file");
  const stored = new RowTally();
  for await (const piece of rowsOf(tx, table)) stored.add(piece);
  assertSame(table, stored, "PostgreSQL");
  await markLoaded(tx, table.name);
}

function assertSame(table: BackedUpTable, tally: RowTally, who: string): void {
  if (tally.rows === table.rows && tally.sum === table.sum) return;
  throw new BackupFault(
    `${who} returns different rows of the table ${table.name} than were backed up (${tally.rows} of ${table.rows}): take another backup`,
  );
}

/**
 * Leaves a loaded store, before anybody may connect to it, as one that sends nothing and lets nobody in by what was valid at the backup.
 * Returns the number of revoked tokens.
 */
export async function disarm(tx: Tx, backup: Pick<BackupManifest, "id" | "madeAt">, actor: string): Promise<number> {
  await keepUnfinished(tx);
  const tokensRevoked = await endWaysIn(tx, actor);
  await stopSends(tx, backup, { actor, tokensRevoked });
  return tokensRevoked;
}

/**
 * What was sent after the backup is parked or queued again in it. So nothing is sent before a person has looked, whatever redrive, rule
 * or date would do it: the stop holds them all. A stop that was in force when the backup was made stays as it is.
 */
async function stopSends(
  tx: Tx,
  { id, madeAt }: Pick<BackupManifest, "id" | "madeAt">,
  { actor, tokensRevoked }: { actor: string; tokensRevoked: number },
): Promise<void> {
  const [now] = await tx.query<{ ms: number }>("select now() as ms");
  const reason = `Restored from the backup of ${madeAt}: what was sent since then is parked again`;
  const entry = { actor, atMs: now!.ms, reason };
  const imposed = await insertStop(tx, { ...entry, targetId: null });
  const channelsOff = await silenceChannels(tx);
  await appendAudit(tx, {
    ...entry,
    action: "stop.imposed",
    before: imposed ? null : { stopped: true },
    after: { stopped: true, backup: id, tokensRevoked, ...(channelsOff.length === 0 ? {} : { channelsOff }) },
  });
}

async function archiveOf({ db, archive, say }: RestoreDeps): Promise<RestoreReport["archive"]> {
  if (archive === null) return null;
  say(`Looking for the archived events in ${archive.place}`);
  try {
    return await checkArchive(db, archive);
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return { place: archive.place, fault: error.message };
  }
}

/** What goes on when the stop of a restored store is lifted. */
type RestoredWork = { redrives: number; rules: number };

const GO_ON = [REDRIVE.PLANNING, REDRIVE.PLANNED, REDRIVE.RUNNING].join(", ");

/** Redrives that run or are about to, and redrive rules that are switched on. */
async function readRestoredWork(store: Queryable): Promise<RestoredWork> {
  const [row] = await store.query<RestoredWork>(
    `select (select count(*) from redrives r where r.mode = 'deliver' and r.state in (${GO_ON})) as redrives,
            (select count(*) from redrive_rules where enabled) as rules`,
  );
  return row!;
}
