import { BackupFault } from "@/lib/keep/backup/backup-fault.pure";
import type { BackupManifest } from "@/lib/keep/backup/backup-manifest.shapes";
import type { Db, Tx } from "@/lib/platform/database/db";

/** The marker of a restore that has begun and not ended; `scripts/migrate.ts` refuses a database that holds it. */
const SCHEMA = "parkade_restore";
export const RESTORE_NAME = "parkade-restore";

/** The marker is looked for and made by one restore at a time. The number is arbitrary. */
const RESTORE_LOCK = 7_305_102;

/** Makes the one restore of this database; its lock lasts as long as the transaction. Throws BackupFault. */
export async function holdRestore(tx: Tx): Promise<void> {
  const [row] = await tx.query<{ held: boolean }>("select pg_try_advisory_xact_lock($1) as held", [RESTORE_LOCK]);
  if (!row!.held) throw new BackupFault("Another restore into this database is under way: wait until it has ended");
}

/** A transaction that may write: the database is read-only for all other sessions until the restore ends. */
export function writing<T>(db: Db, work: (tx: Tx) => Promise<T>, statementTimeoutMs: number): Promise<T> {
  return db.transaction(
    async (tx) => {
      await tx.run("set transaction read write");
      return work(tx);
    },
    { statementTimeoutMs },
  );
}

/**
 * Marks an empty database as one that is being restored. false = it was marked before: this restore goes on with what an earlier one has
 * left. Throws BackupFault for a database that holds something, or half of another backup.
 */
export async function beginRestore(tx: Tx, { id, madeAt }: BackupManifest): Promise<boolean> {
  const [known] = await tx.query<{ marked: boolean }>(`select to_regclass('${SCHEMA}.backup') is not null as marked`);
  if (known!.marked) {
    const [begun] = await tx.query<{ id: string; madeAt: string }>(
      `select id, made_at as "madeAt" from ${SCHEMA}.backup`,
    );
    if (begun!.id === id) return false;
    throw new BackupFault(
      `The database holds half of another backup (made at ${begun!.madeAt}, id ${begun!.id}): restore that file again to continue, or drop and create the database`,
    );
  }
  const found = await objectsIn(tx);
  if (found.length > 0)
    throw new BackupFault(
      `The database is not empty (${found.join(", ")}): a restore never overwrites. Create an empty database and name it in DATABASE_URL, or set PARKADE_DATA_DIR to a new folder`,
    );
  await tx.run(`create schema ${SCHEMA}`);
  await tx.run(`create table ${SCHEMA}.backup (id text not null, made_at text not null)`);
  await tx.run(`create table ${SCHEMA}.loaded (name text primary key)`);
  await tx.run(`insert into ${SCHEMA}.backup values ($1, $2)`, [id, madeAt]);
  await setReadOnly(tx, true);
  return true;
}

/** Takes the marker away: of a restore that has changed nothing, or in the transaction that opens the restored store. */
export async function endRestore(tx: Tx): Promise<void> {
  await tx.run(`drop schema ${SCHEMA} cascade`);
  await setReadOnly(tx, false);
}

async function setReadOnly(tx: Tx, on: boolean): Promise<void> {
  const [row] = await tx.query<{ name: string }>("select quote_ident(current_database()) as name");
  await tx.run(
    on
      ? `alter database ${row!.name} set default_transaction_read_only = on`
      : `alter database ${row!.name} reset default_transaction_read_only`,
  );
}

/** Some of what the database holds, as a person names it. */
async function objectsIn(tx: Tx): Promise<string[]> {
  const rows = await tx.query<{ name: string }>(
    `select n.nspname || '.' || c.relname as name
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname in ('public', 'bullmq') and c.relkind in ('r', 'p', 'v', 'm', 'S', 'f')
        and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
      order by n.nspname <> 'public', c.relispartition, 1 limit 3`,
  );
  return rows.map(({ name }) => name);
}

/** Processes of Parkade that are connected to the database, besides this one. */
export async function readOthers(db: Db): Promise<string[]> {
  const rows = await db.query<{ name: string }>(
    `select distinct application_name as name from pg_stat_activity
      where datname = current_database() and backend_type = 'client backend'
        and application_name like 'parkade%' and application_name <> '${RESTORE_NAME}' order by 1`,
  );
  return rows.map(({ name }) => name);
}

/** Ends the sessions that were begun while the database was read-only, and would stay so. They are begun again by their pools. */
export async function endOthers(db: Db): Promise<void> {
  await db.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and backend_type = 'client backend' and pg_has_role(usesysid, 'USAGE')
        and application_name like 'parkade%' and application_name <> '${RESTORE_NAME}'`,
  );
}

export async function readLoaded(db: Db): Promise<Set<string>> {
  const rows = await db.query<{ name: string }>(`select name from ${SCHEMA}.loaded`);
  return new Set(rows.map(({ name }) => name));
}

/** In the transaction that loads the table. */
export async function markLoaded(tx: Tx, table: string): Promise<void> {
  await tx.run(`insert into ${SCHEMA}.loaded values ($1)`, [table]);
}
