import { type ChildProcess, spawn } from "node:child_process";
import type { Socket } from "node:net";

export type GuardOptions = {
  signal: "INT" | "TERM" | "KILL";
  /** Seconds between our death and the signal: time for other children to end their work. */
  graceSeconds?: number;
  /** File whose first line must still be the process id, so that a server taken over meanwhile is left alone. */
  pidFile?: string;
  user?: { uid: number; gid: number };
};

const SCRIPT = `read -r _
sleep "$3"
if [ -n "$4" ]; then read -r now < "$4" && [ "$now" = "$1" ] || exit 0; fi
kill -"$2" "$1"`;

/**
 * Ends a server when this process dies in any way, kill -9 included: a shell waits on a pipe that only we hold.
 * Returns the function that ends the guard.
 */
export function guardAgainstOrphan(pid: number, options: GuardOptions): () => void {
  const { signal, graceSeconds = 0, pidFile = "", user } = options;
  const guard: ChildProcess = spawn(
    "/bin/sh",
    ["-c", SCRIPT, "sh", String(pid), signal, String(graceSeconds), pidFile],
    { ...user, cwd: "/", detached: true, stdio: ["pipe", "ignore", "ignore"] },
  );
  const pipe = guard.stdin as Socket;
  // The guard was ended while its pipe was open: an error of the pipe changes nothing.
  pipe.on("error", () => undefined);
  pipe.unref();
  guard.unref();
  return () => guard.kill("SIGKILL");
}
