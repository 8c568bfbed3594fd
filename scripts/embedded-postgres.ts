import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import {
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  checkSpace,
  newPassword,
  openLogFile,
  prepareFolder,
  readServerFacts,
  type ServerFacts,
  serverFactsError,
  serverFactsPath,
  writeServerFacts,
} from "./data-folder.ts";
import { endOrphanedBackends, endServer, stopLeftover } from "./end-postgres.ts";
import { freePort, isPortFree } from "./free-port.ts";
import { guardAgainstOrphan } from "./orphan-guard.ts";
import { type Binaries, canEnter, placeFor, postgresBinaries, type RunAs, runAsFor } from "./postgres-binaries.ts";
import { takeRunLock } from "./run-lock.ts";
import { boundedClient } from "./servers.ts";
import { asFullDisk, errorCode, fullDiskError, StartError } from "./start-error.ts";

const MAJOR = "18";
const USER = "parkade";
const APP_USER = "parkade_app";
const DATABASE = "parkade";

const READY_MS = 60_000;
/** After the death of the launcher web and worker get this long to end their work before the store stops. */
const ORPHAN_GRACE_S = 10;
/** Below this the first checkpoint or initdb would fail halfway through: refuse before anything is written. */
const FREE_BYTES_MIN = { create: 300 * 2 ** 20, start: 64 * 2 ** 20 };

/** Settings of the server; everything else is PostgreSQL's default. jit costs more than it saves on short queries. */
const SETTINGS: Record<string, string> = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  shared_buffers: "256MB",
  max_wal_size: "4GB",
  synchronous_commit: "on",
  max_connections: "100",
  random_page_cost: "1.1",
  jit: "off",
  // The rows of a queue live for minutes: vacuum often, without the delays that spare a spinning disk.
  autovacuum_naptime: "15s",
  autovacuum_vacuum_cost_limit: "1000",
  log_checkpoints: "off",
  timezone: "UTC",
  log_timezone: "UTC",
};

export type EmbeddedPostgres = {
  /** Connection string of the database, for a superuser of this cluster: migrations run with it. Holds the password. */
  url: string;
  /** The same for the role of web and worker, once `prepareAppRole` has made it. */
  appUrl: string;
  port: number;
  pid: number;
  /** Where the cluster lies: below the data folder, or below /var/lib/parkade when root's folder is closed to others. */
  clusterDir: string;
  logFile: string;
  /** Settles when the server has ended, for whatever reason. */
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  /**
   * Resolves when the server is gone and the folder is free for another start. `fast` rolls back what is open and writes
   * a checkpoint; `immediate` ends at once and leaves the recovery to the next start.
   */
  stop(mode?: "fast" | "immediate"): Promise<void>;
};

export type EmbeddedOptions = {
  /** Absolute folder that holds the cluster, its port and its password. Made if missing. */
  dataDir: string;
  /** Settings on top of the standard ones. */
  settings?: Record<string, string>;
  /** Skips the syncs of initdb; for throw-away clusters. */
  ephemeral?: boolean;
  /**
   * Answer on the port of the start before or throw StartError, and never write another: for a server whose address is in
   * use by running processes.
   */
  samePort?: boolean;
  /** The caller holds the run lock of the folder, and keeps it when the server ends. */
  locked?: boolean;
};

/**
 * Starts PostgreSQL 18 on the cluster of `dataDir`, making it on first use. A server left over by a killed launcher is
 * stopped first, so the data has one owner. Throws StartError with one sentence when the disk, a permission, another
 * launcher or the platform prevents the start.
 */
export async function startPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const { dataDir } = options;
  prepareFolder(dataDir);
  const lock = options.locked ? null : await takeRunLock(dataDir);
  try {
    const server = await startLocked(options);
    if (lock) void server.exited.then(lock.release);
    return server;
  } catch (error) {
    lock?.release();
    throw asFullDisk(error, dataDir) ?? error;
  }
}

