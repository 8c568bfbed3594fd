import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { accessSync, constants, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect as dial } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { type ChannelModel, connect } from "amqplib";
import { guardAgainstOrphan } from "../../scripts/orphan-guard.ts";
import { freePort } from "./free-port.ts";

/**
 * The server's own script. Debian's `/usr/sbin/rabbitmq-server` is a wrapper that requires the `rabbitmq` user; the
 * script itself runs as any user.
 */
const SCRIPT_CANDIDATES = [
  "/usr/lib/rabbitmq/bin/rabbitmq-server",
  "/opt/rabbitmq/sbin/rabbitmq-server",
  "/usr/local/sbin/rabbitmq-server",
];

function executable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function onPath(name: string): string | null {
  const folders = (process.env.PATH ?? "").split(delimiter).concat("/usr/sbin");
  return folders.map((folder) => join(folder, name)).find(executable) ?? null;
}

const serverScript = SCRIPT_CANDIDATES.find(executable) ?? onPath("rabbitmq-server");
const epmd = onPath("epmd");

/**
 * False on a machine without RabbitMQ. `describe.skipIf(!rabbitmqInstalled)(...)` shows the tests as skipped instead of
 * letting them pass silently.
 */
export const rabbitmqInstalled = serverScript !== null && epmd !== null;
/** The reason of the skip, for the title of the skipped suite. */
export const RABBITMQ_MISSING = "rabbitmq-server is not installed (Debian: apt-get install rabbitmq-server)";

export type TestRabbitmq = {
  url: string;
  port: number;
  /** An open connection for the set-up of a test. The test closes it. */
  connect(): Promise<ChannelModel>;
  /** Runs `rabbitmqctl` against this node (half a second) and resolves with what it printed. */
  ctl(...args: string[]): Promise<string>;
  /** Messages of a queue: ready, and handed out but not acknowledged. */
  messages(queue: string): Promise<{ ready: number; unacknowledged: number }>;
  /** kill -9. Durable queues keep their persistent messages on disk. */
  kill(): Promise<void>;
  /** Starts the same node again after `kill`. */
  start(): Promise<void>;
  /** Stops the server and its port mapper and removes its folder. */
  stop(): Promise<void>;
};

const READY_MS = 60_000;

const CONFIG = `
loopback_users = none
disk_free_limit.absolute = 1MB
vm_memory_high_watermark.absolute = 512MB
log.console = false
`;

/** A real RabbitMQ of its own: own node name, cookie, data and ports, so that several run side by side. */
export async function testRabbitmq(): Promise<TestRabbitmq> {
  if (serverScript === null || epmd === null) throw new Error(RABBITMQ_MISSING);
  const folder = mkdtempSync(join(tmpdir(), "parkade-rabbitmq-"));
  const [port, epmdPort, distributionPort] = [await freePort(), await freePort(), await freePort()];
  const env = environment(folder, { port, epmdPort, distributionPort });
  // If none listens, Erlang starts a port mapper as a daemon, which would outlive the test.
  const mapper = spawn(epmd, ["-port", String(epmdPort), "-address", "127.0.0.1"], { stdio: "ignore" });
  guard(mapper);
  await listening(epmdPort);
  const url = `amqp://guest:guest@127.0.0.1:${port}`;
  let server: ChildProcess | null = null;
  const start = async () => {
    server = await launch(serverScript, env, url, folder);
  };
  const kill = async () => {
    if (server !== null) await endGroup(server);
    server = null;
  };
  const ctl = async (...args: string[]) => {
    const { stdout } = await promisify(execFile)(join(dirname(serverScript), "rabbitmqctl"), ["-q", ...args], { env });
    return stdout;
  };
  const messages = async (queue: string) => {
    const table = await ctl("list_queues", "name", "messages_ready", "messages_unacknowledged");
    const row = table.split("\n").map((line) => line.split("\t"));
    const [, ready, unacknowledged] = row.find(([name]) => name === queue) ?? [];
    return { ready: Number(ready), unacknowledged: Number(unacknowledged) };
  };
  const stop = async () => {
    await kill();
    mapper.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  };
  try {
    await start();
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, port, connect: () => connect(url), kill, start, stop, ctl, messages };
}

