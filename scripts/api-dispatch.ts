import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { createGzip, gzip } from "node:zlib";

type Handler = (request: Request, context: { params: Promise<Record<string, string>> }) => Promise<Response> | Response;

/** The exports of a route file of `app`: one handler for each method, of the shape that Next calls. */
export type RouteModule = Partial<Record<string, Handler>>;

/** One route file: its path, with `[name]` for a part that varies, `[...name]` for all that follow, and its module. */
export type ApiRoute = { path: string; handlers: RouteModule };

type Match = { route: ApiRoute; params: Record<string, string> };

/**
 * Calls the route files for the requests of programs, and hands every other request (pages and their files) to `next`.
 * Next could answer a route as well, but its own part of a request costs more than the query of most of them, and to
 * compile them takes it longer than the pages.
 */
export function dispatchRoutes(routes: readonly ApiRoute[], next: RequestListener): RequestListener {
  const match = matcherOf(routes);
  return (request, response) => {
    const found = match((request.url ?? "/").split("?", 1)[0]!);
    if (found === null) return next(request, response);
    answerRoute(found, request, response).catch((error: unknown) => breakOff(error, response));
  };
}

/** Finds a path's route: an exact path before one with parts that vary. The parts come decoded. */
function matcherOf(routes: readonly ApiRoute[]): (path: string) => Match | null {
  const exact = new Map(routes.filter(({ path }) => !path.includes("[")).map((route) => [route.path, route]));
  const varying = routes
    .filter(({ path }) => path.includes("["))
    .map((route) => ({ route, pattern: patternOf(route.path) }));
  return (path) => {
    const route = exact.get(path);
    if (route) return { route, params: {} };
    for (const { route, pattern } of varying) {
      const groups = pattern.exec(path)?.groups;
      if (!groups) continue;
      const parts = Object.entries(groups).map(([name, part]) => [name, decodeURIComponent(part)]);
      return { route, params: Object.fromEntries(parts) };
    }
    return null;
  };
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replace(/\[\.{3}(\w+)\]/g, "(?<$1>.*[^/])").replace(/\[(\w+)\]/g, "(?<$1>[^/]+)")}$`);
}

async function answerRoute({ route, params }: Match, incoming: IncomingMessage, response: ServerResponse) {
  const { handlers } = route;
  const method = incoming.method ?? "GET";
  const handler = handlers[method === "HEAD" ? "GET" : method];
  // The server in front has refused the methods that the route does not answer; OPTIONS is the one it lets pass.
  if (!handler) {
    response.writeHead(204, { allow: allowed(handlers).join(", ") }).end();
    return;
  }
  // A client that has gone needs no answer: what looks at the signal ends.
  const gone = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) gone.abort(new Error("the client has gone"));
  });
  const answer = await handler(requestOf(incoming, method, gone.signal), { params: Promise.resolve(params) });
  if (!incoming.complete) drain(incoming);
  await send(answer, incoming, response);
}

function allowed(handlers: RouteModule): string[] {
  const methods = ["GET", "POST", "PUT", "PATCH", "DELETE"].filter((method) => handlers[method]);
  return [...(handlers.GET ? ["HEAD"] : []), ...methods, "OPTIONS"];
}

function requestOf(incoming: IncomingMessage, method: string, signal: AbortSignal): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(incoming.headers)) {
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined) headers.append(name, one);
  }
  const hasBody = method !== "GET" && method !== "HEAD";
  return new Request(`http://${incoming.headers.host ?? "localhost"}${incoming.url}`, {
    method,
    headers,
    signal,
    ...(hasBody ? { body: bodyOf(incoming), duplex: "half" } : {}),
  } as RequestInit);
}

/** Reads nothing before the handler asks for it: a handler that refuses a request need not take its body. */
function bodyOf(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  const chunks = incoming.iterator({ destroyOnReturn: false });
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    const { value, done } = await chunks.next();
    if (done) controller.close();
    else controller.enqueue(value);
  };
  const cancel = async () => {
    await chunks.return?.();
  };
  return new ReadableStream({ pull, cancel }, { highWaterMark: 0 });
}

/** Of the rest of a body that the handler has answered without reading it. */
const DRAINED_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Reads the rest of the body and drops it: most clients read the answer only once they have sent everything. A client that
 * sends more than DRAINED_BYTES_MAX is cut off.
 */
function drain(incoming: IncomingMessage): void {
  let left = DRAINED_BYTES_MAX;
  incoming.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) incoming.destroy();
  });
  incoming.on("error", () => undefined);
  incoming.resume();
}

/** Smaller answers fit one packet as they are. */
const COMPRESS_BYTES_MIN = 1_400;
/** A third of the work of zlib's default for nine tenths of its effect on JSON. */
const GZIP = { level: 3 };
const gzipped = promisify<string | Buffer, typeof GZIP, Buffer>(gzip);

async function send(answer: Response, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const { headers, body } = answer;
  response.statusCode = answer.status;
  // Headers set by the server in front stay: a handler cannot weaken them. A header may occur twice, as cookies do.
  const fixed = new Set(response.getHeaderNames());
  for (const [name, value] of headers) if (!fixed.has(name)) response.appendHeader(name, value);
  if (body === null || incoming.method === "HEAD") {
    await body?.cancel();
    response.end();
    return;
  }
  const compress = mayCompress(headers, incoming);
  if (compress !== "never") response.setHeader("vary", "accept-encoding");
  const length = Number(headers.get("content-length") ?? Number.NaN);
  if (Number.isNaN(length)) return stream(body, response, compress === "yes");
  const whole = (answer as { wholeText?: string }).wholeText ?? Buffer.from(await answer.arrayBuffer());
  if (compress !== "yes" || length < COMPRESS_BYTES_MIN) return void response.end(whole);
  const zipped = await gzipped(whole, GZIP);
  response.setHeader("content-encoding", "gzip");
  response.setHeader("content-length", zipped.length);
  response.end(zipped);
}

/** An answer of unknown length: as fast as the client reads it. Ends the source when the client leaves. */
async function stream(body: ReadableStream<Uint8Array>, response: ServerResponse, compress: boolean): Promise<void> {
  const source = Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0]);
  if (!compress) return pipeline(source, response);
  response.setHeader("content-encoding", "gzip");
  return pipeline(source, createGzip(GZIP), response);
}

const TEXT = /^(text\/|application\/([\w.-]+\+)?(json|x-ndjson))/;

function mayCompress(headers: Headers, incoming: IncomingMessage): "yes" | "no" | "never" {
  if (headers.has("content-encoding") || !TEXT.test(headers.get("content-type") ?? "")) return "never";
  const accepted = incoming.headers["accept-encoding"];
  return /\bgzip\b(?!\s*;\s*q=0(\.0+)?\s*(,|$))/.test(String(accepted ?? "")) ? "yes" : "no";
}

/** A handler answers its own failures: an error here came while the answer was sent, or is a fault of a route. */
function breakOff(error: unknown, response: ServerResponse): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  console.error(error);
  response.writeHead(500, { "content-type": "application/problem+json" });
  response.end(JSON.stringify({ type: "urn:parkade:problem:internal", status: 500, code: "internal" }));
}
