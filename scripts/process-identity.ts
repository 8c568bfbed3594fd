import { execFileSync } from "node:child_process";
import { linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { platform } from "node:os";
import { errorCode } from "./start-error.ts";

/**
 * True when a process of this id runs, whoever owns it. One that has ended and waits for its parent to take its exit
 * code (a container's first process may never do so) does not run.
 */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (errorCode(error) !== "EPERM") return false;
  }
  return !fact(pid, { statField: 3, psColumn: "state" })?.startsWith("Z");
}

/** The command line of a process, or null when it is gone. */
export function commandLine(pid: number): string | null {
  try {
    if (platform() === "linux")
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim() || null;
    return execFileSync("ps", ["-o", "command=", "-p", String(pid)], { encoding: "utf8" }).trim() || null;
  } catch {
    // No such process: both the file and `ps` say so by failing.
    return null;
  }
}

/** When a process started, in a form that only equals itself; with the pid it names one process even after pid reuse. */
function startMark(pid: number): string | null {
  return fact(pid, { statField: 22, psColumn: "lstart" });
}

/** The parent of a process; null when the process is gone. */
export function parentOf(pid: number): number | null {
  const parent = fact(pid, { statField: 4, psColumn: "ppid" });
  return parent === null ? null : Number(parent);
}

function fact(pid: number, { statField, psColumn }: { statField: number; psColumn: string }): string | null {
  try {
    if (platform() === "linux") {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      // The second field may hold spaces and brackets, so count from the last bracket: the third comes after it.
      return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[statField - 3] ?? null;
    }
    return execFileSync("ps", ["-o", `${psColumn}=`, "-p", String(pid)], { encoding: "utf8" }).trim() || null;
  } catch {
    // No such process: both the file and `ps` say so by failing.
    return null;
  }
}

/**
 * Takes the lock file `path` for this process. Returns null when it is ours now, or the id of the live process that
 * holds it. A holder that was killed leaves a file whose pid and start time match no process: such a file is taken over.
 */
export function takeLock(path: string): number | null {
  // Written to another file and linked: a lock file always has its content, so no start takes a new lock for a stale one.
  const ours = `${path}.${process.pid}`;
  writeFileSync(ours, `${process.pid} ${startMark(process.pid)}\n`, { mode: 0o600 });
  try {
    for (;;) {
      try {
        linkSync(ours, path);
        return null;
      } catch (error) {
        if (errorCode(error) !== "EEXIST") throw error;
      }
      const holder = lockHolder(path);
      if (holder !== null) return holder;
      rmSync(path, { force: true });
    }
  } finally {
    rmSync(ours, { force: true });
  }
}

function lockHolder(path: string): number | null {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  }
  const [pid = "", ...mark] = text.trim().split(" ");
  const id = Number(pid);
  if (!Number.isInteger(id) || id <= 0 || !isAlive(id)) return null;
  return startMark(id) === mark.join(" ") ? id : null;
}

/** Releases the lock if this process still holds it. */
export function releaseLock(path: string): void {
  if (lockHolder(path) === process.pid) rmSync(path, { force: true });
}