type Ports = { port: number; epmdPort: number; distributionPort: number };

function environment(folder: string, { port, epmdPort, distributionPort }: Ports): NodeJS.ProcessEnv {
  const at = (name: string) => join(folder, name);
  mkdirSync(at("data"));
  mkdirSync(at("log"));
  mkdirSync(at("schema"));
  writeFileSync(at("rabbitmq.conf"), CONFIG);
  writeFileSync(at("enabled_plugins"), "[].\n");
  return {
    NODE_ENV: "test",
    PATH: process.env.PATH,
    LANG: "C.UTF-8",
    HOME: folder, // holds the Erlang cookie
    ERL_EPMD_PORT: String(epmdPort),
    ERL_EPMD_ADDRESS: "127.0.0.1",
    RABBITMQ_NODENAME: `parkade-${randomBytes(6).toString("hex")}@localhost`,
    RABBITMQ_NODE_IP_ADDRESS: "127.0.0.1",
    RABBITMQ_NODE_PORT: String(port),
    RABBITMQ_DIST_PORT: String(distributionPort),
    RABBITMQ_CONF_ENV_FILE: at("no-such-file"),
    RABBITMQ_CONFIG_FILE: at("rabbitmq.conf"),
    RABBITMQ_ENABLED_PLUGINS_FILE: at("enabled_plugins"),
    RABBITMQ_MNESIA_BASE: at("data"),
    RABBITMQ_LOG_BASE: at("log"),
    RABBITMQ_SCHEMA_DIR: at("schema"),
    RABBITMQ_GENERATED_CONFIG_DIR: at("schema"),
    RABBITMQ_PID_FILE: at("pid"),
    // The node shares two cores with all other tests.
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: "+S 2:2 +A 16",
  };
}

async function launch(script: string, env: NodeJS.ProcessEnv, url: string, folder: string): Promise<ChildProcess> {
  // Its own process group: the script starts the Erlang machine as a child, and both must end together.
  const server = spawn(script, [], { env, cwd: folder, detached: true, stdio: ["ignore", "ignore", "ignore"] });
  guard(server);
  const until = performance.now() + READY_MS;
  while (!(await answers(url))) {
    if (server.exitCode === null && performance.now() < until) {
      await sleep(100);
      continue;
    }
    await endGroup(server);
    throw new Error(`rabbitmq-server did not start: ${lastLog(folder, env)}`);
  }
  return server;
}

async function listening(port: number): Promise<void> {
  const until = performance.now() + READY_MS;
  while (!(await accepts(port))) {
    if (performance.now() > until) throw new Error(`epmd does not listen on ${port}`);
    await sleep(20);
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = dial(port, "127.0.0.1", () => resolve(true));
    socket.once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}

async function answers(url: string): Promise<boolean> {
  try {
    const connection = await connect(url, { timeout: 2_000 });
    await connection.close();
    return true;
  } catch {
    return false; // not yet; the caller knows how long to ask
  }
}

function lastLog(folder: string, env: NodeJS.ProcessEnv): string {
  try {
    return readFileSync(join(folder, "log", `${env.RABBITMQ_NODENAME}.log`), "utf8").slice(-2_000);
  } catch {
    return "it wrote no log";
  }
}

/** A killed test run must not leave a server. A negative id names the whole process group. */
function guard(child: ChildProcess): void {
  if (child.pid === undefined) return;
  const grouped = child.spawnfile !== epmd;
  child.once("exit", guardAgainstOrphan(grouped ? -child.pid : child.pid, { signal: "KILL" }));
}

function endGroup(server: ChildProcess): Promise<void> {
  if (server.pid === undefined || server.exitCode !== null || server.signalCode !== null) return Promise.resolve();
  const { pid } = server;
  return new Promise((resolve) => {
    server.once("exit", () => resolve());
    process.kill(-pid, "SIGKILL");
  });
}
