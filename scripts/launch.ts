import { existsSync } from "node:fs";
import { join } from "node:path";
import { type SignInMode, signInModeOf } from "../lib/guard/viewer/sign-in-mode.pure.ts";
import { prepareAppRole, roleOf } from "./app-role.ts";
import { makeArchiveFolder, makeDataFolder } from "./data-folder.ts";
import { isPortFree } from "./free-port.ts";
import { migrate } from "./migrate.ts";
import { ancestorsOf, type RunLock, takeRunLock } from "./run-lock.ts";
import { runTool } from "./run-tool.ts";
import { checkRedis, connectPostgres } from "./servers.ts";
import { demoPortOf, ROOT, type Stack, startStack } from "./stack.ts";
import type { StartEnv } from "./start-env.ts";
import { asFullDisk, runCommand, StartError } from "./start-error.ts";
import { sideBySide, stopwatch, timed } from "./steps.ts";
import { type SupervisedPostgres, supervisePostgres } from "./supervised-postgres.ts";

/** npm forwards the Ctrl-C that the terminal has already sent us: within this time a second signal is the same one. */
const SAME_SIGNAL_MS = 1_000;
const PARENT_CHECK_MS = 500;

export const say = (line: string) => void process.stdout.write(`${line}\n`);
// Output into a file on a full disk, or into a pipe without a reader, must not end the store.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);

export type LaunchOptions = {
  env: StartEnv;
  /** Also load the demo's dead letters, and start the downstream they are redriven to. */
  demo: boolean;
  /** Sources under a compiler instead of the build. */
  dev?: boolean;
  /** Makes what is started, after the checks; absent = it was built before. */
  build?(signal: AbortSignal): Promise<void>;
  /** Called with the running processes. */
  started?(stack: Stack): void;
};

type Launcher = {
  lock: RunLock | null;
  postgres: SupervisedPostgres | null;
  stack: Stack | null;
};

/**
 * All steps to two running processes and one URL, until a signal ends them. Sets the exit code, and ends the process:
 * timers and pipes that are left have no work any more.
 */
export async function launch(options: LaunchOptions): Promise<never> {
  await runCommand(() => runUntilStopped(options));
  process.exit();
}

async function runUntilStopped(options: LaunchOptions): Promise<void> {
  const launcher: Launcher = { lock: null, postgres: null, stack: null };
  const { signal } = stopOnSignals(launcher);
  try {
    await bringUp(options, launcher, signal);
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  } catch (error) {
    // An error of a step that Ctrl-C has ended is not shown.
    if (!signal.aborted) throw asFullDisk(error, options.env.dataDir) ?? error;
    process.exitCode = 130;
  } finally {
    await stopAll(launcher);
  }
}

async function bringUp(options: LaunchOptions, launcher: Launcher, signal: AbortSignal): Promise<void> {
  const { env } = options;
  makeDataFolder(env.dataDir);
  launcher.lock = await takeRunLock(env.dataDir, say);
  await checkPort(env.port);
  // All checks come before the build, which takes minutes.
  if (env.redisUrl) await checkRedis(env.redisUrl);
  const given = env.ownerDatabaseUrl ?? env.databaseUrl;
  if (given) await (await connectPostgres(given)).end();
  const [database] = await sideBySide(signal, [
    (both) => bringUpDatabase(env, launcher, both),
    async (both) => options.build?.(both),
  ]);
  signal.throwIfAborted();
  const demoPort = options.demo ? await demoPortOf(env.dataDir) : null;
  if (demoPort !== null) await loadDemo(database.url, { demoPort, dataDir: env.dataDir, signal });
  const variables: Record<string, string> = {
    ...(env.archiveDir === null ? {} : { PARKADE_ARCHIVE: makeArchiveFolder(env.archiveDir) }),
    ...(database.folder === null ? {} : { PARKADE_DISK_DIR: database.folder }),
  };
  const spawned = (pid: number) => noteChild(launcher.lock, pid);
  const stack = await timed(say, "Starting web and worker", "Web and worker run", () =>
    startStack({ ...env, databaseUrl: database.url, demoPort, dev: options.dev, env: variables, signal, spawned, say }),
  );
  launcher.stack = stack;
  options.started?.(stack);
  signal.throwIfAborted();
  say(`Parkade is ready: ${stack.url}`);
  const { PARKADE_SIGN_IN, PARKADE_PUBLIC_URL, PARKADE_ALLOWED_HOSTS } = process.env;
  const open =
    signInModeOf((PARKADE_SIGN_IN || null) as SignInMode | null, {
      publicUrl: PARKADE_PUBLIC_URL || null,
      allowedHosts: PARKADE_ALLOWED_HOSTS ?? "",
    }) !== "always";
  say(`It listens on 127.0.0.1 only${open ? ", and is open to everyone on this machine" : ""}. Ctrl-C stops it.`);
}

