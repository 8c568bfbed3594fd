import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestServer } from "./server-process.ts";

/** Imported when it is asked for: the import fetches the server. */
const START = {
  kafka: async () => (await import("./kafka.ts")).testKafka(),
  elasticmq: async () => (await import("./elasticmq.ts")).testElasticmq({ stored: false }),
  artemis: async () => (await import("./artemis.ts")).testArtemis(),
  rabbitmq4: async () => (await import("./rabbitmq.ts")).testRabbitmq({ version: "4" }),
};

export type SharedName = keyof typeof START;
/** What crosses a process border of a server: its addresses, and no function. */
export type Shared<N extends SharedName> = Omit<
  Awaited<ReturnType<(typeof START)[N]>>,
  "kill" | "start" | "stop" | "connect" | "ctl" | "messages"
>;

type SharedServers = { url: string; stop(): Promise<void> };

/**
 * Starts servers for a whole test run, each when a test file first asks for it by `GET <url>/<name>`. They belong to the
 * process of the global setup, since a test file's process ends before the next file's begins.
 */
export async function offerSharedServers(): Promise<SharedServers> {
  const started = new Map<SharedName, Promise<TestServer>>();
  const startOnce = (name: SharedName) => {
    const server = started.get(name) ?? START[name]();
    started.set(name, server);
    return server;
  };
  const http = createServer((request, response) => {
    startOnce(request.url!.slice(1) as SharedName).then(
      (server) => response.end(JSON.stringify(server)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const stop = async () => {
    http.close();
    http.closeAllConnections();
    // A server that did not start has nothing to stop, and the test that asked for it has failed.
    await Promise.allSettled([...started.values()].map(async (server) => (await server).stop()));
  };
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`, stop };
}
