import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fetchServer, serverMissing } from "../../scripts/test-servers/fetch.ts";
import type { TestCertificates } from "./certificates.ts";
import { freePort } from "./free-port.ts";
import { answersHttp, type TestServer, testServer } from "./server-process.ts";

/** The machine's own nats-server, if it honours `term` with a reason, which it does from 2.10 on. Debian 12 has 2.9. */
const installed = (() => {
  const [, major, minor] =
    /v(\d+)\.(\d+)/.exec(spawnSync("nats-server", ["-v"], { encoding: "utf8" }).stdout ?? "") ?? [];
  return Number(major) > 2 || (Number(major) === 2 && Number(minor) >= 10);
})();

/** Null, or why there is no NATS here: `describeWith(natsMissing, "nats", ...)`. Importing this file fetches the server. */
export const natsMissing = installed ? null : await serverMissing("debian-13");

export type NatsOptions = {
  /** The server then speaks TLS only. */
  certificates?: Pick<TestCertificates, "server">;
  /** More of nats-server.conf, such as users and what they may do. */
  config?: string;
};

export type TestNats = TestServer & {
  /** `127.0.0.1:<port>`, as `servers` of a client takes it. */
  address: string;
  port: number;
};

/** A real nats-server of its own with JetStream on disk. Starts in 0.1 s. */
export async function testNats({ certificates, config = "" }: NatsOptions = {}): Promise<TestNats> {
  const command = installed ? "nats-server" : join(await fetchServer("debian-13"), "usr/sbin/nats-server");
  const [port, httpPort] = [await freePort(), await freePort()];
  const server = await testServer("nats", async (folder) => {
    const file = join(folder, "nats.conf");
    const { certFile, keyFile } = certificates?.server ?? {};
    const tls = certificates ? `tls { cert_file: "${certFile}", key_file: "${keyFile}" }` : "";
    // Each acknowledged publish is on disk, so that kill -9 loses none.
    const jetstream = `jetstream { store_dir: "${join(folder, "data")}", sync_interval: always }`;
    writeFileSync(
      file,
      [`listen: 127.0.0.1:${port}`, `http: 127.0.0.1:${httpPort}`, jetstream, tls, config, ""].join("\n"),
    );
    return { command, args: ["-c", file], ready: () => answersHttp(`http://127.0.0.1:${httpPort}/healthz`) };
  });
  return { ...server, address: `127.0.0.1:${port}`, port };
}
