import { spawnSync } from "node:child_process";
import { chmodSync, closeSync, mkdtempSync, openSync, rmdirSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A file system of its own that can be filled to the last byte. */
export type SmallDisk = {
  /** Its folder, which every user may enter. */
  path: string;
  /** Fills the disk to the last byte. */
  fill(): void;
  /** Removes the file that `fill` wrote. */
  makeRoom(): void;
  unmount(): void;
};

/** False where this process may not mount: skip the test by it, so that the report names the skip. */
export const disksMountable = (() => {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return false;
  try {
    mountDisk(1).unmount();
    return true;
  } catch {
    // Root without the right to mount, as in most containers.
    return false;
  }
})();

/** Mounts a file system in memory. Only written bytes take memory, so a large empty one costs nothing. */
export function mountDisk(mebibytes: number): SmallDisk {
  const path = mkdtempSync(join(tmpdir(), "parkade-disk-"));
  chmodSync(path, 0o755);
  const filler = join(path, "filler");
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${mebibytes}m,mode=755`, "tmpfs", path]);
  if (mounted.status !== 0) {
    rmdirSync(path);
    throw new Error(`cannot mount a tmpfs: ${mounted.stderr}`);
  }
  return {
    path,
    fill: () => {
      const file = openSync(filler, "a");
      for (let bytes = 2 ** 20; bytes >= 1; bytes = Math.floor(bytes / 2)) writeWhilePossible(file, bytes);
      closeSync(file);
    },
    makeRoom: () => rmSync(filler, { force: true }),
    unmount: () => {
      spawnSync("umount", ["-l", path]);
      rmdirSync(path);
    },
  };
}

function writeWhilePossible(file: number, bytes: number): void {
  const block = Buffer.alloc(bytes, "x");
  try {
    while (writeSync(file, block) > 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  }
}
