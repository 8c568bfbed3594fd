import { createHash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { createZstdDecompress } from "node:zlib";
import { BackupFault } from "@/lib/keep/backup/backup-fault.pure";
import {
  type BackedUpTable,
  type BackupManifest,
  backupManifestSchema,
  FORMAT,
} from "@/lib/keep/backup/backup-manifest.shapes";
import { BLOCK_BYTES, paddingOf, readTarHeader } from "@/lib/keep/backup/tar-header";
import { MANIFEST, MANIFEST_SUM, sectionOf } from "@/lib/keep/backup/write-backup-file";

/** The manifest of a store with ten years of days has two megabytes. */
const MANIFEST_BYTES_MAX = 64 * 1024 * 1024;
const PIECE_BYTES = 256 * 1024;

export type OpenBackup = {
  manifest: BackupManifest;
  bytes: number;
  /** Reads all of it once, and holds each section against its SHA-256. Throws BackupFault that names the table. */
  verify(signal: AbortSignal): Promise<void>;
  /** The rows of a table, unpacked, as COPY takes them. Throws BackupFault when the section is damaged. */
  rows(table: BackedUpTable): AsyncGenerator<Buffer>;
  close(): Promise<void>;
};

type Place = { at: number; bytes: number };

/** Opens a backup and reads its manifest. Throws BackupFault when the file is none, is cut off, or is of a newer format. */
export async function openBackup(path: string): Promise<OpenBackup> {
  const file = await open(path, "r").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") throw new BackupFault(`There is no file ${path}`);
    throw new BackupFault(`${path} cannot be read (${error.message})`);
  });
  try {
    if (!(await file.stat()).isFile()) throw new BackupFault(`${path} is not a file: name the backup itself`);
    const bytes = (await file.stat()).size;
    const places = await placesIn(file, bytes, path);
    const manifest = await manifestOf(file, places, path);
    for (const table of manifest.tables) {
      if (places.get(sectionOf(table.name))?.bytes === table.packedBytes) continue;
      throw damaged(path, table.name, "its section is missing or has another length");
    }
    const stored = (table: BackedUpTable) =>
      storedBytes(file, { at: places.get(sectionOf(table.name))!.at, bytes: table.packedBytes });
    return {
      manifest,
      bytes,
      verify: async (signal) => {
        for (const table of manifest.tables) {
          const sum = createHash("sha256");
          for await (const piece of stored(table)) {
            signal.throwIfAborted();
            sum.update(piece);
          }
          if (sum.digest("hex") !== table.sha256) throw damaged(path, table.name, "its SHA-256 does not match");
        }
      },
      rows: (table) => unpacked(stored(table), table, path),
      close: () => file.close(),
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}

const AGAIN = "Copy the file again from where it was made, or take another backup";

function damaged(path: string, table: string, why: string): BackupFault {
  return new BackupFault(`${path} is damaged in the table ${table}: ${why}. ${AGAIN}`);
}

/** Where each entry lies. A file that ends early names the entry in which it does. */
async function placesIn(file: FileHandle, fileBytes: number, path: string): Promise<Map<string, Place>> {
  const places = new Map<string, Place>();
  for (let at = 0, last = ""; at + BLOCK_BYTES <= fileBytes; ) {
    const block = await readExactly(file, { at, bytes: BLOCK_BYTES });
    const entry = readTarHeader(block);
    if (entry === null) {
      if (block.every((byte) => byte === 0)) break;
      throw new BackupFault(
        last === "" ? `${path} is not a backup of Parkade` : `${path} is damaged after ${last}. ${AGAIN}`,
      );
    }
    if (at + BLOCK_BYTES + entry.bytes > fileBytes)
      throw new BackupFault(`${path} is cut off: it ends within ${entry.name}. ${AGAIN}`);
    places.set(entry.name, { at: at + BLOCK_BYTES, bytes: entry.bytes });
    last = entry.name;
    at += BLOCK_BYTES + entry.bytes + paddingOf(entry.bytes);
  }
  return places;
}

async function manifestOf(file: FileHandle, places: Map<string, Place>, path: string): Promise<BackupManifest> {
  const [place, sumPlace] = [places.get(MANIFEST), places.get(MANIFEST_SUM)];
  if (places.size === 0) throw new BackupFault(`${path} is not a backup of Parkade`);
  if (place === undefined || sumPlace === undefined || place.bytes > MANIFEST_BYTES_MAX)
    throw new BackupFault(`${path} is cut off after ${[...places.keys()].at(-1)}: it has no end. ${AGAIN}`);
  const text = await readExactly(file, place);
  const sum = (await readExactly(file, sumPlace)).toString("latin1");
  if (!sum.startsWith(createHash("sha256").update(text).digest("hex")))
    throw new BackupFault(`${path} is damaged in its ${MANIFEST}. ${AGAIN}`);
  const parsed: { format?: unknown; parkade?: unknown } = JSON.parse(text.toString("utf8"));
  if (parsed.format !== FORMAT)
    throw new BackupFault(
      `${path} was written by Parkade ${parsed.parkade} in format ${parsed.format}, and this release reads format ${FORMAT}: use that release`,
    );
  const manifest = backupManifestSchema.safeParse(parsed);
  if (manifest.success) return manifest.data;
  const [issue] = manifest.error.issues;
  throw new BackupFault(`${path} is not a backup of Parkade: ${issue!.path.join(".")} ${issue!.message}`);
}

async function* storedBytes(file: FileHandle, { at, bytes }: Place): AsyncGenerator<Buffer> {
  for (let done = 0; done < bytes; done += PIECE_BYTES)
    yield await readExactly(file, { at: at + done, bytes: Math.min(PIECE_BYTES, bytes - done) });
}

async function* unpacked(stored: AsyncIterable<Buffer>, table: BackedUpTable, path: string): AsyncGenerator<Buffer> {
  const sum = createHash("sha256");
  const summed = async function* () {
    for await (const piece of stored) {
      sum.update(piece);
      yield piece;
    }
  };
  const unpack = createZstdDecompress();
  const fed = pipeline(summed(), unpack);
  // Seen below, too, unless the reader has stopped before.
  fed.catch(() => undefined);
  try {
    yield* unpack;
    await fed;
  } catch (error) {
    throw damaged(path, table.name, (error as Error).message);
  }
  if (sum.digest("hex") !== table.sha256) throw damaged(path, table.name, "its SHA-256 does not match");
}

async function readExactly(file: FileHandle, { at, bytes }: Place): Promise<Buffer> {
  const buffer = Buffer.alloc(bytes);
  for (let done = 0; done < bytes; ) {
    const { bytesRead } = await file.read(buffer, done, bytes - done, at + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return buffer;
}
