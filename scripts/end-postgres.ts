import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { commandLine, isAlive } from "./process-identity.ts";
import { errorCode, StartError } from "./start-error.ts";

/** A fast shutdown writes a checkpoint, which on a slow disk takes its time; after this the server is stopped hard. */
const STOP_MS = 60_000;
/** A backend without a postmaster has nothing to write: SIGQUIT ends it at once unless it hangs in the kernel. */
const ORPHAN_STOP_MS = 2_000;

/** Stops the postmaster of this cluster that a killed launcher left; a foreign process with the same id is left alone. */
export async function stopLeftover(clusterDir: string): Promise<void> {
  const path = join(clusterDir, "postmaster.pid");
  if (!existsSync(path)) return;
  const pid = Number(readFileSync(path, "utf8").split("\n")[0]);
  if (Number.isInteger(pid) && pid > 1 && isPostmasterOf(pid, clusterDir)) await endServer(pid);
  rmSync(path, { force: true });
}

/**
 * A backend notices the death of its postmaster only when it waits. One that computes holds the cluster's shared memory
 * until its statement ends, and no new server starts before that: end it. Without /proc the start is tried again until
 * the backends have ended by themselves.
 */
export async function endOrphanedBackends(clusterDir: string): Promise<void> {
  if (!existsSync("/proc/self/cwd")) return;
  const orphans = readdirSync("/proc")
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && isBackendOf(pid, clusterDir));
  await Promise.all(orphans.map((pid) => endServer(pid, ["SIGQUIT", "SIGKILL"], ORPHAN_STOP_MS)));
}

/** Every process of a server has the cluster as its working directory and a title that begins with `postgres:`. */
function isBackendOf(pid: number, clusterDir: string): boolean {
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === clusterDir && commandLine(pid)?.startsWith("postgres: ") === true;
  } catch (error) {
    // A process that has just ended, or another user's.
    if (["ENOENT", "ESRCH", "EACCES", "EPERM"].includes(errorCode(error) ?? "")) return false;
    throw error;
  }
}

function isPostmasterOf(pid: number, clusterDir: string): boolean {
  return commandLine(pid)?.includes(`postgres -D ${clusterDir} `) ?? false;
}

/** SIGINT is PostgreSQL's fast shutdown, SIGQUIT its immediate one (recovers from the log at the next start). */
export async function endServer(
  pid: number,
  signals: NodeJS.Signals[] = ["SIGINT", "SIGQUIT", "SIGKILL"],
  eachMs = STOP_MS,
): Promise<void> {
  for (const signal of signals) {
    sendSignal(pid, signal);
    const until = performance.now() + eachMs;
    while (performance.now() < until) {
      if (!isAlive(pid)) return;
      await sleep(20);
    }
  }
  throw new StartError(`PostgreSQL (process ${pid}) does not end: end it by hand, then start again.`);
}

/** A process that has ended meanwhile needs none. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (errorCode(error) !== "ESRCH") throw error;
  }
}
