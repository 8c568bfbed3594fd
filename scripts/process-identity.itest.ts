import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { isAlive, releaseLock, takeLock } from "./process-identity.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "parkade-lock-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

// Elsewhere than on Linux the same facts come from `ps`.
test.runIf(process.platform === "linux")(
  "a process that has ended runs no more, and holds no lock, before its parent knows",
  async () => {
    // The shell becomes a `sleep`, which never takes the exit code of the child.
    const parent = spawn("/bin/sh", ["-c", "/bin/sh -c 'read -r _' <&3 & echo $!; exec sleep 600"], {
      stdio: ["ignore", "pipe", "ignore", "pipe"],
    });
    try {
      const [pid] = (await once(parent.stdout!, "data")).map((text) => Number(String(text)));
      expect(isAlive(pid!)).toBe(true);
      const lock = join(dir, "a.lock");
      // Its own: what a process that runs has written is not taken.
      expect(takeLock(lock)).toBeNull();
      expect(takeLock(lock)).toBe(process.pid);
      releaseLock(lock);
      // The lock as this process would have written it: its id, and when it started (field 22 of proc_pid_stat(5)).
      const held = `${pid} ${readFileSync(`/proc/${pid}/stat`, "utf8").split(" ")[21]}\n`;
      writeFileSync(lock, held);
      expect(takeLock(lock)).toBe(pid);
      rmSync(lock);
      (parent.stdio[3] as NodeJS.WritableStream).end();
      await expect.poll(() => isAlive(pid!)).toBe(false);
      // A signal still finds it: it has an id until its parent ends.
      expect(process.kill(pid!, 0)).toBe(true);
      writeFileSync(lock, held);
      expect(takeLock(lock)).toBeNull();
    } finally {
      parent.kill("SIGKILL");
    }
  },
);
