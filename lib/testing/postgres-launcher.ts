import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const MODULE = pathToFileURL(join(import.meta.dirname, "../../scripts/embedded-postgres.ts")).href;

export type Launcher = { pid: number; url: string; kill(): Promise<void> };

/** Starts the embedded PostgreSQL from a process of its own, which a test can kill with -9. `pid` is the server's. */
export async function launchPostgres(dataDir: string): Promise<Launcher> {
  const code = `const { startPostgres } = await import(${JSON.stringify(MODULE)});
    const { url, pid } = await startPostgres({ dataDir: ${JSON.stringify(dataDir)}, ephemeral: true });
    process.send({ url, pid }); setInterval(() => {}, 1000);`;
  const child: ChildProcess = spawn(process.execPath, ["--input-type=module", "-e", code], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const ended = once(child, "exit");
  const [{ url, pid }] = await once(child, "message");
  const kill = async () => {
    child.kill("SIGKILL");
    await ended;
  };
  return { url, pid, kill };
}
