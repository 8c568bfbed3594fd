import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fetchServer, serverMissing } from "../../scripts/test-servers/fetch.ts";
import { type TestServer, testServer } from "./server-process.ts";

/** Null, or why there is no Celery here: `describeWith(celeryMissing, "celery", ...)`. Importing this file fetches it. */
export const celeryMissing = await serverMissing("celery");

export type TestCelery = TestServer & {
  /** Runs a program of Python beside the application, and returns what it printed. Throws when it fails. */
  python(program: string): string;
};

/**
 * A real Celery worker in one process. `application` is the source of the module `shop`, whose Celery object is `app`; it finds
 * the broker in the variable BROKER. Starts in 2 s.
 */
export async function testCelery({
  broker,
  application,
}: {
  broker: string;
  application: string;
}): Promise<TestCelery> {
  const env = { ...process.env, PYTHONPATH: await fetchServer("celery"), PYTHONDONTWRITEBYTECODE: "1", BROKER: broker };
  const quick = ["--without-mingle", "--without-gossip", "--without-heartbeat"];
  const worker = ["-m", "celery", "--app", "shop", "worker", "--pool", "solo", "--loglevel", "INFO", ...quick];
  const server = await testServer("celery", async (folder) => {
    writeFileSync(join(folder, "shop.py"), application);
    return { command: "python3", args: worker, env, ready: (log) => / ready\.\s/.test(log) };
  });
  const python = (program: string) => {
    const options = { cwd: server.folder, env, encoding: "utf8" } as const;
    const { status, stdout, stderr } = spawnSync("python3", ["-c", program], options);
    if (status !== 0) throw new Error(`python3 ended with code ${status}: ${stderr}`);
    return stdout.trim();
  };
  return { ...server, python };
}
