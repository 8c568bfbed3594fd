import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import pg from "pg";
import type { Statement } from "./load";

/** A bare HTTP server: it sends the recorded statements of a path through `pg`, and the recorded answer as JSON. */

export type Recording = {
  path: string;
  statements: Statement[];
  answer: unknown;
};

process.once("message", ({ url, recordings }: { url: string; recordings: Recording[] }) => {
  // The same plans as the console's lists have: the ratio measures the layers above them.
  const onConnect = (client: pg.ClientBase) => client.query("set plan_cache_mode = force_generic_plan");
  const pool = new pg.Pool({
    connectionString: url,
    max: 10,
    types: { getTypeParser: () => (text: string) => text },
    ...{ onConnect },
  });
  const byPath = new Map(recordings.map((one) => [one.path, one]));
  const server = createServer(async (request, response) => {
    const { statements, answer } = byPath.get(request.url!)!;
    await Promise.all(statements.map((one) => pool.query(one)));
    const body = JSON.stringify(answer);
    response
      .writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) })
      .end(body);
  });
  server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }));
});
process.once("disconnect", () => process.exit(0));
process.send?.("waiting");
