import { existsSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { readEnv } from "@/lib/env";
import { actorFault, cleanActor, LOCAL_ACTOR } from "@/lib/guard/viewer/actor.pure";
import { BackupFault } from "@/lib/keep/backup/backup-fault.pure";
import { openBackup } from "@/lib/keep/backup/read-backup-file";
import { type RestoreReport, restoreBackup } from "@/lib/keep/backup/restore-backup";
import { RESTORE_NAME } from "@/lib/keep/backup/restore-target.write";
import { writeBackup } from "@/lib/keep/backup/write-backup";
import { type ArchiveStore, openArchiveStore } from "@/lib/platform/archive/archive-store";
import { systemClock } from "@/lib/platform/clock";
import { createDb, type Db } from "@/lib/platform/database/db";
import { EnvError } from "@/lib/platform/env-error";
import { formatBytes, formatNumber, plural } from "@/lib/platform/plain/format.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { version } from "../package.json";
import { rememberedUrl, startPostgres } from "./embedded-postgres.ts";
import { migrate, migrationsIn, migrationsOfBackup } from "./migrate.ts";
import { connectPostgres } from "./servers.ts";
import { parseStartEnv } from "./start-env.ts";
import { runCommand, StartError } from "./start-error.ts";

export type BackupCommand = {
  /** The word after `parkade backup`; null = a backup is taken. */
  action: "check" | "restore" | null;
  /** The file; of a backup that is taken also a folder, which is made when it ends in a slash. */
  path: string;
  /** Instead of PARKADE_DATA_DIR. */
  dataDir?: string | undefined;
  /** In place of PARKADE_ACTOR. */
  actor?: string | undefined;
  json?: boolean;
};

/** The connection that holds a restore waits for all of it. */
const IDLE_MS_MAX = 86_400_000;

/** `parkade backup`, `parkade backup check` and `parkade backup restore`. Sets the exit code. */
export async function backup(command: BackupCommand): Promise<void> {
  const stopped = new AbortController();
  const stop = () => stopped.abort(new StartError("Stopped"));
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(name, stop);
  await runCommand(() => asStartErrors(() => run(command, stopped.signal)));
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.off(name, stop);
}

async function run({ action, path, json = false, ...command }: BackupCommand, signal: AbortSignal): Promise<void> {
  const say = (line: string) => void process.stderr.write(`${line}\n`);
  const answer = (value: object, text: string) =>
    void process.stdout.write(json ? `${JSON.stringify(value)}\n` : `${text}\n`);
  if (action === "check") {
    const file = await openBackup(path);
    try {
      await file.verify(signal);
      answer({ bytes: file.bytes, ...file.manifest }, `${path} is whole. ${contentText(file.manifest)}`);
    } finally {
      await file.close();
    }
    return;
  }
  const place = placeOf(command.dataDir);
  const { url, close } = await openDatabase(place, action === "restore");
  const archive = await openArchive(place);
  try {
    if (action === null) {
      const db = database(url, "parkade-backup");
      const options = { version, archivePlace: archive?.place ?? null, signal, say };
      const { manifest, ...file } = await writeBackup(db, path, options).finally(() => db.end());
      answer(
        { ...file, ...manifest },
        `Wrote the file ${file.path} (${formatBytes(file.bytes)}). ${contentText(manifest)}`,
      );
      return;
    }
    const db = database(url, RESTORE_NAME);
    const report = await restoreBackup(path, {
      ...{ db, archive, signal, say, actor: actorOf(command.actor) },
      migrations: migrationsIn(FOLDER).map(({ name, checksum }) => ({ name, sha256: checksum })),
      migrationsOf: migrationsOfBackup,
      migrate: (only) => migrate(url, FOLDER, { only }),
    }).finally(() => db.end());
    const { manifest, ...rest } = report;
    answer({ id: manifest.id, madeAt: manifest.madeAt, ...rest }, restoreText(report));
  } finally {
    await archive?.close();
    await close();
  }
}

const FOLDER = join(import.meta.dirname, "..", "prisma", "migrations");

const database = (url: string, applicationName: string): Db =>
  createDb(url, { max: 4, applicationName, idleInTransactionMs: IDLE_MS_MAX });

type Place = ReturnType<typeof parseStartEnv>;

function placeOf(dataDir: string | undefined): Place {
  const env = { ...process.env, ...(dataDir === undefined ? {} : { PARKADE_DATA_DIR: dataDir }) };
  return parseStartEnv(env, process.cwd());
}

/**
 * The database as its owner. The embedded server may run, for a Parkade that is at work; else it runs until `close`. `make`: also where
 * there is none yet.
 */
async function openDatabase(place: Place, make: boolean): Promise<{ url: string; close: () => Promise<void> }> {
  const given = place.ownerDatabaseUrl ?? place.databaseUrl;
  if (given !== null) {
    await (await connectPostgres(given)).end();
    return { url: given, close: async () => undefined };
  }
  const remembered = rememberedUrl(place.dataDir);
  if (remembered === null && !make)
    throw new StartError(
      `There is no store in ${place.dataDir}: set PARKADE_DATA_DIR to the folder of its data, or DATABASE_URL to its PostgreSQL.`,
    );
  if (remembered !== null && (await answers(remembered))) return { url: remembered, close: async () => undefined };
  const server = await startPostgres({ dataDir: place.dataDir });
  return { url: server.url, close: () => server.stop() };
}

async function answers(url: string): Promise<boolean> {
  try {
    await (await connectPostgres(url)).end();
    return true;
  } catch (error) {
    if (error instanceof StartError) return false;
    throw error;
  }
}

/** As web and worker open it. The folder of the embedded store's archive is made by its first start. */
async function openArchive({ archiveDir }: Place): Promise<ArchiveStore | null> {
  const folder = archiveDir !== null && existsSync(archiveDir) ? pathToFileURL(archiveDir).href : undefined;
  const PARKADE_ARCHIVE = process.env.PARKADE_ARCHIVE || folder;
  // Read for the archive alone: the address of the store is known by now.
  const env = readEnv({ ...process.env, DATABASE_URL: "postgres://localhost/", PARKADE_ARCHIVE });
  return (
    env.archive &&
    openArchiveStore(env.archive, {
      clock: systemClock,
      keys: env.archiveKeys,
      encryptionKeys: env.archiveEncryptionKeys,
    })
  );
}

/** A name that was given must be right; that of the operating system's user is left out when Parkade does not take it. */
function actorOf(option: string | undefined): string {
  const given = option ?? (process.env.PARKADE_ACTOR || null);
  const name = cleanActor(given ?? userName());
  const fault = actorFault(name);
  if (fault === null) return name;
  if (given !== null) throw new StartError(`The name in --actor or PARKADE_ACTOR ${fault}.`);
  return LOCAL_ACTOR;
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A user id without an entry, as in some containers.
    return LOCAL_ACTOR;
  }
}

