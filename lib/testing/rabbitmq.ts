import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { accessSync, constants, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { type ChannelModel, connect } from "amqplib";
import { isPortFree } from "../../scripts/free-port.ts";
import { fetchServer, serverMissing } from "../../scripts/test-servers/fetch.ts";
import type { TestCertificates } from "./certificates.ts";
import { freePort } from "./free-port.ts";
import { countingNode, countMessages, type MessageCounts } from "./rabbitmq-counts.ts";
import { type ServerProcess, startServer, type TestServer, testServer } from "./server-process.ts";

/**
 * The server's own script. Debian's `/usr/sbin/rabbitmq-server` is a wrapper that requires the `rabbitmq` user; the
 * script itself runs as any user.
 */
const DEBIAN_SCRIPT = "/usr/lib/rabbitmq/bin/rabbitmq-server";
const SCRIPT_CANDIDATES = [DEBIAN_SCRIPT, "/opt/rabbitmq/sbin/rabbitmq-server", "/usr/local/sbin/rabbitmq-server"];

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

/** A RabbitMQ on this machine. `root` is the folder that is the server's file system, null for the machine's own. */
type Installation = { root: string | null; script: string; epmd: string };

const installed = ((): Installation | null => {
  const script = SCRIPT_CANDIDATES.find(executable) ?? onPath("rabbitmq-server");
  const epmd = onPath("epmd");
  return script === null || epmd === null ? null : { root: null, script, epmd };
})();

/** Debian keeps the server in a folder that carries its version. */
const installedIs4 = ((): boolean => {
  try {
    return readdirSync("/usr/lib/rabbitmq/lib").some((name) => name.startsWith("rabbitmq_server-4"));
  } catch {
    return false;
  }
})();

/** Why the machine has no RabbitMQ of its own, or null: `describeWith(rabbitmqMissing, "rabbitmq", ...)`. */
export const rabbitmqMissing =
  installed === null ? "rabbitmq-server is not installed (Debian: apt-get install rabbitmq-server)" : null;

/** Null, or why RabbitMQ 4 cannot run here. Fetches it, which takes minutes on a slow line, where the machine has an older one. */
export async function rabbitmq4Missing(): Promise<string | null> {
  return installedIs4 ? null : serverMissing("debian-13");
}

async function installation(version: RabbitmqOptions["version"]): Promise<Installation> {
  if (version === "4" && !installedIs4) {
    return { root: await fetchServer("debian-13"), script: DEBIAN_SCRIPT, epmd: "/usr/bin/epmd" };
  }
  if (installed === null) throw new Error(rabbitmqMissing ?? "");
  return installed;
}

export type RabbitmqOptions = {
  /** The machine's own RabbitMQ (3.10 on Debian 12), or version 4. */
  version?: "installed" | "4";
  /** Adds a listener with TLS, at `tlsUrl`. A client may show a certificate, which is then verified. */
  certificates?: Pick<TestCertificates, "caFile" | "server">;
};

export type TestRabbitmq = TestServer & {
  url: string;
  port: number;
  /** `amqps://...`; answers only with `certificates`. */
  tlsUrl: string;
  /** An open connection for the set-up of a test. The test closes it. */
  connect(): Promise<ChannelModel>;
  /** Runs `rabbitmqctl` against this node (half a second) and resolves with what it printed. */
  ctl(...args: string[]): Promise<string>;
  /**
   * Writes the definitions of queues to disk, half a second. RabbitMQ does so some seconds late, and a kill before it takes a
   * durable queue away; only messages are on disk when they are confirmed.
   */
  storeDefinitions(): Promise<void>;
  /** Messages of a queue: ready, and handed out but not acknowledged. */
  messages(queue: string): Promise<MessageCounts>;
};

/**
 * A real RabbitMQ of its own: own node name, cookie, data and ports, so that several run side by side. RabbitMQ writes a new
 * quorum queue into its directory some seconds late: after kill -9 within that time the queue never elects a leader.
 */
export async function testRabbitmq(options: RabbitmqOptions = {}): Promise<TestRabbitmq> {
  const home = await installation(options.version ?? "installed");
  const ports = {
    ...{ amqp: await freePort(), epmd: await freePort(), distribution: await freePort() },
    tls: await freePort(),
  };
  let env: NodeJS.ProcessEnv = process.env;
  let mapper: ServerProcess | null = null;
  const prepare = async (folder: string) => {
    env = environment(folder, ports);
    writeFileSync(join(folder, "rabbitmq.conf"), configuration(ports, options));
    writeFileSync(join(folder, "enabled_plugins"), "[].\n");
    // If none listens, Erlang starts a port mapper as a daemon, which would outlive the test.
    const epmd = program(home.root, home.epmd, ["-port", String(ports.epmd), "-address", "127.0.0.1"]);
    mapper = await startServer({
      ...epmd,
      folder,
      name: "epmd",
      env,
      ready: async () => !(await isPortFree(ports.epmd)),
    });
    const ready = (log: string) => log.includes("Server startup complete");
    return { ...program(home.root, home.script, []), env, ready };
  };
  const server = await testServer("rabbitmq", prepare).catch(async (error: unknown) => {
    await mapper?.end("SIGKILL");
    throw error;
  });
  const ctl = async (...args: string[]) => {
    const { command, args: all } = program(home.root, join(dirname(home.script), "rabbitmqctl"), ["-q", ...args]);
    return (await promisify(execFile)(command, all, { env })).stdout;
  };
  const node = countingNode(`count-${randomBytes(6).toString("hex")}@localhost`);
  const erl = program(home.root, join(dirname(home.epmd), "erl"), node);
  const counts = countMessages(erl, env);
  const stop = async () => {
    counts.end();
    await mapper?.end("SIGKILL");
    await server.stop();
  };
  const storeDefinitions = async () => {
    await ctl("eval", "mnesia:sync_log().");
  };
  const url = `amqp://guest:guest@127.0.0.1:${ports.amqp}`;
  return {
    ...{ ...server, stop, ctl, storeDefinitions, messages: counts.of },
    ...{ url, port: ports.amqp, connect: () => connect(url) },
    tlsUrl: `amqps://guest:guest@127.0.0.1:${ports.tls}`,
  };
}

/**
 * A program of a Debian in a folder, run with that folder as its file system. The temporary folder is the machine's own, so
 * that paths in it mean the same inside and outside. The mounts are private to the program and end with it.
 */
function program(root: string | null, command: string, args: string[]): { command: string; args: string[] } {
  if (root === null) return { command, args };
  const script = `set -e
root=$1 shared=$2
shift 2
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
mkdir -p "$root$shared"
mount --bind "$shared" "$root$shared"
exec chroot "$root" "$@"`;
  const inside = ["/bin/sh", "-c", script, "sh", root, tmpdir(), command, ...args];
  return { command: "unshare", args: ["--mount", "--propagation", "private", ...inside] };
}

type Ports = Record<"amqp" | "epmd" | "distribution" | "tls", number>;

function configuration(ports: Ports, { certificates }: RabbitmqOptions): string {
  const lines = [
    "loopback_users = none",
    "disk_free_limit.absolute = 1MB",
    "vm_memory_high_watermark.absolute = 512MB",
    "log.console = true",
    "log.console.level = info",
    "log.file = false",
  ];
  if (certificates) {
    const { certFile, keyFile } = certificates.server;
    lines.push(`listeners.ssl.1 = 127.0.0.1:${ports.tls}`, `ssl_options.cacertfile = ${certificates.caFile}`);
    lines.push(`ssl_options.certfile = ${certFile}`, `ssl_options.keyfile = ${keyFile}`);
    lines.push("ssl_options.verify = verify_peer", "ssl_options.fail_if_no_peer_cert = false");
  }
  return `${lines.join("\n")}\n`;
}

function environment(folder: string, ports: Ports): NodeJS.ProcessEnv {
  const at = (name: string) => join(folder, name);
  for (const name of ["data", "log", "schema"]) mkdirSync(at(name));
  return {
    NODE_ENV: "test",
    PATH: process.env.PATH,
    LANG: "C.UTF-8",
    HOME: folder, // holds the Erlang cookie
    ERL_EPMD_PORT: String(ports.epmd),
    ERL_EPMD_ADDRESS: "127.0.0.1",
    RABBITMQ_NODENAME: `parkade-${randomBytes(6).toString("hex")}@localhost`,
    RABBITMQ_NODE_IP_ADDRESS: "127.0.0.1",
    RABBITMQ_NODE_PORT: String(ports.amqp),
    RABBITMQ_DIST_PORT: String(ports.distribution),
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
