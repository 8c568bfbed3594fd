import { randomBytes, randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from "node:http";
import type { BlockList, Socket } from "node:net";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { actorFault, sentActor } from "../lib/guard/viewer/actor.pure.ts";
import { isData, parseAllowedHosts, type RequestFacts, refusalOf } from "../lib/guard/viewer/local-only.pure.ts";
import { type ApiRoute, dispatchRoutes } from "./api-dispatch.ts";
import { clientAddress, parseTrustedProxies, type Sender } from "./client-address.ts";
import { shapeFault } from "./request-shape.ts";
import { methodsFinder, type RouteMethods, readRouteMethods } from "./route-methods.ts";
import { securityHeaders, shellOf } from "./security-headers.ts";

/** How long requests may take to finish after SIGTERM; then their connections are cut. */
const DRAIN_MS = 10_000;
/** Longer than the 60 s that load balancers keep an idle connection, so that they close first and never hit a reset. */
const KEEP_ALIVE_MS = 65_000;

/**
 * Puts the guard and the security headers in front of Next's handler. They live here and not in Next's `proxy.ts`,
 * because a proxy makes Next buffer every request body, cut at 10 MB: an ingest stream of a gigabyte must pass untouched.
 */
export function guarded(
  handle: RequestListener,
  allowedHosts: ReadonlySet<string>,
  routes: readonly RouteMethods[] = [],
  trustedProxies: BlockList | null = null,
): RequestListener {
  const methodsOf = methodsFinder(routes);
  return (request, response) => {
    const shape = {
      method: request.method ?? "GET",
      target: request.url ?? "/",
      hosts: timesSent(request, "host"),
      host: request.headers.host,
      actors: timesSent(request, "x-actor"),
      actorFault: actorFaultOf(request.headers["x-actor"]),
    };
    const fault = shapeFault(shape, methodsOf);
    if (fault !== null) return refuse(response, { title: "The request is not valid", ...fault });
    const refusal = refusalOf(factsOf(request), allowedHosts);
    if (refusal !== null) return refuse(response, { ...NOT_LOCAL, detail: refusal });
    secure(request, response);
    const { address, proxied } = clientAddress(senderOf(request), trustedProxies);
    request.headers[ADDRESS_HEADER] = address;
    request.headers[PROXIED_HEADER] = proxied || saysForwarded(request) ? "1" : "";
    request.headers[TARGET_HEADER] = request.url ?? "/";
    request.headers[RAW_QUERY_HEADER] = request.url?.split("?").slice(1).join("?") ?? "";
    return handle(request, response);
  };
}

function saysForwarded({ headers }: IncomingMessage): boolean {
  return FORWARDED.some((name) => headers[name] !== undefined);
}

function senderOf(request: IncomingMessage): Sender {
  return {
    peer: request.socket.remoteAddress ?? "",
    forwardedFor: header(request, "x-forwarded-for"),
    forwarded: header(request, "forwarded"),
  };
}

/** As the handlers judge it: a page would answer a name that they refuse with a bare 500. */
function actorFaultOf(header: string | string[] | undefined): string | null {
  const name = sentActor(String(header ?? ""));
  return name === "" ? null : actorFault(name);
}

function timesSent(request: IncomingMessage, header: string): number {
  return request.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === header).length;
}

function factsOf(request: IncomingMessage): RequestFacts {
  return {
    method: request.method ?? "GET",
    path: pathOf(request),
    host: request.headers.host,
    origin: request.headers.origin,
    fetchSite: header(request, "sec-fetch-site"),
  };
}

/**
 * Keeps requests to upgrade the connection from Next, which leaves the sockets of those it does not know open for ever,
 * past the guard. Returns the server to give to Next in place of `server`: it never listens, and Next waits there for
 * upgrades. With no listener Node answers such a request as an ordinary one, which is also what clients that merely offer
 * HTTP/2 (`Upgrade: h2c`) need. In development the browser's hot reload passes, from the console's own pages alone.
 */
