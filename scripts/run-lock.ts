import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { sendSignal } from "./end-postgres.ts";
import { markOf, type ProcessMark, parentOf, stillRuns } from "./process-identity.ts";
import { errorCode, StartError } from "./start-error.ts";

/**
 * `run.json` of a data folder: the process that works on it, and what it has started. It is the lock of the folder, too: a
 * start puts it in place as a whole, and takes over the file of a launcher that does not run any more.
 */
type Run = { launcher: number; started: string | null; ancestors: (number | null)[]; children: ProcessMark[] };

/** A launcher whose terminal is closed stops its processes in order, which takes less than this. */
const ENDING_MS = 45_000;
/** Children notice the death of their launcher at once, and get a few seconds to end their work. */
const CHILDREN_MS = 12_000;

export type RunLock = {
  /** Notes a process of this run, for the start after a kill -9. */
  note(pid: number): void;
  release(): void;
};

/**
 * Makes this process the only one that works on `dataDir`: waits until the processes of a killed launcher have ended, ends
 * the others, and refuses when another launcher runs.
 */
export async function takeRunLock(dataDir: string, say: (line: string) => void = () => undefined): Promise<RunLock> {
  const path = join(dataDir, "run.json");
  // Written to another file and moved: a full disk keeps the last list whole, and no start sees half a file.
  const next = `${path}.${process.pid}`;
  const { pid: launcher, started } = markOf(process.pid);
  let children: ProcessMark[] = [];
  const write = () => {
    const run: Run = { launcher, started, ancestors: ancestorsOf(launcher), children };
    writeFileSync(next, JSON.stringify(run), { mode: 0o600 });
  };
  const until = performance.now() + ENDING_MS;
  for (let waits = false; ; ) {
    const text = readText(path);
    const previous = parse(text);
    if (previous !== null && launcherRuns(previous)) {
      const ending = ancestorsOf(previous.launcher).join() !== previous.ancestors.join();
      if (!ending || performance.now() > until) {
        throw new StartError(
          `Parkade already runs on ${dataDir} (process ${previous.launcher}): stop it, or set PARKADE_DATA_DIR (and PORT) to start another beside it.`,
        );
      }
      if (!waits) say(`Waiting for the previous Parkade (process ${previous.launcher}) to end`);
      waits = true;
      await sleep(200);
      continue;
    }
    // Of this run until they have ended: the start after a kill of this one waits for them, too.
    children = previous?.children.filter(stillRuns) ?? [];
    try {
      write();
      if (putInPlace(next, path, text)) break;
    } finally {
      rmSync(next, { force: true });
    }
  }
  await endAll(children, say);
  return {
    note: (pid) => {
      children = [...children.filter(stillRuns), markOf(pid)];
      write();
      renameSync(next, path);
    },
    release: () => {
      if (parse(readText(path))?.launcher === launcher) rmSync(path, { force: true });
    },
  };
}

/** npm runs us through a shell: when npm is killed, it is the grandparent that changes. */
export function ancestorsOf(pid: number): (number | null)[] {
  const parent = parentOf(pid);
  return [parent, parent === null ? null : parentOf(parent)];
}

/** A file of release 0.1.0 has no mark, and its id may be another process's by now: better a refusal than a second server. */
function launcherRuns({ launcher: pid, started = markOf(pid).started }: Run): boolean {
  return stillRuns({ pid, started });
}

/** Puts the file `next` in the place of `stale`, the text that was read there; null = of none. False = another start was faster. */
function putInPlace(next: string, path: string, stale: string | null): boolean {
  try {
    if (stale !== null) {
      const old = `${next}.old`;
      renameSync(path, old);
      if (readText(old) !== stale) {
        // The file of the faster start.
        renameSync(old, path);
        return false;
      }
      rmSync(old);
    }
    linkSync(next, path);
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST" || errorCode(error) === "ENOENT") return false;
    throw error;
  }
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  }
}

function parse(text: string | null): Run | null {
  try {
    const run: Run | null = JSON.parse(text ?? "null");
    return run;
  } catch {
    // A machine that lost its power kept no more of it, and runs nothing of that time.
    return null;
  }
}

async function endAll(processes: readonly ProcessMark[], say: (line: string) => void): Promise<void> {
  const left = () => processes.filter(stillRuns);
  if (processes.length > 0) say("Waiting for the processes of a killed start to end");
  const until = performance.now() + CHILDREN_MS;
  while (left().length > 0) {
    if (performance.now() > until) for (const { pid } of left()) sendSignal(pid, "SIGKILL");
    await sleep(100);
  }
}
