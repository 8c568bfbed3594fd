// Runs before `npm start`, `npm test` and others, possibly on a machine where nothing is installed yet: Node 20, no
// dependencies. With `start` it installs what a start needs and leaves out the tools of developers.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { lockForStart } from "./lock-for-start.mjs";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const MODULES = join(ROOT, "node_modules");
const MARK = join(MODULES, ".parkade-lock");
/** Whoever has the tools of developers keeps them at a start. */
const DEVELOPS = process.argv[2] !== "start" || existsSync(join(MODULES, "vitest"));
const NODE_MIN = [22, 22];

function say(line) {
  process.stdout.write(`${line}\n`);
}

function fail(sentence) {
  process.stderr.write(`parkade: ${sentence}\n`);
  process.exit(1);
}

/** What an install depends on: the lockfile, and the machine, because a clone may be moved to another one. */
function wantedMark() {
  const lock = readFileSync(join(ROOT, "package-lock.json"));
  const hash = createHash("sha256").update(lock).update(`${process.platform} ${process.arch}`).digest("hex");
  return `${hash} ${DEVELOPS ? "all" : "start"}`;
}

/** True when somebody ran `npm ci` by hand: npm's own record names the versions of the lockfile. */
function isInstalledByHand() {
  const record = join(MODULES, ".package-lock.json");
  if (!existsSync(record)) return false;
  const read = (path) => JSON.parse(readFileSync(path, "utf8")).packages;
  const [installed, wanted] = [read(record), read(join(ROOT, "package-lock.json"))];
  return Object.entries(wanted).every(
    ([path, { version, optional, link }]) => path === "" || optional || link || installed[path]?.version === version,
  );
}

function installAll(mark) {
  say("Installing all packages (once, and after an update)");
  // What a start has installed stays, also below a console that runs: `npm ci` would remove it first.
  const whole = existsSync(MARK) && readFileSync(MARK, "utf8") === mark.replace("all", "start");
  if (!whole) assertUnused();
  npm(whole ? ["install", "--no-save"] : ["ci"], ROOT);
  runScripts(ROOT);
}

/** In a folder of its own, because npm installs a lockfile whole, and then moved to its place. */
function installForStart() {
  assertUnused();
  say("Installing the packages of a start (once, and after an update)");
  const folder = join(ROOT, ".parkade-install");
  try {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
    const read = (name) => JSON.parse(readFileSync(join(ROOT, name), "utf8"));
    const write = (name, value) => writeFileSync(join(folder, name), JSON.stringify(value));
    const { manifest, lock } = lockForStart(read("package.json"), read("package-lock.json"));
    write("package.json", manifest);
    write("package-lock.json", lock);
    if (existsSync(join(ROOT, ".npmrc"))) cpSync(join(ROOT, ".npmrc"), join(folder, ".npmrc"));
    npm(["ci"], folder);
    runScripts(folder);
    rmSync(MODULES, { recursive: true, force: true });
    renameSync(join(folder, "node_modules"), MODULES);
  } catch (error) {
    failWith(String(error));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** An install replaces files that a console running from this folder still loads: its pages and its worker would fail one by one. */
function assertUnused() {
  const dataDir = resolve(ROOT, process.env.PARKADE_DATA_DIR || ".parkade");
  const launcher = existsSync(MODULES) ? launcherOf(join(dataDir, "run.json")) : null;
  if (launcher === null) return;
  fail(
    `Parkade runs from this folder (process ${launcher}), and its packages have changed: stop it, then start it again.`,
  );
}

/** As `run-lock.ts` writes it; null = none runs. */
function launcherOf(path) {
  try {
    const { launcher, started } = JSON.parse(readFileSync(path, "utf8"));
    process.kill(launcher, 0);
    if (!existsSync("/proc/self/stat")) return launcher;
    const stat = readFileSync(`/proc/${launcher}/stat`, "utf8");
    // Field 3 begins after the name, which may contain spaces; the start time is field 22. Another process may have the id by now.
    const since = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
    return started === undefined || started === since ? launcher : null;
  } catch (error) {
    return error.code === "EPERM" ? "of another user" : null;
  }
}

/** Of the packages that package.json allows, and of no other: an install script of any package could do what its user can. */
function runScripts(folder) {
  const { allowScripts = {} } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  const names = Object.keys(allowScripts).filter(
    (name) => allowScripts[name] && existsSync(join(folder, "node_modules", name)),
  );
  if (names.length > 0) npm(["rebuild", ...names, "--ignore-scripts=false"], folder);
}

function npm(command, cwd) {
  const args = ["--ignore-scripts", ...command, "--include=dev", "--no-audit", "--no-fund", "--loglevel=error"];
  // The npm that runs us, if any: the one on PATH may be another or none.
  const own = process.env.npm_execpath;
  const [program, prefix] = own && existsSync(own) ? [process.execPath, [own]] : ["npm", []];
  const run = spawnSync(program, [...prefix, ...args], { cwd, encoding: "utf8", maxBuffer: 64 * 2 ** 20 });
  if (run.error?.code === "ENOENT") fail("npm is not on the PATH: install Node.js together with npm, then try again.");
  if (run.status !== 0) failWith(`${run.stdout ?? ""}${run.stderr ?? ""}`);
}

/** Ends with the fix when the reason is a known one. */
function failWith(output) {
  process.stderr.write(output);
  if (/ENOSPC|no space left/i.test(output))
    fail(`The disk that holds ${ROOT} is full: free about 1.5 GB, then try again.`);
  if (/EACCES|EPERM|EROFS/.test(output)) fail(`${ROOT} cannot be written: give your user the folder, then try again.`);
  if (/ENOTFOUND|ECONNREFUSED|ETIMEDOUT|EAI_AGAIN|ECONNRESET/.test(output)) {
    fail("The npm registry cannot be reached: check the network and `npm config get registry`, then try again.");
  }
  fail("The packages could not be installed: npm's reason stands above.");
}

/** The packages bring Node 24 with them; it stands first on the PATH of every npm script from the next one on. */
function checkNode() {
  const bundled = join(MODULES, ".bin", "node");
  const probe = spawnSync(bundled, ["--version"], { encoding: "utf8" });
  const version = probe.status === 0 ? probe.stdout.trim() : process.version;
  const [major = 0, minor = 0] = version.slice(1).split(".").map(Number);
  if (major > NODE_MIN[0] || (major === NODE_MIN[0] && minor >= NODE_MIN[1])) return;
  fail(
    `Node ${NODE_MIN.join(".")} or newer is needed and this is ${version}; the one from npm did not install (are install scripts switched off?): run \`npm ci --ignore-scripts=false\`, or install Node 24.`,
  );
}

if (Number(process.versions.node.split(".")[0]) < 18)
  fail(`Node ${process.version} cannot install the packages: install Node 24.`);
const mark = wantedMark();
if (!existsSync(MARK) || readFileSync(MARK, "utf8") !== mark) {
  const startedMs = performance.now();
  if (!isInstalledByHand()) {
    if (DEVELOPS) installAll(mark);
    else installForStart();
    say(`Installed in ${((performance.now() - startedMs) / 1000).toFixed(1)} s`);
  }
  writeFileSync(MARK, mark);
}
checkNode();
