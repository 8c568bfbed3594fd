import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "./free-port.ts";
import { StartError } from "./start-error.ts";
import { type SupervisedProcess, superviseProcess } from "./supervised-process.ts";

export const ROOT = join(import.meta.dirname, "..");

const READY_MS = 90_000;
const WEB_STOP_MS = 15_000;
/** The worker finishes or hands back the slice it holds; each attempt in it is bounded by its own deadline. */
const WORKER_STOP_MS = 30_000;

export type StackOptions = {
  port: number;
  dataDir: string;
  databaseUrl: string;
  redisUrl: string | null;
  /** Also run the flaky downstream that the demo data points to. */
  demoPort?: number | null;
  /** Sources under a compiler instead of the build. */
  dev?: boolean;
  /** Further variables for web and worker. */
  env?: Record<string, string>;
  /** Ends a start that is under way. */
  signal?: AbortSignal;
  /** Called with the id of each process that starts, also of one that is started again. */
  spawned?: (pid: number) => void;
  /** Receives lines for the screen. */
  say: (line: string) => void;
};

export type Stack = {
  url: string;
  web: SupervisedProcess;
  worker: SupervisedProcess;
  /** In order: no new requests, then the worker, then the downstream it may still be delivering to. */
  stop(): Promise<void>;
  force(): void;
};

/**
 * V8's young generation, MB. Left to grow (to 32 twice) it takes 100 MB more under a long ingest stream, for no speed that
 * could be measured. The image sets the same, see image-entry.sh.
 */
const MEMORY = ["--max-semi-space-size=16"];

/** Starts web and worker (and the demo's downstream) on a migrated database, and resolves when all of them are ready. */
export async function startStack(options: StackOptions): Promise<Stack> {
  const { port, dev = false, say } = options;
  const running: SupervisedProcess[] = [];
  const start = async (name: string, script: string, stopMs: number) => {
    const compiler = script.endsWith(".ts") ? ["--import", "tsx"] : [];
    const process = await superviseProcess({
      name,
      args: [...compiler, ...MEMORY, script],
      env: childEnv(options),
      cwd: ROOT,
      logFile: join(options.dataDir, "logs", `${name}.log`),
      readyMs: READY_MS,
      stopMs,
      signal: options.signal,
      spawned: options.spawned,
      say,
      told: (message) => {
        const { kind, link } = message as { kind?: string; link?: string };
        if (kind === "set-up") say(`To make the first account, once, within a day: ${link}`);
      },
    });
    running.push(process);
    return process;
  };
  const stop = async () => {
    for (const name of ["web", "worker", "downstream"]) await running.find((process) => process.name === name)?.stop();
  };
  try {
    if (options.demoPort) await start("downstream", script("demo-downstream", dev), WEB_STOP_MS);
    const [web, worker] = await settled([
      start("web", script("web", dev), WEB_STOP_MS),
      start("worker", script("worker", dev), WORKER_STOP_MS),
    ]);
    const url = `http://127.0.0.1:${port}`;
    await untilReadyz(url, options.signal);
    const force = () => {
      for (const process of running) process.force();
    };
    return { url, web: web!, worker: worker!, stop, force };
  } catch (error) {
    await stop();
    throw error;
  }
}

const SOURCE_OF: Record<string, string> = {
  web: "scripts/web-server.ts",
  worker: "workers/main.ts",
  "demo-downstream": "workers/demo-downstream.ts",
};

function script(name: string, dev: boolean): string {
  return join(ROOT, dev ? SOURCE_OF[name]! : `dist/${name}.mjs`);
}

/** Waits for both even when one fails, so that the caller stops every process that came up. */
async function settled<T>(starts: Promise<T>[]): Promise<T[]> {
  const outcomes = await Promise.allSettled(starts);
  const failed = outcomes.find((outcome) => outcome.status === "rejected");
  if (failed) throw failed.reason;
  return outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
}

/** Variables that a Node process needs: paths, language and time zone, proxies, certificates, and those of OpenTelemetry. */
const INHERITED =
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|TMPDIR|TMP|TEMP|TZ|LANG|LANGUAGE|LC_.*|TERM|COLORTERM|NO_COLOR|FORCE_COLOR|NODE_.*|OTEL_.*|SSL_CERT_(?:FILE|DIR)|(?:HTTPS?|NO|ALL)_PROXY|PARKADE_.*|SYSTEMROOT|SYSTEMDRIVE|WINDIR|COMSPEC|PATHEXT|USERPROFILE|APPDATA|LOCALAPPDATA|PROGRAMDATA)$/i;
/** The launcher's own: with it web and worker could change the audit. */
const WITHHELD = new Set(["PARKADE_OWNER_DATABASE_URL"]);

/** The variables of the launcher's environment that web and worker need, and those that their sources may name. */
export function inheritedEnv(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const listed = new Set((env.PARKADE_ENV_REFERENCES ?? "").split(/[\s,]+/));
  const kept = Object.entries(env).filter(
    ([name]) => (INHERITED.test(name) || listed.has(name)) && !WITHHELD.has(name),
  );
  return Object.fromEntries(kept) as NodeJS.ProcessEnv;
}

function childEnv(options: StackOptions): NodeJS.ProcessEnv {
  return {
    ...inheritedEnv(process.env),
    NODE_ENV: options.dev ? "development" : "production",
    NEXT_TELEMETRY_DISABLED: "1",
    PORT: String(options.port),
    // No sign-in yet: listens on this machine alone, whatever the environment says.
    PARKADE_HOST: "127.0.0.1",
    PARKADE_DATA_DIR: options.dataDir,
    DATABASE_URL: options.databaseUrl,
    ...(options.redisUrl ? { REDIS_URL: options.redisUrl } : {}),
    ...(options.demoPort ? { PARKADE_DEMO: "1", PARKADE_DEMO_PORT: String(options.demoPort) } : {}),
    ...options.env,
  };
}

async function untilReadyz(url: string, signal: AbortSignal | undefined): Promise<void> {
  const until = performance.now() + READY_MS;
  let answer = "no answer";
  while (performance.now() < until) {
    signal?.throwIfAborted();
    try {
      const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(5_000) });
      if (response.ok) return;
      answer = `${response.status} ${(await response.text()).slice(0, 300)}`;
    } catch (error) {
      answer = error instanceof Error ? error.message : String(error);
    }
    await sleep(200);
  }
  throw new StartError(
    `The console is not ready after ${READY_MS / 1000} s (/readyz: ${answer}): see the logs in the data folder.`,
  );
}

/** The downstream's port, the same at every start: the demo's sources point to it. */
export async function demoPortOf(dataDir: string): Promise<number> {
  const path = join(dataDir, "demo-port");
  if (existsSync(path)) return Number(readFileSync(path, "utf8"));
  const port = await freePort();
  writeFileSync(path, String(port));
  return port;
}