/** What a person can mend is one line. */
async function asStartErrors(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const known = error instanceof BackupFault || error instanceof DomainError || error instanceof EnvError;
    throw known ? new StartError(`${error.message.replace(/\.$/, "")}.`, { cause: error }) : error;
  }
}

type Manifest = RestoreReport["manifest"];

function contentText({ tables, madeAt, migrations, archive }: Manifest): string {
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  const named =
    archive.objects === 0
      ? "It names no object of an archive."
      : `It names ${plural(archive.objects, "object")} of the archive ${archive.place ?? "(none was configured)"}, which is not part of it.`;
  return `It holds the store as it was at ${madeAt}: ${plural(rows, "row")} of ${plural(tables.length, "table")}, migrated to ${migrations.at(-1)!.name}. ${named}`;
}

function restoreText({ manifest, rows, skipped, migrated, work, archive }: RestoreReport): string {
  const lines = [
    `Restored ${plural(rows, "row")} of ${plural(manifest.tables.length - skipped.length, "table")} as they were at ${manifest.madeAt}; each table was read back and compared.`,
    skipped.length > 0 && `Left out, for they are none of Parkade's: ${skipped.join(", ")}.`,
    migrated.length > 0 && `Migrated to this release: ${plural(migrated.length, "migration")}.`,
    archiveText(archive, manifest),
    `All sends are stopped: what was sent after the backup is parked again. ${plural(work.redrives, "redrive")} and ${plural(work.rules, "redrive rule")} go on as soon as you lift the stop (parkade go). Read docs/runbooks/store-lost.md first.`,
    work.tokensRevoked > 0 &&
      `${plural(work.tokensRevoked, "API token")} of the backup ${work.tokensRevoked === 1 ? "is" : "are"} revoked: programs that send events or call the API need new ones.`,
  ];
  return lines.filter((line) => line !== false).join("\n");
}

function archiveText(archive: RestoreReport["archive"], manifest: Manifest): string {
  if (archive === null)
    return manifest.archive.objects === 0
      ? "No archive is configured, and the store names none of its objects."
      : `No archive is configured, and the store names ${plural(manifest.archive.objects, "object")} of one (${manifest.archive.place ?? "place unknown"}): set PARKADE_ARCHIVE.`;
  if ("fault" in archive) return `The archive could not be looked at: ${archive.fault}`;
  const extra = archive.unnamed === 0 ? "" : ` ${plural(archive.unnamed, "further object")} there are harmless.`;
  if (archive.missing === 0)
    return `The archive ${archive.place} has all ${plural(archive.named, "object")} that the store names.${extra}`;
  const rest = archive.missing - archive.keys.length;
  const keys = [...archive.keys, ...(rest > 0 ? [`and ${formatNumber(rest)} more`] : [])];
  return `The archive ${archive.place} lacks ${formatNumber(archive.missing)} of ${plural(archive.named, "object")}, or has them in another length; bring them back from its own backup:\n  ${keys.join("\n  ")}${extra}`;
}
