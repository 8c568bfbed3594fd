import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { commandLine, isAlive, parentOf, releaseLock, takeLock } from "./process-identity.ts";
import { StartError } from "./start-error.ts";

/** The file of a start in the data folder, for the next start. `marker` is part of the command line of each child. */
type Run = { launcher: number; ancestors: (number | null)[]; children: { pid: number; marker: string }[] };

/** A launcher whose terminal is closed stops its processes in order, which takes less than this. */
const ENDING_MS = 45_000;
/** Children notice the death of their launcher at once, and get a few seconds to end their work. */
const CHILDREN_MS = 12_000;

export type RunRecord = {
  /** Notes the processes of this run, for the start after a kill -9. */
  note(children: Run["children"]): void;
  /** Releases the lock on the data folder. */
  end(): void;
};

/**
 * Makes this process the only launcher of `dataDir`: waits until the processes of a killed launcher have ended, ends the
 * others, and refuses when another launcher runs.
 */
export async function takeOver(dataDir: string, say: (line: string) => void): Promise<RunRecord> {
  const lock = join(dataDir, "launcher.lock");
  const path = join(dataDir, "run.json");
  await takeLauncherLock(lock, path, say);
  const previous = readRun(path);
  if (previous) await endChildren(previous.children, say);
  rmSync(path, { force: true });
  const write = (children: Run["children"]) => {
    const run: Run = { launcher: process.pid, ancestors: ancestorsOf(process.pid), children };
    // Written to another file and renamed: a full disk keeps the last list whole.
    writeFileSync(`${path}.new`, JSON.stringify(run), { mode: 0o600 });
    renameSync(`${path}.new`, path);
  };
  write([]);
  return {
    note: write,
    end: () => {
      rmSync(path, { force: true });
      releaseLock(lock);
    },
  };
}

/** npm runs us through a shell: when npm is killed, it is the grandparent that changes. */
export function ancestorsOf(pid: number): (number | null)[] {
  const parent = parentOf(pid);
  return [parent, parent === null ? null : parentOf(parent)];
}

async function takeLauncherLock(lock: string, path: string, say: (line: string) => void): Promise<void> {
  const until = performance.now() + ENDING_MS;
  let said = false;
  for (;;) {
    const holder = takeLock(lock);
    if (holder === null) return;
    const run = readRun(path);
    const ending = run?.launcher === holder && ancestorsOf(holder).join() !== run.ancestors.join();
    if (!ending || performance.now() > until) {
      throw new StartError(
        `Parkade already runs on this data folder (process ${holder}): stop it, or set PARKADE_DATA_DIR (and PORT) to start another beside it.`,
      );
    }
    if (!said) say(`Waiting for the previous Parkade (process ${holder}) to end`);
    said = true;
    await sleep(200);
  }
}

function readRun(path: string): Run | null {
  if (!existsSync(path)) return null;
  try {
    const run: Run = JSON.parse(readFileSync(path, "utf8"));
    return run;
  } catch {
    // A kill has cut the file off in the middle of the write: the port check finds the processes of that start.
    return null;
  }
}

async function endChildren(children: Run["children"], say: (line: string) => void): Promise<void> {
  const left = () => children.filter(({ pid, marker }) => isAlive(pid) && commandLine(pid)?.includes(marker));
  if (left().length === 0) return;
  say("Waiting for the processes of a killed start to end");
  const until = performance.now() + CHILDREN_MS;
  while (left().length > 0) {
    if (performance.now() > until) for (const { pid } of left()) process.kill(pid, "SIGKILL");
    await sleep(100);
  }
}
