import type * as z from "zod/mini";
import { DomainError } from "@/lib/core/problem";
import type { Viewer } from "@/lib/core/viewer";
import { uuidv7 } from "@/lib/platform/ids";
import { readJson } from "./body";
import { type Deps, deps as processDeps } from "./deps";
import { problemResponse, toDomainError } from "./problem";
import { rawQueryOf } from "./raw-query";
import { requestViewer } from "./viewer";

/** One parsed request. */
export type Call<Query = undefined, Body = undefined> = {
  deps: Deps;
  request: Request;
  viewer: Viewer;
  /** Path parameters, decoded. */
  params: Record<string, string>;
  query: Query;
  body: Body;
  requestId: string;
  /** Wall clock when the request came, epoch milliseconds: relative times in one request mean one moment. */
  nowMs: number;
};

export type Route<Query, Body> = {
  /** Parses the query string. Absent = the route takes none, and any name is refused. */
  query?: (params: URLSearchParams, nowMs: number) => Query;
  /** Shape of a JSON body. Absent = the route reads the body itself, or takes none. */
  body?: z.ZodMiniType<Body>;
  /** Of a successful answer; default 200, or 204 when there is nothing to say. */
  status?: number;
  /** The answer as a value (sent as JSON), a Response, or undefined. */
  run(call: Call<Query, Body>): Promise<unknown>;
};

type Context = { params: Promise<Record<string, string>> };

/**
 * Makes a route handler: parses each input once, calls, serialises. DomainError and a schema's errors become problems,
 * anything else is logged under the request's id and answered as `internal` without its text.
 */
export function handle<Query = undefined, Body = undefined>(route: Route<Query, Body>) {
  return async (request: Request, context: Context): Promise<Response> => {
    const requestId = requestIdOf(request);
    const deps = processDeps();
    const startedMs = deps.clock.nowMs();
    const incoming = { request, url: new URL(request.url), context, requestId, deps };
    let response: Response;
    try {
      response = await answer(route, incoming);
    } catch (error) {
      response = failure(error, incoming);
    }
    response.headers.set("x-request-id", requestId);
    // A console that is looked at asks all the time: reads are told only to who wants to know.
    const level = request.method === "GET" ? "debug" : "info";
    if (deps.log.isLevelEnabled(level)) {
      const ms = Math.round((deps.clock.nowMs() - startedMs) * 10) / 10;
      const { method } = request;
      deps.log[level]({ requestId, method, path: incoming.url.pathname, status: response.status, ms }, "request");
    }
    return response;
  };
}

type Incoming = { request: Request; url: URL; context: Context; requestId: string; deps: Deps };

async function answer<Query, Body>(route: Route<Query, Body>, incoming: Incoming): Promise<Response> {
  const { request, url, context, requestId, deps } = incoming;
  const viewer = requestViewer(request, deps.env.allowedHosts);
  const nowMs = deps.clock.wallMs();
  const query = (route.query ?? noQuery)(rawQueryOf(request.headers) ?? url.searchParams, nowMs) as Query;
  const body = route.body ? route.body.parse(await readJson(request, deps.env.requestBytesMax)) : (undefined as Body);
  const params = await context.params;
  const result = await route.run({ deps, request, viewer, params, query, body, requestId, nowMs });
  if (result instanceof Response) return result;
  const headers = { "cache-control": "no-store" };
  if (result === undefined) return new Response(null, { status: route.status ?? 204, headers });
  return new WholeAnswer(JSON.stringify(result), route.status ?? 200, {
    "content-type": "application/json",
    ...headers,
  });
}

/** An answer whose text is at hand: the web server sends it as it is, without reading it back from the body's stream. */
export class WholeAnswer extends Response {
  readonly wholeText: string;

  constructor(wholeText: string, status: number, headers: Record<string, string>) {
    super(wholeText, { status, headers: { ...headers, "content-length": String(Buffer.byteLength(wholeText)) } });
    this.wholeText = wholeText;
  }
}

function noQuery(params: URLSearchParams): undefined {
  const [name] = params.keys();
  if (name === undefined) return;
  throw new DomainError("invalid-request", `${name}: unknown, this takes no query`, {
    fields: [{ field: name, detail: "unknown: this takes no query" }],
  });
}

function failure(error: unknown, { request, url, requestId, deps: { log } }: Incoming): Response {
  const known = toDomainError(error);
  const facts = { requestId, method: request.method, path: url.pathname, code: known.code };
  if (known.code === "internal") log.error({ ...facts, err: error }, "request failed");
  else if (known.internal !== undefined) log.warn({ ...facts, err: known.internal }, "request refused");
  return problemResponse(known, requestId);
}

const REQUEST_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The caller's own id when it is a UUID, so that a trace through a proxy keeps it. */
function requestIdOf(request: Request): string {
  const given = request.headers.get("x-request-id");
  return given !== null && REQUEST_ID.test(given) ? given : uuidv7(processDeps().clock.wallMs());
}
