import { randomBytes } from "node:crypto";
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { asFullDisk, errorText, StartError } from "./start-error.ts";

const LOG_BYTES_MAX = 10 * 2 ** 20;

/**
 * Facts about the embedded server that the next start needs. Their file has mode 0600: it holds the passwords of the
 * superuser and of the role of web and worker.
 */
export type ServerFacts = { clusterDir: string; port: number; password: string; appPassword: string };

/** Makes the folder and what the server writes beside its cluster. Throws StartError when it cannot be written. */
export function prepareFolder(dataDir: string): void {
  makeDataFolder(dataDir);
  try {
    // Fragments of values reach the server's log when it refuses a statement.
    mkdirSync(join(dataDir, "logs"), { recursive: true, mode: 0o700 });
    chmodSync(join(dataDir, "logs"), 0o700);
    const probe = join(dataDir, `.write-test-${process.pid}`);
    writeFileSync(probe, "");
    rmSync(probe);
  } catch (error) {
    throw notWritable(error, dataDir);
  }
}

/**
 * Only its owner may enter a new folder. Under root the server runs as another user, who may enter it and not list it. An
 * existing folder keeps its mode. Throws StartError when the folder cannot be made or written.
 */
export function makeDataFolder(dataDir: string): void {
  try {
    if (!existsSync(dataDir)) {
      makeFolder(dataDir);
      chmodSync(dataDir, process.getuid?.() === 0 ? 0o711 : 0o700);
    }
    accessSync(dataDir, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw notWritable(error, dataDir);
  }
}

/**
 * Makes the folder of the archive, which web and worker never make themselves. Returns its URL, as PARKADE_ARCHIVE has it.
 * Throws StartError when it cannot be made or written.
 */
export function makeArchiveFolder(path: string): string {
  try {
    // It holds payloads: for its owner alone.
    if (!existsSync(path)) mkdirSync(path, { mode: 0o700 });
    accessSync(path, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw notWritable(error, path);
  }
  return pathToFileURL(path).href;
}

/** A new folder below that of the system's temporary files, for a cluster that is thrown away. */
export function temporaryDataFolder(name: string): string {
  const dataDir = mkdtempSync(join(tmpdir(), `parkade-${name}-`));
  // mkdtemp closes the folder to other users; under root the server runs as another user, who must enter it.
  chmodSync(dataDir, 0o755);
  return dataDir;
}

function notWritable(error: unknown, dataDir: string): StartError {
  return (
    asFullDisk(error, dataDir) ??
    new StartError(
      `The data folder ${dataDir} cannot be written (${errorText(error)}): set PARKADE_DATA_DIR to a folder that you may write.`,
    )
  );
}

/** One folder at a time: Node's recursive mkdir never ends where the file system answers ENOENT, as /proc does. */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  const parent = dirname(path);
  if (parent !== path) makeFolder(parent);
  mkdirSync(path);
}

export function checkSpace(dir: string, bytesMin: number): void {
  const { bavail, bsize } = statfsSync(dir);
  const free = bavail * bsize;
  if (free >= bytesMin) return;
  const mib = (bytes: number) => `${Math.floor(bytes / 2 ** 20)} MB`;
  throw new StartError(
    `The disk that holds ${dir} is full (${mib(free)} free, ${mib(bytesMin)} needed): free some space, or set PARKADE_DATA_DIR to a folder on another disk.`,
  );
}

export function serverFactsPath(dataDir: string): string {
  return join(dataDir, "postgres.json");
}

/** Null when no server was ever made in this folder. Throws StartError when the file cannot be used. */
export function readServerFacts(dataDir: string): ServerFacts | null {
  const path = serverFactsPath(dataDir);
  if (!existsSync(path)) return null;
  let facts: Partial<ServerFacts> | null;
  try {
    facts = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw serverFactsError(dataDir, `${path} cannot be read (${errorText(error)})`);
  }
  const { clusterDir, port, password, appPassword } = facts ?? {};
  const whole =
    typeof clusterDir === "string" &&
    Number.isInteger(port) &&
    port! >= 0 &&
    port! <= 65_535 &&
    typeof password === "string";
  if (!whole) throw serverFactsError(dataDir, `${path} lacks clusterDir, port or password`);
  if (typeof appPassword === "string") return { clusterDir, port: port!, password, appPassword };
  // Made by a release whose web and worker were the superuser.
  const completed = { clusterDir, port: port!, password, appPassword: newPassword() };
  writeServerFacts(dataDir, completed);
  return completed;
}

export function serverFactsError(dataDir: string, fault: string): StartError {
  return new StartError(
    `${fault}: restore ${serverFactsPath(dataDir)}, which holds the password of the embedded database, or set PARKADE_DATA_DIR to an empty folder to start anew.`,
  );
}

export function writeServerFacts(dataDir: string, facts: ServerFacts): void {
  const path = serverFactsPath(dataDir);
  writeFileSync(`${path}.new`, `${JSON.stringify(facts, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

export function openLogFile(dataDir: string): string {
  const logFile = join(dataDir, "logs", "postgres.log");
  if (existsSync(logFile) && statSync(logFile).size > LOG_BYTES_MAX) renameSync(logFile, `${logFile}.1`);
  return logFile;
}

export function newPassword(): string {
  return randomBytes(24).toString("base64url");
}
