import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { commandLine, isAlive, parentOf, releaseLock, takeLock } from "./process-identity.ts";
import { StartError } from "./start-error.ts";

/** What a start leaves in the data folder for the next one. `marker` is part of the command line of each child. */
type Run = { launcher: number; ancestors: (number | null)[]; children: { pid: number; marker: string }[] };

/** A launcher whose terminal is gone stops by itself, in order; this is longer than that takes. */
const ENDING_MS = 45_000;
/** Children notice the death of their launcher at once and get a few seconds to put down what they hold. */
const CHILDREN_MS = 12_000;

export type RunRecord = {
  /** Notes the processes of this run, for the start after a kill -9. */
  note(children: Run["children"]): void;
  /** Gives the data folder back. */
  end(): void;
};

/**
 * Makes this process the only launcher of `dataDir`: waits for the processes a killed launcher left behind, ends those
 * that do not go, and refuses when another launcher is at work.
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
    // Beside and renamed: a full disk leaves the last list whole.
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
  let told = false;
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
    if (!told) say(`Waiting for the previous Parkade (process ${holder}) to end`);
    told = true;
    await sleep(200);
  }
}

function readRun(path: string): Run | null {
  if (!existsSync(path)) return null;
  try {
    const run: Run = JSON.parse(readFileSync(path, "utf8"));
    return run;
  } catch {
    // Cut off by a kill in the middle of the write: it told of processes that are found by the port check instead.
    return null;
  }
}

async function endChildren(children: Run["children"], say: (line: string) => void): Promise<void> {
  const left = () => children.filter(({ pid, marker }) => isAlive(pid) && commandLine(pid)?.includes(marker));
  if (left().length === 0) return;
  say("Waiting for the processes of a killed start to end");
  const until = performance.now() + CHILDREN_MS;
  while (left().length > 0) {
    const signal = performance.now() > until ? "SIGKILL" : null;
    if (signal) for (const { pid } of left()) process.kill(pid, signal);
    await sleep(100);
  }
}
