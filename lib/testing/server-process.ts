import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { guardAgainstOrphan } from "../../scripts/orphan-guard.ts";

type ServerProgram = {
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
/** Bounds the wait for children that have ended but that the machine's first process does not collect. */
const CHILDREN_END_MS = 2_000;

/** A running server whose data lies in a folder of its own, so that it can be killed and started again. */
export type TestServer = {
  /** Holds the data and the log. */
  folder: string;
  /** kill -9, or a clean stop with SIGTERM. What the server has stored stays. */
  kill(signal?: "SIGTERM" | "SIGKILL"): Promise<void>;
  /** Starts the same server again at the same address, after `kill`. */
  start(): Promise<void>;
  /** Ends the server and removes its folder. */
  stop(): Promise<void>;
};

type Prepare = (folder: string) => Promise<Omit<ServerProgram, "name" | "folder">>;

/** Makes the folder, lets `prepare` fill it, and starts the program that `prepare` names. */
export async function testServer(name: string, prepare: Prepare): Promise<TestServer> {
  const folder = mkdtempSync(join(tmpdir(), `parkade-${name}-`));
  let server: ServerProcess | null = null;
  const kill = async (signal: "SIGTERM" | "SIGKILL" = "SIGKILL") => {
    await server?.end(signal);
    server = null;
  };
  const stop = async () => {
    await kill();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  };
  try {
    const program = await prepare(folder);
    const start = async () => {
      server = await startServer({ ...program, name, folder });
    };
    await start();
    return { folder, kill, start, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** True when `url` answers with a success. */
export async function answersHttp(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok;
  } catch {
    return false; // not yet; the caller knows how long to ask
  }
}

/** In the environment of a server and of its children. */
const MARK = "PARKADE_TEST_SERVER";

/**
 * Ids of the running processes of the server in `folder`, read from Linux's /proc: by their environment, and by their working
 * folder, because redis-server overwrites its environment with its title and a server in a Debian folder works elsewhere.
 */
export function processesOf(folder: string): number[] {
  const belongs = (pid: string) => {
    try {
      const environment = readFileSync(join("/proc", pid, "environ"), "utf8").split("\0");
      return environment.includes(`${MARK}=${folder}`) || readlinkSync(join("/proc", pid, "cwd")) === folder;
    } catch {
      return false; // It has ended meanwhile, or belongs to another user.
    }
  };
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && belongs(name))
    .map(Number);
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

async function endGroup(child: ChildProcess, group: number, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  process.kill(group, signal);
  await exited;
  // A child that outlives the first process for a moment still holds the port.
  const until = performance.now() + CHILDREN_END_MS;
  while (isAlive(group) && performance.now() < until) await sleep(5);
}

function isAlive(group: number): boolean {
  try {
    return process.kill(group, 0);
  } catch {
    return false;
  }
}