export function keepUpgrades(server: Server, how: { dev: boolean; allowedHosts: ReadonlySet<string> }): Server {
  const forNext = createServer();
  if (!how.dev) return forNext;
  server.on("upgrade", (request, socket, head) => {
    // The rules of a change apply: a page of another site may not read it.
    const facts = { ...factsOf(request), method: "POST" };
    if (refusalOf(facts, how.allowedHosts) !== null) socket.destroy();
    else forNext.emit("upgrade", request, socket, head);
  });
  return forNext;
}

function header(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

/**
 * The header that gives handlers the query string as received: the framework rebuilds the URL and drops the name
 * `__proto__`, and a condition that is dropped selects more. A client's own header of this name is overwritten.
 */
const RAW_QUERY_HEADER = "x-parkade-query";
/** The header that gives handlers the address of the client, by which requests are counted. Overwritten likewise. */
const ADDRESS_HEADER = "x-parkade-address";
/**
 * The header that tells handlers that a proxy has passed the request on, whether it is trusted or not. Overwritten likewise. It is
 * decided here: the framework adds headers of a proxy to each request of a page by itself.
 */
const PROXIED_HEADER = "x-parkade-proxied";
const FORWARDED = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via"];

/** Tells a page where it was asked for: somebody who has to sign in first comes back there. Overwritten likewise. */
const TARGET_HEADER = "x-parkade-target";

type Refusal = { status: number; code: string; title: string; detail: string; allow?: string };

const NOT_LOCAL = { status: 403, code: "not-local", title: "The request did not come from this console" };

function refuse(response: ServerResponse, { status, code, title, detail, allow }: Refusal): void {
  const body = problemText({ status, code, title, detail });
  // The body of a refused upload is not read: the connection ends with the answer.
  response
    .writeHead(status, {
      ...securityHeaders("/api/", "", shellOf(process.env)),
      "content-type": "application/problem+json",
      connection: "close",
      ...(allow === undefined ? {} : { allow }),
    })
    .end(body);
}

/** RFC 9457, in the form of `app/_server/problem.ts`. */
function problemText({ status, code, title, detail }: Refusal): string {
  const [type, instance] = [`urn:parkade:problem:${code}`, `urn:uuid:${randomUUID()}`];
  return JSON.stringify({ type, title, status, code, detail, instance });
}

/**
 * Answers what Node could not read as a request. A head that is too long is most often a filter with many values: the
 * problem says where they fit.
 */
export function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const tooLong = error.code === "HPE_HEADER_OVERFLOW";
  const status = tooLong ? 431 : 400;
  const detail = tooLong
    ? "The address and the headers are longer than 16 KiB: send many ids or values in the body of a POST, in select"
    : "This is no HTTP request";
  const title = "The request is not valid";
  const code = "invalid-request";
  const body = problemText({ status, code, title, detail });
  const headers = {
    ...securityHeaders("/api/", "", shellOf(process.env)),
    "content-type": "application/problem+json",
    "content-length": String(Buffer.byteLength(body)),
    connection: "close",
  };
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join("")}\r\n${body}`);
}

/** Whatever a client sends under the names of the policy and the nonce is overwritten. */
function secure(request: IncomingMessage, response: ServerResponse): void {
  const path = pathOf(request);
  const nonce = randomBytes(16).toString("base64");
  const headers = securityHeaders(path, nonce, shellOf(process.env));
  request.headers["content-security-policy"] = headers["content-security-policy"];
  request.headers["x-nonce"] = isData(path) ? "" : nonce;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
}

function pathOf(request: IncomingMessage): string {
  return (request.url ?? "/").split("?", 1)[0]!;
}

/** The configuration as the build wrote it: the source of next.config.ts need not be there, nor a compiler to read it. */
function applyBuiltConfig(dir: string): void {
  const path = join(dir, ".next", "required-server-files.json");
  if (!existsSync(path)) throw new Error(`there is no production build in ${dir}: run \`npm run build\``);
  const built: { config: unknown } = JSON.parse(readFileSync(path, "utf8"));
  process.env.__NEXT_PRIVATE_STANDALONE_CONFIG = JSON.stringify(built.config);
}