/** The migrated database for web and worker. `folder`: where the embedded server keeps it; null = it is not embedded. */
type Database = { url: string; folder: string | null };

async function bringUpDatabase(env: StartEnv, launcher: Launcher, signal: AbortSignal): Promise<Database> {
  const { ownerUrl, databaseUrl, folder } = env.databaseUrl
    ? { ownerUrl: env.ownerDatabaseUrl ?? env.databaseUrl, databaseUrl: env.databaseUrl, folder: null }
    : await embedded(env, launcher);
  signal.throwIfAborted();
  const took = stopwatch();
  const applied = await migrate(ownerUrl);
  if (ownerUrl !== databaseUrl) await prepareAppRole(ownerUrl, roleOf(databaseUrl));
  const migrations = applied.length === 1 ? "1 migration" : `${applied.length} migrations`;
  if (applied.length > 0) say(`Applied ${migrations} (${took()})`);
  return { url: databaseUrl, folder };
}

async function embedded(env: StartEnv, launcher: Launcher) {
  launcher.postgres = await timed(say, "Starting the embedded PostgreSQL", "PostgreSQL runs", () =>
    supervisePostgres({ dataDir: env.dataDir, locked: true }, say),
  );
  const { url: ownerUrl, appUrl: databaseUrl, folder } = launcher.postgres;
  return { ownerUrl, databaseUrl, folder };
}

async function checkPort(port: number): Promise<void> {
  if (await isPortFree(port)) return;
  throw new StartError(
    port < 1024
      ? `Port ${port} cannot be used (taken, or reserved for root): set PORT to a free port above 1023.`
      : `Port ${port} is taken by another program: stop it, or set PORT to a free port.`,
  );
}

type Demo = { demoPort: number; dataDir: string; signal: AbortSignal };

/** Runs the seed, which leaves alone what an earlier `--demo` has loaded. */
async function loadDemo(databaseUrl: string, { demoPort, dataDir, signal }: Demo): Promise<void> {
  const seed = join(ROOT, "dist", "demo-seed.mjs");
  if (!existsSync(seed)) throw new StartError("There is no demo data in this build: start without --demo.");
  say("Loading the demo's dead letters");
  const env = {
    NODE_ENV: "production",
    DATABASE_URL: databaseUrl,
    PARKADE_DATA_DIR: dataDir,
    PARKADE_DEMO: "1",
    PARKADE_DEMO_PORT: String(demoPort),
  };
  const run = await runTool(process.execPath, [seed], { cwd: ROOT, env, signal });
  signal.throwIfAborted();
  if (run.code !== 0) throw new StartError(`The demo data could not be loaded:\n${run.output.trim()}`);
}

/** So that a start after a kill -9 knows which processes it must wait for. */
function noteChild(lock: RunLock | null, pid: number): void {
  try {
    lock?.note(pid);
  } catch (error) {
    // A full disk must not end the store: this one is noted together with the next.
    if (!asFullDisk(error, "")) throw error;
  }
}

/** The signal aborts on the first Ctrl-C (or the death of npm), for an orderly stop; a second one ends all at once. */
function stopOnSignals(launcher: Launcher): AbortController {
  const stop = new AbortController();
  let firstMs = 0;
  const onSignal = () => {
    if (!stop.signal.aborted) {
      firstMs = performance.now();
      say("Stopping (Ctrl-C again to stop at once)");
      stop.abort(new Error("stopped"));
    } else if (performance.now() - firstMs > SAME_SIGNAL_MS) {
      say("Stopping at once");
      launcher.stack?.force();
      // The next start recovers unwritten data from the log; an error changes nothing any more.
      void launcher.postgres?.force().finally(() => process.exit(130));
    }
  };
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, onSignal);
  // npm killed with -9 passes no signal on: without this check the console would run on, and no person could stop it.
  if (process.env.npm_lifecycle_event) {
    const ancestors = ancestorsOf(process.pid).join();
    const check = setInterval(() => {
      if (ancestorsOf(process.pid).join() === ancestors) return;
      clearInterval(check);
      onSignal();
    }, PARENT_CHECK_MS);
    check.unref();
  }
  return stop;
}

async function stopAll(launcher: Launcher): Promise<void> {
  await launcher.stack?.stop();
  await launcher.postgres?.stop();
  launcher.lock?.release();
}
