import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { pathToFileURL } from "node:url";
import { openProcessLog, type ProcessLog } from "./process-log.ts";
import { StartError } from "./start-error.ts";

const RESTART_MS = { first: 500, max: 30_000 };
/** A process that ran this long, and twice as long as the pause before it, was healthy. */
const HEALTHY_MS_MIN = 10_000;

const TIED = pathToFileURL(join(import.meta.dirname, "tied.mjs")).href;

export type ProcessOptions = {
  /** Prefix of its lines on the screen and name of its log file. */
  name: string;
  /** Arguments for Node: the script and its own arguments. */
  args: string[];
  env: NodeJS.ProcessEnv;
  cwd: string;
  logFile: string;
  /** Called with its id at the first start and at each restart. */
  spawned?: ((pid: number) => void) | undefined;
  /** Called with each message that it sends. */
  told?: ((message: unknown) => void) | undefined;
  /** How long it may take to say that it is ready, at the first start and at each restart. */
  readyMs: number;
  /** How long it gets after SIGTERM. */
  stopMs: number;
  /** Ends the first start before it is ready. */
  signal?: AbortSignal;
  /** Receives lines for the screen: warnings, errors, restarts. */
  say: (line: string) => void;
};

export type SupervisedProcess = {
  name: string;
  /** Of the running process; null between a crash and the restart. */
  pid(): number | null;
  /** Ends it for good: SIGTERM, then SIGKILL after `stopMs`, or at once when `force` is called. */
  stop(): Promise<void>;
  force(): void;
  /** Ends it and starts it anew without the pause of a crash. */
  restart(): void;
};

/**
 * Starts a Node process and resolves when it says that it is ready: by the IPC message `{ kind: "ready" }` or a JSON log
 * line whose `msg` is `<name> ready`. A process that ends before is an error with its last output; one that ends
 * later is started again, with a growing pause.
 */
export async function superviseProcess(options: ProcessOptions): Promise<SupervisedProcess> {
  const log = openProcessLog(options.logFile);
  const last = { line: "" };
  let child: ChildProcess | null = null;
  let stopping = false;
  let wasReady = false;
  let pauseMs = 0;
  let pause: NodeJS.Timeout | undefined;
  let startedMs = 0;
  let restartNow = false;

  const launch = (): Promise<void> => {
    startedMs = performance.now();
    child = run(options);
    if (child.pid !== undefined) options.spawned?.(child.pid);
    child.on("message", (message) => options.told?.(message));
    child.once("exit", (code, signal) => ended(code, signal));
    return untilReady(child, options, (line) => record(options, log, line, last));
  };

  const ended = (code: number | null, signal: NodeJS.Signals | null) => {
    child = null;
    // Before the first readiness the caller gets an error, and the process is not started again.
    if (stopping || !wasReady) return;
    if (restartNow) {
      restartNow = false;
      relaunch();
      return;
    }
    pauseMs = nextPauseMs(pauseMs, performance.now() - startedMs);
    options.say(`${options.name}: ended (${signal ?? `code ${code}`}), starting again in ${pauseMs / 1000} s`);
    pause = setTimeout(relaunch, pauseMs);
  };

  const relaunch = () => {
    launch().then(
      () => options.say(`${options.name}: running again`),
      // Either it has ended, and its next start is planned, or it is slow, and its log says why.
      (error: Error) => options.say(`${options.name}: ${error.message}`),
    );
  };

  const stop = async () => {
    stopping = true;
    clearTimeout(pause);
    const running = child;
    if (running) {
      const gone = new Promise<void>((resolve) => running.once("exit", () => resolve()));
      running.kill("SIGTERM");
      const hard = setTimeout(() => running.kill("SIGKILL"), options.stopMs);
      await gone;
      clearTimeout(hard);
    }
    log.close();
  };

  const giveUp = () => child?.kill("SIGTERM");
  options.signal?.addEventListener("abort", giveUp, { once: true });
  try {
    options.signal?.throwIfAborted();
    await launch();
    wasReady = true;
  } catch (error) {
    await stop();
    throw error;
  } finally {
    options.signal?.removeEventListener("abort", giveUp);
  }
  return {
    name: options.name,
    pid: () => child?.pid ?? null,
    stop,
    force: () => {
      stopping = true;
      child?.kill("SIGKILL");
    },
    restart: () => {
      restartNow = true;
      child?.kill("SIGTERM");
    },
  };
}

