import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** The receiver of the redrive bench, a process of its own: reads each request to its end and answers 204. */
let received = 0;
const server = createServer((request, response) => {
  request.resume();
  request.on("end", () => {
    if (request.method === "POST") received++; // not the worker's probes
    response.writeHead(204).end();
  });
});
process.on("message", () => process.send?.({ received }));
process.on("disconnect", () => process.exit()); // the bench was killed
server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }));