async function startLocked(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const { dataDir, settings = {}, ephemeral = false, samePort = false } = options;
  const known = readServerFacts(dataDir);
  const user = runAsFor(known?.clusterDir ?? null);
  const binaries = await postgresBinaries(user);
  const facts = known ?? {
    clusterDir: join(placeFor(dataDir, user), "postgres"),
    port: 0,
    password: newPassword(),
    appPassword: newPassword(),
  };
  const { clusterDir } = facts;
  checkReach(clusterDir, user);
  const fresh = !existsSync(join(clusterDir, "PG_VERSION"));
  if (!known && !fresh) {
    throw serverFactsError(dataDir, `${serverFactsPath(dataDir)} is missing beside the cluster ${clusterDir}`);
  }
  if (!known) writeServerFacts(dataDir, facts);
  checkSpace(dirname(clusterDir), fresh ? FREE_BYTES_MIN.create : FREE_BYTES_MIN.start);
  if (fresh) initialise(clusterDir, { binaries, user, password: facts.password, ephemeral });
  checkVersion(clusterDir);
  await stopLeftover(clusterDir);
  await endOrphanedBackends(clusterDir);

  const logFile = openLogFile(dataDir);
  const launching = { dataDir, facts, binaries, user, logFile, samePort, settings: { ...SETTINGS, ...settings } };
  const started = await launch(launching);
  try {
    await createDatabase(started.port, facts.password);
  } catch (error) {
    await started.stop();
    if (errorCode(error) !== "28P01") throw error;
    throw serverFactsError(
      dataDir,
      `${serverFactsPath(dataDir)} does not hold the password of the cluster ${clusterDir}`,
    );
  }
  const { port } = started;
  return {
    ...started,
    url: urlFor(port, facts.password, DATABASE),
    appUrl: urlFor(port, facts.appPassword, DATABASE, APP_USER),
    clusterDir,
    logFile,
  };
}

/** Where the server of a `npm start` on this folder answers while it runs; null when there never was one. */
export function rememberedUrl(dataDir: string): string | null {
  const facts = readServerFacts(dataDir);
  return facts === null ? null : urlFor(facts.port, facts.password, DATABASE);
}

function urlFor(port: number, password: string, database: string, user = USER): string {
  return `postgresql://${user}:${password}@127.0.0.1:${port}/${database}`;
}

function checkReach(clusterDir: string, user: RunAs): void {
  if (canEnter(dirname(clusterDir), user)) return;
  throw new StartError(
    `The user that runs PostgreSQL (uid ${user?.uid}) can no longer enter ${dirname(clusterDir)}: open the folder again (chmod a+x on each folder above it), or set PARKADE_DATA_DIR to an empty folder to start anew.`,
  );
}

function checkVersion(clusterDir: string): void {
  const major = readFileSync(join(clusterDir, "PG_VERSION"), "utf8").trim();
  if (major === MAJOR) return;
  throw new StartError(
    `${clusterDir} was made by PostgreSQL ${major}, this release embeds ${MAJOR}: dump it with the old release and load it here, or set PARKADE_DATA_DIR to an empty folder.`,
  );
}

type Making = { binaries: Binaries; user: RunAs; password: string; ephemeral: boolean };

/** initdb in another folder and a rename: a start that is killed halfway leaves no half cluster in the final place. */
function initialise(clusterDir: string, { binaries, user, password, ephemeral }: Making): void {
  const parent = dirname(clusterDir);
  const prefix = `${basename(clusterDir)}.part-`;
  for (const left of readdirSync(parent).filter((name) => name.startsWith(prefix))) {
    rmSync(join(parent, left), { recursive: true, force: true });
  }
  const part = join(parent, prefix + process.pid);
  mkdirSync(part, { mode: 0o700 });
  const passwordFile = join(part, "..", `${prefix}password`);
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  if (user) {
    chownSync(part, user.uid, user.gid);
    chownSync(passwordFile, user.uid, user.gid);
  }
  try {
    const made = spawnSync(
      binaries.initdb,
      [
        `--pgdata=${part}`,
        `--username=${USER}`,
        `--pwfile=${passwordFile}`,
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        // PostgreSQL's own UTF-8 rules: the same order on every machine, whatever locales it has.
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--locale=C",
        ...(ephemeral ? ["--no-sync"] : []),
      ],
      { ...user, cwd: parent, encoding: "utf8", env: serverEnv() },
    );
    if (made.status !== 0) throw serverError(`${made.stderr ?? ""}${made.error?.message ?? ""}`, parent);
    rmSync(clusterDir, { recursive: true, force: true });
    renameSync(part, clusterDir);
  } finally {
    rmSync(passwordFile, { force: true });
    rmSync(part, { recursive: true, force: true });
  }
}

/** No PG* variable of the person's shell may reach the server, and messages must be English: they are read below. */
function serverEnv(): NodeJS.ProcessEnv {
  const env = { ...process.env, LC_ALL: "C", LANG: "C" };
  for (const name of Object.keys(env)) {
    if (/^(PG|LC_(?!ALL))/.test(name)) Reflect.deleteProperty(env, name);
  }
  return env;
}

/** A known fault of a start as one sentence with the fix; else the last lines of PostgreSQL's output. */
function serverError(log: string, dir: string): StartError {
  if (/No space left on device|Disk quota exceeded/.test(log)) {
    return fullDiskError(dir);
  }
  if (/could not (access|create|open|change permissions|read).*Permission denied|EACCES/s.test(log)) {
    return new StartError(
      `PostgreSQL may not use ${dir} (permission denied): give its user the folder back, or set PARKADE_DATA_DIR to another folder.`,
    );
  }
  const lines = log.split("\n").filter((line) => line.trim() !== "");
  const last = lines.findLast((line) => /FATAL|PANIC|error/i.test(line)) ?? lines.at(-1) ?? "no message";
  return new StartError(
    `The embedded PostgreSQL did not start (${last.trim()}): see logs/postgres.log in the data folder, or set DATABASE_URL to a server of your own.`,
  );
}

