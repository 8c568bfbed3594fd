// Runs before `npm start` and `npm test`, possibly on a machine where nothing is installed yet: Node 20, no dependencies.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const MODULES = join(ROOT, "node_modules");
const MARK = join(MODULES, ".parkade-lock");
const NODE_MIN = [22, 22];

function fail(sentence) {
  process.stderr.write(`parkade: ${sentence}\n`);
  process.exit(1);
}

/** What an install depends on: the lockfile, and the machine, because a clone may be moved to another one. */
function wantedMark() {
  const lock = readFileSync(join(ROOT, "package-lock.json"));
  return createHash("sha256").update(lock).update(`${process.platform} ${process.arch}`).digest("hex");
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

function install() {
  process.stdout.write("Installing packages (once, and after an update)\n");
  const args = ["ci", "--include=dev", "--no-audit", "--no-fund", "--loglevel=error"];
  // The npm that runs us, if any: the one on PATH may be another or none.
  const npm = process.env.npm_execpath;
  const [command, prefix] = npm && existsSync(npm) ? [process.execPath, [npm]] : ["npm", []];
  const run = spawnSync(command, [...prefix, ...args], { cwd: ROOT, encoding: "utf8", maxBuffer: 64 * 2 ** 20 });
  const output = `${run.stdout ?? ""}${run.stderr ?? ""}`;
  if (run.error?.code === "ENOENT") fail("npm is not on the PATH: install Node.js together with npm, then try again.");
  if (run.status === 0) return;
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
  if (!isInstalledByHand()) install();
  writeFileSync(MARK, mark);
}
checkNode();
