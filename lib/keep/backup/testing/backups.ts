import { join } from "node:path";
import { type RestoreReport, restoreBackup } from "@/lib/keep/backup/restore-backup";
import { RESTORE_NAME } from "@/lib/keep/backup/restore-target.write";
import { type BackupReport, writeBackup } from "@/lib/keep/backup/write-backup";
import type { ArchiveStore } from "@/lib/platform/archive/archive-store";
import { createDb } from "@/lib/platform/database/db";
import { migrate, migrationsIn, migrationsOfBackup } from "@/scripts/migrate";

const FOLDER = join("prisma", "migrations");

export type Told = { say?: (line: string) => void; signal?: AbortSignal };

/** What `parkade backup` does with this database. */
export async function backUp(
  url: string,
  path: string,
  { say = () => undefined, signal }: Told = {},
): Promise<BackupReport> {
  const db = createDb(url, { max: 4, applicationName: "parkade-backup" });
  const options = {
    version: "9.9.9",
    archivePlace: "/srv/archive",
    signal: signal ?? new AbortController().signal,
    say,
  };
  return writeBackup(db, path, options).finally(() => db.end());
}

type Restoring = Told & { archive?: ArchiveStore | null; migrations?: { name: string; sha256: string }[] };

/** What `parkade backup restore` does with this database, as maria. */
export async function restore(url: string, path: string, options: Restoring = {}): Promise<RestoreReport> {
  const db = createDb(url, { max: 4, applicationName: RESTORE_NAME, idleInTransactionMs: 600_000 });
  const own = migrationsIn(FOLDER).map(({ name, checksum }) => ({ name, sha256: checksum }));
  return restoreBackup(path, {
    ...{ db, actor: "maria", archive: options.archive ?? null, migrations: options.migrations ?? own },
    migrationsOf: migrationsOfBackup,
    migrate: (only) => migrate(url, FOLDER, { only }),
    signal: options.signal ?? new AbortController().signal,
    say: options.say ?? (() => undefined),
  }).finally(() => db.end());
}