type Launch = {
  dataDir: string;
  facts: ServerFacts;
  binaries: Binaries;
  user: RunAs;
  logFile: string;
  samePort: boolean;
  settings: Record<string, string>;
};

type Running = Pick<EmbeddedPostgres, "port" | "pid" | "exited" | "stop">;

const SHARED_MEMORY_IN_USE = /pre-existing shared memory block/;
const PORT_TAKEN = /could not bind|Address already in use/;
const TRIES_MAX = 10;

/** Keeps the port of the start before while it is free, so that a connection string stays valid. */
async function launch(options: Launch): Promise<Running> {
  const { dataDir, facts, samePort } = options;
  let portTaken = facts.port === 0;
  for (let attempt = 1; ; attempt++) {
    if (portTaken || !(await isPortFree(facts.port))) {
      if (samePort) throw new StartError(`port ${facts.port} is taken by another program`);
      facts.port = await freePort();
      writeServerFacts(dataDir, facts);
    }
    const outcome = await runOnce(options, facts.port);
    if (typeof outcome !== "string") return outcome;
    // The processes of a killed server hold its memory for a moment, and not its port.
    const passing = PORT_TAKEN.test(outcome) || SHARED_MEMORY_IN_USE.test(outcome);
    if (!passing || attempt === TRIES_MAX) throw serverError(outcome, dirname(facts.clusterDir));
    portTaken = PORT_TAKEN.test(outcome);
    await sleep(attempt * 100);
  }
}

/** One try: the running server, or what it wrote before it ended. */
async function runOnce(options: Launch, port: number): Promise<Running | string> {
  const { facts, binaries, user, logFile, settings } = options;
  const logStart = existsSync(logFile) ? statSync(logFile).size : 0;
  const log = openSync(logFile, "a", 0o600);
  const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  // Its own process group: Ctrl-C in the terminal must reach the launcher alone, or the store would go before the worker.
  const server = spawn(binaries.postgres, ["-D", facts.clusterDir, "-p", String(port), ...flags], {
    ...user,
    cwd: facts.clusterDir,
    env: serverEnv(),
    detached: true,
    stdio: ["ignore", log, log],
  });
  closeSync(log);
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    server.once("exit", (code, signal) => resolve({ code, signal }));
    server.once("error", () => resolve({ code: null, signal: null }));
  });
  const ready = await untilReady(server, exited, facts.clusterDir);
  if (!ready || server.pid === undefined) {
    if (server.pid !== undefined && server.exitCode === null) await endServer(server.pid);
    return readFileSync(logFile).subarray(logStart).toString("utf8") || `${binaries.postgres} could not be run`;
  }
  const pid = server.pid;
  const callOff = guardAgainstOrphan(pid, {
    signal: "INT",
    graceSeconds: ORPHAN_GRACE_S,
    pidFile: join(facts.clusterDir, "postmaster.pid"),
    user,
  });
  void exited.then(callOff);
  const stop = async (mode: "fast" | "immediate" = "fast") => {
    callOff();
    const running = server.exitCode === null && server.signalCode === null;
    if (running) await endServer(pid, mode === "fast" ? undefined : ["SIGQUIT", "SIGKILL"]);
    await exited;
  };
  return { port, pid, exited, stop };
}

async function untilReady(server: ChildProcess, exited: Promise<unknown>, clusterDir: string): Promise<boolean> {
  let ended = false;
  void exited.then(() => {
    ended = true;
  });
  const until = performance.now() + READY_MS;
  while (!ended && performance.now() < until) {
    if (postmasterStatus(clusterDir, server.pid) === "ready") return true;
    await sleep(20);
  }
  return false;
}

/** Line 8 of postmaster.pid: `starting`, `ready`, ... ; null while the file is missing, half written or another's. */
function postmasterStatus(clusterDir: string, pid: number | undefined): string | null {
  try {
    const lines = readFileSync(join(clusterDir, "postmaster.pid"), "utf8").split("\n");
    return Number(lines[0]) === pid ? (lines[7]?.trim() ?? null) : null;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  }
}

async function createDatabase(port: number, password: string): Promise<void> {
  const client = boundedClient(urlFor(port, password, "postgres"));
  await client.connect();
  try {
    const found = await client.query("select 1 from pg_database where datname = $1", [DATABASE]);
    if (found.rowCount === 0) await client.query(`create database ${DATABASE}`);
  } finally {
    await client.end();
  }
}
