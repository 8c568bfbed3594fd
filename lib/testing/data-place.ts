import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const MEMORY = "/dev/shm";

/**
 * A new folder `parkade-<name>-<pid>-…` for the databases of this test run, in memory where `bytesMin` bytes are free there: a database
 * is hundreds of files, which a disk creates and deletes slowly. Folders of runs whose process is gone are removed first.
 */
export function makeDataPlace(name: string, bytesMin: number): string {
  const place = hasRoom(bytesMin) ? MEMORY : tmpdir();
  const prefix = `parkade-${name}-`;
  for (const entry of readdirSync(place).filter((one) => one.startsWith(prefix))) {
    const owner = /^(\d+)-/.exec(entry.slice(prefix.length))?.[1];
    if (owner !== undefined && !isRunning(Number(owner))) rmSync(join(place, entry), { recursive: true, force: true });
  }
  const folder = mkdtempSync(join(place, `${prefix}${process.pid}-`));
  // mkdtemp makes the folder private; run by root, the server runs as another user, who needs access.
  chmodSync(folder, 0o755);
  return folder;
}

function hasRoom(bytes: number): boolean {
  if (!existsSync(MEMORY)) return false;
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize >= bytes;
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
