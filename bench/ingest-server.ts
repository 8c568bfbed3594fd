import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { createDeps, setDeps } from "@/app/_server/deps";
import * as events from "@/app/(events)/api/v1/events/route";
import { readEnv } from "@/lib/platform/env";
import { createLog } from "@/lib/platform/log";

/** The route of POST /api/v1/events behind a bare HTTP server, in a process of its own so that its memory is its own. */

setDeps(createDeps(readEnv(), createLog({ process: "bench", level: "silent" })));

const server = createServer((request, response) => {
  const incoming = new Request(`http://localhost${request.url}`, {
    method: "POST",
    headers: { "content-type": request.headers["content-type"] ?? "" },
    body: Readable.toWeb(request) as ReadableStream,
    duplex: "half",
  } as RequestInit);
  events.POST(incoming, { params: Promise.resolve({}) }).then(
    async (answer) => response.writeHead(answer.status).end(await answer.text()),
    (error: unknown) => response.writeHead(500).end(String(error)),
  );
});

server.listen(0, "127.0.0.1", () => {
  process.send?.({ port: (server.address() as AddressInfo).port });
});

const SAMPLE_MS = 100;
setInterval(() => process.send?.({ rssBytes: process.memoryUsage().rss }), SAMPLE_MS).unref();
process.once("disconnect", () => process.exit(0));
