import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { freePort } from "../scripts/free-port.ts";

export type WorkerProcess = { pid: number; stop(): Promise<void> };

export type WorkerServers = { databaseUrl: string; redisUrl: string | null };

/** A production worker in a process of its own, as `npm start` would run it. Resolves when it is ready. */
export async function startWorkerProcess(
  { databaseUrl, redisUrl }: WorkerServers,
  more: Record<string, string> = {},
): Promise<WorkerProcess> {
  const child = spawnWorker({ DATABASE_URL: databaseUrl, ...(redisUrl ? { REDIS_URL: redisUrl } : {}), ...more });
  await firstMessage(child);
  return { pid: child.pid!, stop: () => end(child) };
}

export function spawnWorker(servers: { DATABASE_URL: string; REDIS_URL?: string }): ChildProcess {
  // `node` flags for one process under study, such as --cpu-prof.
  const flags = (process.env.PARKADE_BENCH_WORKER_FLAGS ?? "").split(" ").filter((flag) => flag !== "");
  return spawnProgram("worker", { PARKADE_LOG_LEVEL: process.env.PARKADE_LOG_LEVEL ?? "info", ...servers }, { flags });
}

export type WebProcess = { url: string; pid: number; stop(): Promise<void> };

/** The production web process, as `npm start` would run it. Resolves when it is ready. */
export async function startWebProcess(databaseUrl: string): Promise<WebProcess> {
  const port = await freePort();
  const child = spawnProgram("web", { DATABASE_URL: databaseUrl, PORT: String(port), PARKADE_HOST: "127.0.0.1" });
  await firstMessage(child);
  return { url: `http://127.0.0.1:${port}`, pid: child.pid!, stop: () => end(child) };
}

type ProgramOptions = { flags?: string[]; output?: "ignore" | "pipe" };

/**
 * A built program as the launcher runs it: it ends when the bench ends, in whatever way. Its first message says that it
 * is ready.
 */
export function spawnProgram(
  script: "web" | "worker",
  env: Record<string, string>,
  { flags = [], output = "ignore" }: ProgramOptions = {},
): ChildProcess {
  const { REDIS_URL: _, ...inherited } = process.env;
  const tied = ["--import", new URL("../scripts/tied.mjs", import.meta.url).href];
  const path = fileURLToPath(new URL(`../dist/${script}.mjs`, import.meta.url));
  // The young generation of the launcher and the image.
  return spawn(process.execPath, [...tied, "--max-semi-space-size=16", ...flags, path], {
    env: { ...inherited, NODE_ENV: "production", ...env },
    // A log that is ignored is written all the same, as in production.
    stdio: ["ignore", output, output === "pipe" ? "pipe" : "inherit", "ipc"],
  });
}

/** Forks a bench's own TypeScript file. `flags` are those of Node. */
export function forkScript(
  file: string,
  { args = [], flags = [] }: { args?: string[]; flags?: string[] },
): ChildProcess {
  return fork(fileURLToPath(new URL(file, import.meta.url)), args, { execArgv: ["--import", "tsx", ...flags] });
}

/** Forks it and resolves with its first message. */
export async function forkBench<T>(
  file: string,
  args: string[] = [],
): Promise<{ child: ChildProcess; first: T; stop(): Promise<void> }> {
  const child = forkScript(file, { args });
  return { child, first: await firstMessage<T>(child), stop: () => end(child) };
}

/** The next message of a child. Rejects when it ends without one. */
export function firstMessage<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null) => reject(new Error(`a process of the bench ended with ${code}`));
    child.once("exit", ended);
    child.once("message", (message) => {
      child.off("exit", ended);
      resolve(message as T);
    });
  });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGTERM");
  await gone;
}

/** Resident memory, bytes. Linux. */
export function rssBytes(pid: number): number {
  const line = readFileSync(`/proc/${pid}/status`, "utf8").match(/^VmRSS:\s+(\d+) kB$/m);
  return Number(line?.[1]) * 1024;
}

type Process = { pid: number; parent: number; name: string; cpuMs: number };

/** Processor time that a process has used, milliseconds. */
export function cpuMsOf(pid: number): number {
  return processOf(pid)?.cpuMs ?? Number.NaN;
}

/** Linux counts in hundredths of a second. Null: it ended meanwhile. */
function processOf(pid: number): Process | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    const name = text.slice(text.indexOf("(") + 1, text.lastIndexOf(")"));
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    // Own time and that of children that have ended: user, system, children's user, children's system.
    const ticks = [11, 12, 13, 14].reduce((sum, index) => sum + Number(fields[index]), 0);
    return { pid, parent: Number(fields[1]), name, cpuMs: ticks * 10 };
  } catch {
    return null;
  }
}

/** Processor time so far of this process and all it started, milliseconds by `label` of the process. Linux. */
export function cpuByLabel(label: (process: { pid: number; name: string }) => string): Map<string, number> {
  const all = readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? (processOf(Number(name)) ?? []) : []));
  const parents = new Map(all.map((one) => [one.pid, one.parent]));
  const ours = (pid: number): boolean => pid === process.pid || (parents.has(pid) && ours(parents.get(pid)!));
  const sums = new Map<string, number>();
  for (const one of all.filter(({ pid }) => ours(pid))) {
    sums.set(label(one), (sums.get(label(one)) ?? 0) + one.cpuMs);
  }
  return sums;
}