/** Written into the bundle by scripts/build.ts; absent where the sources run under a compiler. */
declare const BUILT_ROUTES: RouteMethods[] | undefined;

function knownRoutes(): RouteMethods[] {
  return typeof BUILT_ROUTES === "undefined" ? readRouteMethods(process.cwd()) : BUILT_ROUTES;
}

/** Makes the link by which the first account is made, while there is none; null = there is one, or nobody signs in. */
async function setupLink(signal: AbortSignal): Promise<string | null> {
  if (typeof BUILT_ROUTES === "undefined") return null;
  const { makeSetupLinkAtStart } = await import("parkade:api-routes");
  return makeSetupLinkAtStart(signal);
}

/** In development Next answers the routes as well: it compiles them anew after each change. */
async function withRoutes(next: RequestListener, dev: boolean): Promise<RequestListener> {
  if (dev || typeof BUILT_ROUTES === "undefined") return next;
  const { API_ROUTES }: { API_ROUTES: ApiRoute[] } = await import("parkade:api-routes");
  return dispatchRoutes(API_ROUTES, next);
}

/** The web process: Next on PARKADE_HOST:PORT (default 127.0.0.1:3000) until SIGTERM or SIGINT. */
async function serve(): Promise<void> {
  const dev = process.env.NODE_ENV === "development";
  const dir = process.cwd();
  const hostname = process.env.PARKADE_HOST || "127.0.0.1";
  const port = Number(process.env.PORT || 3000);
  if (!dev) applyBuiltConfig(dir);

  const { default: next } = await import("next");
  const server = createServer();
  const allowedHosts = parseAllowedHosts(process.env.PARKADE_ALLOWED_HOSTS);
  const trustedProxies = parseTrustedProxies(process.env.PARKADE_TRUSTED_PROXIES);
  const app = next({ dev, dir, hostname, port, httpServer: keepUpgrades(server, { dev, allowedHosts }) });
  await app.prepare();
  const handle = app.getRequestHandler();
  const answer = await withRoutes((request, response) => void handle(request, response), dev);
  server.on("request", guarded(answer, allowedHosts, knownRoutes(), trustedProxies));
  server.on("clientError", answerBrokenRequest);
  // An ingest stream has no time limit; headersTimeout still cuts a client that stalls in its headers.
  server.requestTimeout = 0;
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  const stopping = new AbortController();
  server.listen(port, hostname, () => {
    process.send?.({ kind: "ready" });
    void setupLink(stopping.signal).then(
      (link) => {
        if (link === null) return;
        // The launcher shows it; in a container the log does.
        if (process.send) process.send({ kind: "set-up", link });
        else console.log(`Nobody has an account yet. Make the first administrator, once, within a day: ${link}`);
      },
      (error) => {
        if (!stopping.signal.aborted) endOnBadEnvironment(error);
      },
    );
  });

  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  const stop = () => {
    stopping.abort();
    server.close(() => void sendSpans().then(() => process.exit(0)));
    setTimeout(() => {
      for (const socket of sockets) socket.destroy();
    }, DRAIN_MS).unref();
  };
  process.once("SIGTERM", stop);
  process.once("SIGINT", stop);
}

/** With an environment that cannot be used every request would fail: the process says why and ends, as the worker does. */
function endOnBadEnvironment(error: unknown): void {
  const known = error instanceof Error && error.name === "EnvError";
  console.error(known ? error.message : error);
  if (known) process.exit(1);
}

/** `lib/platform/tracing/spans.ts` keeps the tracer there: this file imports nothing that a build has to compile. */
async function sendSpans(): Promise<void> {
  const { parkadeTracing } = globalThis as { parkadeTracing?: { tracer: { close(): Promise<void> } | null } };
  await parkadeTracing?.tracer?.close();
}

if (import.meta.main) await serve();