/**
 * Pause before the next start of a process that ended after `ranMs`, milliseconds. It doubles while the process hardly
 * runs, and begins anew after a run that was twice as long as its pause: one that crashes each half minute is back at once.
 */
export function nextPauseMs(lastPauseMs: number, ranMs: number): number {
  const healthy = ranMs >= Math.max(HEALTHY_MS_MIN, 2 * lastPauseMs);
  return healthy ? RESTART_MS.first : Math.min(Math.max(RESTART_MS.first, lastPauseMs * 2), RESTART_MS.max);
}

function run({ args, env, cwd }: ProcessOptions): ChildProcess {
  return spawn(process.execPath, ["--import", TIED, ...args], {
    cwd,
    env,
    // Its own process group: Ctrl-C reaches the launcher alone, which then stops its processes in order.
    detached: true,
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
}

function untilReady(child: ChildProcess, options: ProcessOptions, record: (line: string) => void): Promise<void> {
  const { name, readyMs, logFile } = options;
  let lastLine = "";
  return new Promise((resolve, reject) => {
    const late = setTimeout(
      () => reject(new StartError(`${name} is not ready after ${readyMs / 1000} s: see ${logFile}.`)),
      readyMs,
    );
    const settle = (outcome: () => void) => {
      clearTimeout(late);
      outcome();
    };
    child.on("message", (message) => {
      if (isReady(message)) settle(resolve);
    });
    const onLine = (line: string) => {
      record(line);
      if (line.trim() !== "") lastLine = line;
      if (parseLog(line)?.msg === `${name} ready`) settle(resolve);
    };
    linesOf(child.stdout, onLine);
    linesOf(child.stderr, onLine);
    child.once("error", (error) => settle(() => reject(error)));
    // `close` and not `exit`: the last output may not have arrived yet.
    child.once("close", (code, signal) =>
      settle(() => {
        const words = parseLog(lastLine)?.msg ?? lastLine;
        reject(
          new StartError(
            `${name} ended before it was ready (${signal ?? `code ${code}`}: ${printable(words.trim())}): see ${logFile}.`,
          ),
        );
      }),
    );
  });
}

function isReady(message: unknown): boolean {
  return typeof message === "object" && message !== null && "kind" in message && message.kind === "ready";
}

function linesOf(stream: Readable | null, onLine: (line: string) => void): void {
  if (stream) createInterface({ input: stream }).on("line", onLine);
}

function record(options: ProcessOptions, log: ProcessLog, line: string, last: { line: string }): void {
  log.write(line);
  const shown = important(line);
  // A loop that fails may repeat a line for hours: the screen shows it once, the file has each.
  if (shown === null || shown === last.line) return;
  last.line = shown;
  options.say(`${options.name}: ${shown}`);
}

type LogLine = { level?: number | string; msg?: string; err?: { message?: string } };

/** pino's numbers; 40 is a warning. */
const WARN = 40;

/** The text of a warning or error for the screen; null for other log lines. Output that is no JSON is Next's or Node's. */
export function important(line: string): string | null {
  const parsed = parseLog(line);
  if (!parsed) return /^\s*(⨯|Error\b|\w*Error:|Uncaught|FATAL)/.test(line) ? printable(line.trim()) : null;
  const level =
    typeof parsed.level === "string" ? ({ warn: 40, error: 50, fatal: 60 }[parsed.level] ?? 30) : parsed.level;
  if (level === undefined || level < WARN) return null;
  const cause = parsed.err?.message;
  return printable(`${parsed.msg ?? ""}${cause && cause !== parsed.msg ? ` (${cause})` : ""}`.trim()) || null;
}

const SHOWN_CHARS_MAX = 500;
/** Controls, line separators and marks that reorder text: a terminal obeys them, and the error of a broker may hold them. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** Untrusted text as one line of visible characters: an escape is shown as `\x1b`, not obeyed. */
function printable(text: string): string {
  const cut = text.length > SHOWN_CHARS_MAX ? `${text.slice(0, SHOWN_CHARS_MAX)}...` : text;
  return cut.replace(UNPRINTABLE, (mark) => {
    const code = mark.codePointAt(0)!.toString(16);
    return code.length <= 2 ? `\\x${code.padStart(2, "0")}` : `\\u{${code}}`;
  });
}

function parseLog(line: string): LogLine | null {
  if (!line.startsWith("{")) return null;
  try {
    const parsed: LogLine = JSON.parse(line);
    return parsed;
  } catch {
    // A line that only looks like JSON is shown as text.
    return null;
  }
}
