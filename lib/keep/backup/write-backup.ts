import { randomUUID } from "node:crypto";
import { BackupFault } from "@/lib/keep/backup/backup-fault.pure";
import { type BackedUpTable, type BackupManifest, FORMAT } from "@/lib/keep/backup/backup-manifest.shapes";
import { readArchivePosition } from "@/lib/keep/backup/named-objects.read";
import { RowTally, tallied } from "@/lib/keep/backup/row-tally";
import {
  fixTexts,
  MIGRATIONS_TABLE,
  readAppliedMigrations,
  readStoreLayout,
  rowsOf,
  type StoreLayout,
} from "@/lib/keep/backup/store-layout.read";
import { createBackupFile } from "@/lib/keep/backup/write-backup-file";
import type { Db, Tx } from "@/lib/platform/database/db";
import { iso } from "@/lib/platform/plain/iso-time.pure";
import { sqlState } from "@/lib/platform/postgres-pool";

/** A table of a terabyte takes hours. */
export const STATEMENT_MS_MAX = 86_400_000;

const LEFT_OUT = [
  { what: "schema bullmq, or Redis", why: "the queue: the worker makes it again from the redrives" },
  { what: `table ${MIGRATIONS_TABLE}`, why: "the migrations are listed here, and a restore runs them" },
  { what: "objects of the archive", why: "back up the folder or the bucket as such" },
  { what: "values of env: references, PARKADE_SECRET_*, postgres.json", why: "secrets stay outside of the store" },
];

const UNDEFINED_TABLE = "42P01";
/** A migration or a removed day that meets the begin of a backup is over at its second look. */
const TRIES_MAX = 3;

type BackupOptions = {
  version: string;
  /** Where the archive lies, without a secret; null = none is configured. */
  archivePlace: string | null;
  signal: AbortSignal;
  /** Receives lines on the progress. */
  say: (line: string) => void;
};

/** `bytes`: of the file. */
export type BackupReport = { path: string; bytes: number; manifest: BackupManifest };

/**
 * Writes all of the store, as it is at one moment, into a file at `path`, or into one in the folder `path`, see `createBackupFile`. Web and workers go on
 * meanwhile; migrations wait. Memory does not grow with the store. Throws BackupFault, and DomainError when the store
 * cannot be read; then no file is left.
 */
export async function writeBackup(db: Db, path: string, options: BackupOptions): Promise<BackupReport> {
  for (let tries = 1; ; tries++) {
    try {
      return await db.transaction((tx) => writeSnapshot(db, tx, path, options), {
        snapshot: true,
        readOnly: true,
        statementTimeoutMs: STATEMENT_MS_MAX,
      });
    } catch (error) {
      const moved = error instanceof LayoutMoved || sqlState(error) === UNDEFINED_TABLE;
      if (!moved) throw error;
      if (tries === TRIES_MAX)
        throw new BackupFault("The store is being migrated: take the backup when that has finished");
    }
  }
}

/** A migration has committed between the first look at the store and the locks that keep it as it is. */
class LayoutMoved extends Error {}

async function writeSnapshot(db: Db, tx: Tx, path: string, options: BackupOptions): Promise<BackupReport> {
  const { version, archivePlace, signal, say } = options;
  await fixTexts(tx);
  const [now] = await tx.query<{ ms: number; postgres: string }>(
    "select now() as ms, current_setting('server_version') as postgres",
  );
  const layout = await readStoreLayout(tx);
  if (layout.tables.length === 0 || layout.migrations.length === 0)
    throw new BackupFault(
      "There is no store of Parkade in this database: correct DATABASE_URL, or PARKADE_DATA_DIR for an embedded one",
    );
  await keepLayout(db, tx, layout);
  const archive = layout.tables.some(({ name }) => name === "archived_events")
    ? await readArchivePosition(tx)
    : { objects: 0, bytes: 0, newest: null };
  const file = await createBackupFile(path, now!.ms);
  try {
    const tables: BackedUpTable[] = [];
    for (const table of layout.tables) {
      const tally = new RowTally();
      const packed = await file.section(table.name, tallied(rowsOf(tx, table), tally, signal));
      const { rows, sum, bytes } = tally;
      tables.push({ ...table, rows, sum, bytes, ...packed });
      if (rows > 0) say(`${table.name}: ${rows} ${rows === 1 ? "row" : "rows"}`);
    }
    const manifest: BackupManifest = {
      ...{ format: FORMAT, id: randomUUID(), parkade: version, madeAt: iso(now!.ms), postgres: now!.postgres },
      ...layout,
      tables,
      leftOut: LEFT_OUT,
      archive: { place: archivePlace, ...archive },
    };
    return { path: file.path, bytes: await file.finish(manifest), manifest };
  } finally {
    await file.abandon();
  }
}

/**
 * Locks every table as a reader does: a migration that changes one waits for the end of the backup. One that committed before the locks,
 * and after the first look, has rewritten tables of which this snapshot sees nothing.
 */
async function keepLayout(db: Db, tx: Tx, layout: StoreLayout): Promise<void> {
  await tx.run(`lock table ${layout.tables.map(({ name }) => `public.${name}`).join(", ")} in access share mode`);
  const now = await readAppliedMigrations(db);
  if (JSON.stringify(now) !== JSON.stringify(layout.migrations)) throw new LayoutMoved();
}
