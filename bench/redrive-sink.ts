import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** The receiver of the redrive bench, a process of its own: reads each request to its end and answers 204, a batch with each result. */
let received = 0;
const server = createServer((request, response) => {
  if (request.headers["content-type"] === "application/x-ndjson") {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const lines = Buffer.concat(chunks).toString().trimEnd().split("\n");
      received += lines.length;
      const results = lines.map((line) => `{"key":${JSON.stringify(JSON.parse(line).key)},"status":200}\n`);
      response.writeHead(200).end(results.join(""));
    });
    return;
  }
  request.resume();
  request.on("end", () => {
    if (request.method === "POST") received++; // not the worker's probes
    response.writeHead(204).end();
  });
});
process.on("message", () => process.send?.({ received }));
process.on("disconnect", () => process.exit()); // the bench was killed
server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }));
