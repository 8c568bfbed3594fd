import type { ChildProcess } from "node:child_process";
import { createWriteStream, mkdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { type TestRedis, testRedis } from "@/lib/testing/redis";
import { startTcpProxy, type TcpProxy } from "@/lib/testing/tcp-proxy";
import { freePort } from "../scripts/free-port.ts";
import { migrate } from "../scripts/migrate.ts";
import { supervisePostgres } from "../scripts/supervised-postgres.ts";
import { spawnProgram } from "./processes.ts";

export type Backend = "redis" | "postgres";

/** The whole product in processes of its own, each of which can be killed, frozen or cut off from the others. */
export type Product = {
  url: string;
  /** Past the proxy, for the checks. */
  databaseUrl: string;
  web: Program;
  workers: Program[];
  /** Process id of the PostgreSQL server. */
  postgresPid(): number;
  storeLink: TcpProxy;
  redis: { server: TestRedis; link: TcpProxy } | null;
  /** Resolves when /readyz answers 200 and every program runs. */
  ready(timeoutMs: number): Promise<void>;
  stop(): Promise<void>;
};

/** One process that is started again after its death, as an orchestrator does. */
export type Program = {
  name: string;
  pid(): number | null;
  signal(signal: NodeJS.Signals): void;
  end(): Promise<void>;
};

/** Pause of an orchestrator before it starts a dead process again. */
const RESTART_MS = 500;

export async function startProduct(backend: Backend, dir: string): Promise<Product> {
  mkdirSync(dir, { recursive: true });
  const postgres = await supervisePostgres({ dataDir: dir }, (line) => console.log(`  ${line}`));
  await migrate(postgres.url);
  const storeLink = await startTcpProxy(Number(new URL(postgres.url).port));
  const server = backend === "redis" ? await testRedis() : null;
  const link = server === null ? null : await startTcpProxy(server.port);
  const port = await freePort();
  const env = {
    NEXT_TELEMETRY_DISABLED: "1",
    PORT: String(port),
    PARKADE_HOST: "127.0.0.1",
    PARKADE_DATA_DIR: dir,
    DATABASE_URL: through(postgres.url, storeLink.port),
    REDIS_URL: link === null ? "" : `redis://127.0.0.1:${link.port}`,
  };
  const web = startProgram("web", env, dir);
  const workers = [startProgram("worker", env, dir), startProgram("worker", env, dir)];
  const url = `http://127.0.0.1:${port}`;
  const programs = [web, ...workers];
  const ready = async (timeoutMs: number) => {
    const until = performance.now() + timeoutMs;
    for (;;) {
      if (programs.every((program) => program.pid() !== null) && (await answersReady(url))) return;
      if (performance.now() > until) throw new Error(`the product is not ready after ${timeoutMs} ms`);
      await sleep(50);
    }
  };
  const stop = async () => {
    storeLink.resume();
    link?.resume();
    await Promise.all(programs.map((program) => program.end()));
    await link?.stop();
    await server?.stop();
    await storeLink.stop();
    await postgres.force();
  };
  await ready(60_000);
  return {
    url,
    databaseUrl: postgres.url,
    web,
    workers,
    postgresPid: postgres.pid,
    storeLink,
    redis: server && link ? { server, link } : null,
    ready,
    stop,
  };
}

function through(databaseUrl: string, port: number): string {
  const url = new URL(databaseUrl);
  url.port = String(port);
  return url.toString();
}

async function answersReady(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) })).ok;
  } catch {
    return false;
  }
}

let started = 0;

function startProgram(script: "web" | "worker", env: Record<string, string>, dir: string): Program {
  const name = `${script}-${started++}`;
  const log = createWriteStream(`${dir}/${name}.log`, { flags: "a" });
  let child: ChildProcess | null = null;
  let ending = false;
  const launch = () => {
    const one = spawnProgram(script, env, { output: "pipe" });
    one.stdout!.pipe(log, { end: false });
    one.stderr!.pipe(log, { end: false });
    one.once("message", () => {
      child = one;
    });
    one.once("exit", () => {
      child = null;
      if (!ending) setTimeout(launch, RESTART_MS);
    });
    running = one;
  };
  let running: ChildProcess | undefined;
  launch();
  return {
    name,
    pid: () => child?.pid ?? null,
    signal: (signal) => void running?.kill(signal),
    end: async () => {
      ending = true;
      if (!running || running.exitCode !== null || running.signalCode !== null) return;
      const gone = new Promise((resolve) => running!.once("exit", resolve));
      running.kill("SIGCONT");
      running.kill("SIGTERM");
      const timer = setTimeout(() => running!.kill("SIGKILL"), 20_000);
      await gone;
      clearTimeout(timer);
    },
  };
}
