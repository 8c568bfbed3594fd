import { randomInt } from "node:crypto";
import { isPortFree } from "../../scripts/free-port.ts";

/**
 * A free port of 127.0.0.1 for a server that a test kills and starts again. It lies below Linux's range for outgoing
 * connections (32768 and up): from that range a client that dials the killed server could be given the server's own port,
 * and the server could not start again.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(15_000, 32_000);
    if (await isPortFree(port)) return port;
  }
}
