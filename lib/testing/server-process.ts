import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { guardAgainstOrphan } from "../../scripts/orphan-guard.ts";

export type ServerProgram = {
  command: string;
  args: string[];
  /** Working folder of the server and place of `<name>.log`, which each start writes anew. */
  folder: string;
  name: string;
  env?: NodeJS.ProcessEnv;
  /** True when the server answers. It is given what the server has written so far. */
  ready(log: string): boolean | Promise<boolean>;
};

export type ServerProcess = {
  pid: number;
  /** Ends the server and all of its children, and resolves when it is gone. */
  end(signal: "SIGTERM" | "SIGKILL"): Promise<void>;
};

/** A start takes seconds, and ten times as long on a busy machine. */
const READY_MS = 120_000;

/** In the environment of a server and of its children. */
const MARK = "PARKADE_TEST_SERVER";

/** Ids of the running processes of the servers in `folder`, read from Linux's /proc. */
export function processesOf(folder: string): number[] {
  const environment = (pid: string) => {
    try {
      return readFileSync(join("/proc", pid, "environ"), "utf8").split("\0");
    } catch {
      return []; // It has ended meanwhile, or belongs to another user.
    }
  };
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.filter((pid) => environment(pid).includes(`${MARK}=${folder}`)).map(Number);
}

/** Starts a server in a process group of its own and resolves when it is ready. It ends when this process dies. */
export async function startServer(program: ServerProgram): Promise<ServerProcess> {
  const { command, args, folder, name, ready } = program;
  const env = { ...(program.env ?? process.env), [MARK]: folder };
  const logFile = join(folder, `${name}.log`);
  const output = openSync(logFile, "w");
  const child = spawn(command, args, { cwd: folder, env, detached: true, stdio: ["ignore", output, output] });
  closeSync(output);
  const failed = new Promise<never>((_, reject) => child.once("error", reject));
  failed.catch(() => undefined); // Awaited below; until then it must not count as unhandled.
  const { pid } = child;
  if (pid === undefined) return failed;
  // A negative id names the process group.
  child.once("exit", guardAgainstOrphan(-pid, { signal: "KILL" }));
  const end = (signal: NodeJS.Signals) => endGroup(child, -pid, signal);
  const log = () => readFileSync(logFile, "utf8");
  const until = performance.now() + READY_MS;
  while (!(await ready(log()))) {
    if (child.exitCode !== null || child.signalCode !== null || performance.now() > until) {
      await end("SIGKILL");
      throw new Error(`${name} did not start: ${log().slice(-2_000) || "it wrote no log"}`);
    }
    await sleep(20);
  }
  return { pid, end };
}

function endGroup(child: ChildProcess, group: number, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once("exit", () => resolve());
    process.kill(group, signal);
  });
}
