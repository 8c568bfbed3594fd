import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
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

/** Names one process, even after its id was given to another one. `started` only equals itself; null = it was gone. */
export type ProcessMark = { pid: number; started: string | null };

export function markOf(pid: number): ProcessMark {
  return { pid, started: fact(pid, { statField: 22, psColumn: "lstart" }) };
}

export function stillRuns({ pid, started }: ProcessMark): boolean {
  return isAlive(pid) && markOf(pid).started === started;
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
