import { spawnSync } from "node:child_process";
import { globSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { freePort } from "./free-port.ts";
import { type TestServer, testServer } from "./server-process.ts";

/** The emulator inside the Google Cloud CLI of this machine; null = there is none. */
function emulatorJar(): string | null {
  const { stdout } = spawnSync("/bin/sh", ["-c", "command -v gcloud && command -v java"], { encoding: "utf8" });
  const [gcloud, java] = stdout.split("\n").filter(Boolean);
  if (gcloud === undefined || java === undefined) return null;
  const root = dirname(dirname(realpathSync(gcloud)));
  const [jar] = globSync(join(root, "platform/pubsub-emulator/lib/cloud-pubsub-emulator-*-all.jar"));
  return jar ?? null;
}

const jar = emulatorJar();

/**
 * Null, or why there is no Pub/Sub here: `describeWith(pubsubMissing, "pubsub", ...)`. No package registry has the emulator, so
 * that it cannot be fetched: it is a skip also where nothing else may be skipped.
 */
export const pubsubMissing =
  jar === null ? "the Pub/Sub emulator of the Google Cloud CLI, or java, is not on this machine" : null;

export type TestPubsub = TestServer & {
  /** `127.0.0.1:<port>`, without encryption or accounts. */
  address: string;
  port: number;
};

/** The emulator of Google. It keeps everything in memory. */
export async function testPubsub(): Promise<TestPubsub> {
  const port = await freePort();
  const server = await testServer("pubsub", async () => {
    const java = "-Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1".split(" ");
    const args = [...java, "-jar", jar!, "--host=127.0.0.1", `--port=${port}`];
    return { command: "java", args, ready: (log) => log.includes("Server started") };
  });
  return { ...server, address: `127.0.0.1:${port}`, port };
}
