import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { type FileHandle, mkdir, open, rename, stat, unlink } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { constants, createZstdCompress } from "node:zlib";
import { BackupFault } from "@/lib/keep/backup/backup-fault.pure";
import type { BackupManifest } from "@/lib/keep/backup/backup-manifest.shapes";
import { BLOCK_BYTES, paddingOf, tarHeader } from "@/lib/keep/backup/tar-header";
import { iso } from "@/lib/platform/plain/iso-time.pure";

export const MANIFEST = "manifest.json";
/** As `sha256sum --check` reads it. The last entry: a file without it is not whole. */
export const MANIFEST_SUM = "manifest.json.sha256";

export const sectionOf = (table: string) => `tables/${table}.copy.zst`;

/** A backup holds payloads and credentials: for its owner alone. */
const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;
/** Nobody takes it for a backup. */
const PARTIAL = ".partial";

type BackupFile = {
  /** Absolute. */
  readonly path: string;
  section(table: string, rows: AsyncIterable<Buffer>): Promise<{ packedBytes: number; sha256: string }>;
  /** Ends the file, makes it durable and gives it its name. Resolves with its bytes. */
  finish(manifest: BackupManifest): Promise<number>;
  /** Removes what was written. Without effect after `finish`. */
  abandon(): Promise<void>;
};

/**
 * Begins a file at `path`, or a file of that moment's name in the folder `path`, which is made when `path` ends in a slash. Until it is whole and on the disk it has
 * another name, so that a writer that is killed leaves nothing that looks like a backup. Throws BackupFault when the
 * name is taken or the folder cannot be written.
 */
export async function createBackupFile(path: string, atMs: number): Promise<BackupFile> {
  const whole = await fileAt(path, atMs);
  if (existsSync(whole)) throw new BackupFault(`${whole} already exists: choose another name, or remove it first`);
  const partial = whole + PARTIAL;
  const file = await open(partial, "wx", FILE_MODE).catch((error: NodeJS.ErrnoException) => {
    throw notWritten(error, partial);
  });
  let at = 0;
  const append = async (bytes: Uint8Array) => {
    await writeAll(file, bytes, at);
    at += bytes.length;
  };
  const entry = async (name: string, write: () => Promise<void>) => {
    const headerAt = at;
    at += BLOCK_BYTES;
    await write();
    const bytes = at - headerAt - BLOCK_BYTES;
    await append(Buffer.alloc(paddingOf(bytes)));
    await writeAll(file, tarHeader({ name, bytes }, atMs), headerAt);
    return bytes;
  };
  const named = async <T>(work: Promise<T>) => {
    try {
      return await work;
    } catch (error) {
      throw isFileFault(error) ? notWritten(error, partial) : error;
    }
  };
  const section = async (table: string, rows: AsyncIterable<Buffer>) => {
    const sum = createHash("sha256");
    const pack = createZstdCompress({ params: { [constants.ZSTD_c_checksumFlag]: 1 } });
    const packedBytes = await entry(sectionOf(table), () =>
      pipeline(rows, pack, async (packed: AsyncIterable<Buffer>) => {
        for await (const piece of packed) {
          sum.update(piece);
          await append(piece);
        }
      }),
    );
    return { packedBytes, sha256: sum.digest("hex") };
  };
  const finish = async (manifest: BackupManifest) => {
    const text = Buffer.from(`${JSON.stringify(manifest, null, 1)}\n`);
    const sum = `${createHash("sha256").update(text).digest("hex")}  ${MANIFEST}\n`;
    await entry(MANIFEST, () => append(text));
    await entry(MANIFEST_SUM, () => append(Buffer.from(sum)));
    await append(Buffer.alloc(2 * BLOCK_BYTES));
    await file.sync();
    await file.close();
    await rename(partial, whole);
    await syncFolder(dirname(whole));
    return at;
  };
  let finished = false;
  return {
    path: whole,
    section: (table, rows) => named(section(table, rows)),
    finish: async (manifest) => {
      const bytes = await named(finish(manifest));
      finished = true;
      return bytes;
    },
    abandon: async () => {
      if (finished) return;
      await file.close().catch(() => undefined);
      await unlink(partial).catch(() => undefined);
    },
  };
}

async function fileAt(path: string, atMs: number): Promise<string> {
  const saysFolder = /[/\\]$/.test(path);
  if (!saysFolder && !(await stat(path).catch(() => null))?.isDirectory()) return resolve(path);
  if (saysFolder) await makeFolder(resolve(path));
  const [day, time] = iso(atMs).slice(0, 19).replaceAll(":", "").split("T");
  return resolve(join(path, `parkade-${day}-${time}Z.tar`));
}

async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: FOLDER_MODE }).catch((error: Error) => {
    throw new BackupFault(`The folder ${folder} cannot be created (${error.message}): choose another one`);
  });
}

async function writeAll(file: FileHandle, bytes: Uint8Array, at: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, at + done);
    done += bytesWritten;
  }
}

/** The new name is durable when its folder is. */
async function syncFolder(folder: string): Promise<void> {
  // Windows opens no folder, and keeps names by itself.
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function isFileFault(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "syscall" in error && "errno" in error && !("address" in error);
}

function notWritten(error: NodeJS.ErrnoException, partial: string): BackupFault {
  const folder = dirname(partial);
  switch (error.code) {
    case "EEXIST":
      return new BackupFault(
        `${partial} exists: another backup is being written there, or one was interrupted. Remove it if no backup is running, or choose another name`,
      );
    case "ENOENT":
      return new BackupFault(`The folder ${folder} does not exist: create it, or choose another one`);
    case "ENOSPC":
    case "EDQUOT":
      return new BackupFault(`The disk of ${folder} is full: free some space, or write the backup elsewhere`);
    default:
      return new BackupFault(`${basename(partial)} cannot be written in ${folder} (${error.message})`);
  }
}
