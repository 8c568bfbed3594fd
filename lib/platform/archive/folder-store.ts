import { randomUUID } from "node:crypto";
import { link, mkdir, open, readdir, readFile, stat, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { assertKey, assertPrefix, WRITING } from "@/lib/platform/archive/archive-key.pure";
import type { ArchiveLocation } from "@/lib/platform/archive/archive-location.pure";
import type { ArchiveStore } from "@/lib/platform/archive/archive-store";
import { atMost, type Clock } from "@/lib/platform/clock";
import { DomainError } from "@/lib/platform/plain/problem.pure";

/** A disk takes milliseconds; a network file system whose server is away never answers. */
const CALL_MS_MAX = 20_000;

/** Payloads hold personal data: the users of the group may read them, others may not. */
const FILE_MODE = 0o640;
const FOLDER_MODE = 0o750;

/** Objects as files. The folder must exist: where its disk is not mounted, nothing is written below the mount point. */
export function folderStore({ path: root }: Extract<ArchiveLocation, { kind: "folder" }>, clock: Clock): ArchiveStore {
  const inTime = async <T>(work: Promise<T>): Promise<T> => {
    const done = await atMost(
      clock,
      CALL_MS_MAX,
      work.then(
        (value) => ({ value }),
        (error: unknown) => Promise.reject(folderFault(error, root)),
      ),
    );
    if (done !== null) return done.value;
    throw unavailable(`The archive folder ${root} does not answer within ${CALL_MS_MAX / 1000} s: check its disk`);
  };
  return {
    place: root,
    put: async (key, bytes) => {
      assertKey(key);
      await inTime(writeOnce(root, key, bytes));
    },
    get: async (key) => {
      assertKey(key);
      return inTime(
        readFile(join(root, key)).catch(async (error: NodeJS.ErrnoException) => {
          if (!isNothing(error)) throw error;
          await assertFolder(root);
          return null;
        }),
      );
    },
    list: async function* (prefix) {
      assertPrefix(prefix);
      await inTime(assertFolder(root));
      const above = prefix.slice(0, prefix.lastIndexOf("/") + 1);
      yield* walk(root, above, { prefix, inTime });
    },
    remove: async (key) => {
      assertKey(key);
      await inTime(removeFile(root, key));
    },
    close: async () => undefined,
  };
}

/** Links the object to bytes that are already durable: a link fails when the name is taken, where a rename would replace it. */
async function writeOnce(root: string, key: string, bytes: Uint8Array): Promise<void> {
  await assertFolder(root);
  const path = join(root, key);
  const folder = dirname(path);
  for (const made of foldersTo(root, folder).reverse()) await makeFolder(made);
  const writing = join(folder, `${WRITING}${randomUUID()}`);
  try {
    const file = await open(writing, "wx", FILE_MODE);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await link(writing, path);
    // All of the folders: another writer may have made one of them and not have come to this line.
    for (const made of [...foldersTo(root, folder), root]) await syncFolder(made);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    throw new DomainError("archive-refused", `${key} already exists in ${root}: an object is written once`);
  } finally {
    // It is left over when this fails, and is no object.
    await unlink(writing).catch(() => undefined);
  }
}

/** The folder and those above it, without the root; the root's own is the operator's. */
function foldersTo(root: string, folder: string): string[] {
  const folders: string[] = [];
  for (let path = folder; path.length > root.length; path = dirname(path)) folders.push(path);
  return folders;
}

/** `mkdir` of Node makes all of them at once, and says of a read-only disk that nothing is there. */
async function makeFolder(path: string): Promise<void> {
  await mkdir(path, { mode: FOLDER_MODE }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
}

async function removeFile(root: string, key: string): Promise<void> {
  const path = join(root, key);
  try {
    await unlink(path);
    await syncFolder(dirname(path));
  } catch (error) {
    if (!isNothing(error as NodeJS.ErrnoException)) throw error;
    await assertFolder(root);
  }
}

type Walk = { prefix: string; inTime<T>(work: Promise<T>): Promise<T> };

/** Objects below `above`, a folder's key with a slash at its end, or "" for all. */
async function* walk(root: string, above: string, walking: Walk): AsyncGenerator<{ key: string; bytes: number }> {
  for (const key of await walking.inTime(entriesOf(root, above))) {
    const [short, long] = key.length < walking.prefix.length ? [key, walking.prefix] : [walking.prefix, key];
    if (!long.startsWith(short)) continue;
    if (key.endsWith("/")) yield* walk(root, key, walking);
    else if (key.startsWith(walking.prefix)) {
      // Null: removed since the folder was read.
      const bytes = await walking.inTime(sizeOf(join(root, key)));
      if (bytes !== null) yield { key, bytes };
    }
  }
}

/** Keys of the files and folders of a folder, those of folders with a slash at their end, in the order of their bytes. */
async function entriesOf(root: string, above: string): Promise<string[]> {
  const entries = await readdir(join(root, above), { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (isNothing(error)) return [];
    throw error;
  });
  return entries
    .filter((entry) => (entry.isFile() || entry.isDirectory()) && !entry.name.startsWith(WRITING))
    .map((entry) => `${above}${entry.name}${entry.isDirectory() ? "/" : ""}`)
    .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

async function sizeOf(path: string): Promise<number | null> {
  return stat(path).then(
    ({ size }) => size,
    (error: NodeJS.ErrnoException) => {
      if (isNothing(error)) return null;
      throw error;
    },
  );
}

/** Windows keeps names without it, and opens no folder. */
async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function assertFolder(root: string): Promise<void> {
  const isFolder = await stat(root).then(
    (found) => found.isDirectory(),
    (error: NodeJS.ErrnoException) => {
      if (isNothing(error)) return false;
      throw error;
    },
  );
  if (isFolder) return;
  throw unavailable(
    `The archive folder ${root} does not exist: mount its disk, or create the folder, writable by web and worker, or correct PARKADE_ARCHIVE`,
  );
}

/** Nothing has this name: it is missing, a part of it is a file, or it is a folder. */
function isNothing({ code }: NodeJS.ErrnoException): boolean {
  return code === "ENOENT" || code === "ENOTDIR" || code === "EISDIR";
}

const FAULTS: Record<string, string> = {
  ENOSPC: "is full: free some space on its disk",
  EDQUOT: "is full: raise the quota of its user",
  EROFS: "is read-only: mount its disk for writing",
  EACCES: "may not be used by this user: give the user of web and worker the right to read and write it",
  EPERM: "may not be used by this user, or its file system has no hard links: use ext4, XFS or NFS, or S3",
  ENOTSUP: "is on a file system without hard links: use ext4, XFS or NFS, or S3",
  ENOSYS: "is on a file system without hard links: use ext4, XFS or NFS, or S3",
  EMLINK: "is on a file system without hard links: use ext4, XFS or NFS, or S3",
  ENOTDIR: "has a file where this object needs a folder: move that file away",
  EIO: "has a failing disk: check its log",
  ESTALE: "is on a network file system that lost it: mount it again",
};

function folderFault(error: unknown, root: string): DomainError {
  if (error instanceof DomainError) return error;
  const { code = "unknown fault" } = error as NodeJS.ErrnoException;
  return unavailable(`The archive folder ${root} ${FAULTS[code] ?? "cannot be used"} (${code})`, error);
}

function unavailable(text: string, internal?: unknown): DomainError {
  return new DomainError("archive-unavailable", text, { internal });
}
