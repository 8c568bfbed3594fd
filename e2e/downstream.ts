import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** The answer to a request: the first matching rule decides; without one it is 200. */
export type Rule = {
  /** Matches a path that begins with it. Absent: any. */
  path?: string;
  /** Matches the request's Idempotency-Key without its quotes (`<source>:<eventId>`). Absent: any. */
  key?: string;
  /** 0 cuts the connection without an answer. */
  status: number;
  headers?: Record<string, string>;
  body?: string;
  delayMs?: number;
};

/** One POST that reached the downstream, in order of arrival. */
export type Delivery = {
  path: string;
  /** Its Idempotency-Key without the quotes; `headers` has it as sent. */
  key: string | null;
  headers: Record<string, string | string[] | undefined>;
  body: string;
  /** The same as base64, for bytes that are no text. */
  base64: string;
  status: number;
  /** Deliveries to this path that were not answered yet when it arrived, itself included. */
  atOnce: number;
};

/**
 * A receiver of redrives that a journey controls over HTTP. `PUT /_rules` replaces the rules (JSON array of Rule), `GET
 * /_deliveries` lists the deliveries, `DELETE /_deliveries` deletes the list; any other POST is a delivery. A request
 * without a payload (the worker's probe) is answered with 204 and not listed.
 */
export async function startDownstream(): Promise<{ url: string; stop(): Promise<void> }> {
  let rules: Rule[] = [];
  let deliveries: Delivery[] = [];
  const unanswered = new Map<string, number>();

  const ruleFor = (path: string, key: string | null) =>
    rules.find(
      (rule) => (rule.path === undefined || path.startsWith(rule.path)) && (rule.key === undefined || rule.key === key),
    );

  const server = createServer(async (request, response) => {
    const path = request.url ?? "/";
    const bytes = await bodyOf(request);
    const body = bytes.toString("utf8");
    if (path === "/_rules") {
      rules = JSON.parse(body);
      response.writeHead(204).end();
      return;
    }
    if (path === "/_deliveries") {
      if (request.method === "DELETE") deliveries = [];
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(deliveries));
      return;
    }
    if (request.method !== "POST") {
      response.writeHead(204).end();
      return;
    }
    const key = request.headers["idempotency-key"]?.toString().replace(/^"(.*)"$/, "$1") ?? null;
    const rule = ruleFor(path, key);
    const status = rule?.status ?? 200;
    const atOnce = (unanswered.get(path) ?? 0) + 1;
    unanswered.set(path, atOnce);
    const base64 = bytes.toString("base64");
    deliveries.push({ path, key, headers: request.headers, body, base64, status, atOnce });
    if (rule?.delayMs) await new Promise((resolve) => setTimeout(resolve, rule.delayMs));
    unanswered.set(path, unanswered.get(path)! - 1);
    if (status === 0) request.socket.destroy();
    else response.writeHead(status, rule?.headers).end(rule?.body ?? "");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, stop: () => stop(server) };
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function stop(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
