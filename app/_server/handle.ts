import { isDeepStrictEqual } from "node:util";
import * as z from "zod/mini";
import { assertSecondFactor, NOBODY, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { eventBytesMax } from "@/lib/intake/arrival.shapes";
import { noParams, noQuery } from "@/lib/platform/api/query.shapes";
import { fewAtOnce } from "@/lib/platform/database/few-at-once";
import { uuidv7 } from "@/lib/platform/ids";
import { DomainError, invalidFields, type ProblemCode } from "@/lib/platform/plain/problem.pure";
import { UUID } from "@/lib/platform/plain/uuid.pure";
import { reasonOf, startSpan, tracerOpening, withSpan } from "@/lib/platform/tracing/spans";
import { parseTraceparent } from "@/lib/platform/tracing/traceparent.pure";
import { JSON_BYTES_MAX, readJson, readOptionalJson } from "./body";
import { readBody } from "./body-faults";
import { type Deps, deps as processDeps } from "./deps";
import { once } from "./once";
import { completed, describeOperation, type Operation, problemsOf, takesKey } from "./operation";
import { problemResponse, toDomainError } from "./problem";
import { rawQueryOf } from "./raw-query";
import type { LimitHeaders } from "./request-limits";
import { ADDRESS_HEADER, clientOf, requestViewer } from "./viewer";

/** Tests and development find an answer that differs from its schema; in production the check would cost each request. */
const CHECKED = process.env.NODE_ENV !== "production";

/** Connections that a read may use at once, of a process's ten: consoles poll, and writes of services must not wait behind charts. */
const READ_CONNECTIONS = 3;

export type Call<Query = undefined, Body = undefined, Params = Record<never, never>> = {
  deps: Deps;
  request: Request;
  viewer: Viewer;
  /** Whose requests and bytes are counted together. */
  client: string;
  /** Path parameters, decoded. */
  params: Params;
  query: Query;
  body: Body;
  requestId: string;
  /** Wall clock when the request came, epoch milliseconds: relative times in one request mean one moment. */
  nowMs: number;
};

export type Route<Params, Query, Body> = Operation<Params, Query, Body> & {
  /** Knows the viewer of a request that brings neither session nor token by what else it brings; null = it is refused. */
  signer?(request: Request, deps: Deps): Promise<Viewer | null>;
} & (
    | {
        coalesce?: false;
        /** The answer as a value (sent as JSON), a Response, or undefined. */
        run(call: Call<Query, Body, Params>): Promise<unknown>;
      }
    | {
        /** A GET that consoles poll: identical requests under way at the same time share one run, see `SharedReads`. */
        coalesce: true;
        /** The answer as a value. Nothing of one request is at hand, because the answer goes to others too. */
        run(call: Pick<Call<Query, Body, Params>, "deps" | "viewer" | "params" | "query" | "nowMs">): Promise<object>;
      }
  );

type Context = { params: Promise<Record<string, string>> };

/**
 * Makes a route handler: parses each input once, calls, serialises. DomainError and a schema's errors become problems,
 * anything else is logged under the request's id and answered as `internal` without its text. Outside of production an
 * answer that the operation does not declare is an error.
 */
export function handle<Params = Record<never, never>, Query = Record<never, never>, Body = undefined>(
  described: Route<Params, Query, Body>,
) {
  const route = completed(described);
  const handler = async (request: Request, context: Context): Promise<Response> => {
    const deps = processDeps();
    const opening = tracerOpening();
    if (opening !== null) await opening;
    const requestId = requestIdOf(request);
    // Probes of a load balancer would be most of the traces.
    const span = route.open ? null : startRequestSpan(request, { name: route.id, requestId });
    if (span === null) return respond(request, context, requestId, deps);
    try {
      const response = await withSpan(span, () => respond(request, context, requestId, deps));
      span.set({ "http.response.status_code": response.status });
      if (response.status >= 500) span.fail(String(response.status));
      return response;
    } catch (error) {
      span.fail(reasonOf(error));
      throw error;
    } finally {
      span.end();
    }
  };
  const respond = async (request: Request, context: Context, requestId: string, deps: Deps): Promise<Response> => {
    const startedMs = deps.clock.nowMs();
    const incoming: Incoming = { request, url: new URL(request.url), context, requestId, deps, limits: {} };
    let response: Response;
    try {
      response = await answer(route, incoming);
    } catch (error) {
      if (error instanceof Undeclared) throw error;
      response = failure(error, route, incoming);
    }
    if (request.method !== "GET" && request.method !== "HEAD") deps.sharedReads.finishChange();
    response.headers.set("x-request-id", requestId);
    for (const [name, value] of Object.entries(incoming.limits)) {
      if (!response.headers.has(name)) response.headers.set(name, value);
    }
    // An open console sends several reads a second.
    const level = request.method === "GET" ? "debug" : "info";
    if (deps.log.isLevelEnabled(level)) {
      const ms = Math.round((deps.clock.nowMs() - startedMs) * 10) / 10;
      const { method } = request;
      const facts = { requestId, method, path: incoming.url.pathname, status: response.status, ms };
      deps.log[level]({ ...facts, viewer: incoming.viewer?.name }, "request");
    }
    return response;
  };
  return describeOperation(route as Operation, handler);
}

/** Named after the operation: a path holds ids, and a query what was searched for. A caller's own trace goes on. */
function startRequestSpan(request: Request, { name, requestId }: { name: string; requestId: string }) {
  const attributes = { "http.request.method": request.method, "parkade.request_id": requestId };
  return startSpan(name, { kind: "server", parent: parseTraceparent(request.headers.get("traceparent")), attributes });
}

type Incoming = {
  request: Request;
  url: URL;
  context: Context;
  requestId: string;
  deps: Deps;
  limits: LimitHeaders;
  /** Absent until it is known. */
  viewer?: Viewer;
};

async function answer<Params, Query, Body>(route: Route<Params, Query, Body>, incoming: Incoming): Promise<Response> {
  const { request, url, context, requestId } = incoming;
  const reads = request.method === "GET";
  const deps = reads ? { ...incoming.deps, db: fewAtOnce(incoming.deps.db, READ_CONNECTIONS) } : incoming.deps;
  const viewer = await knownViewer(route, incoming);
  incoming.viewer = viewer;
  const client = clientOf(request, viewer);
  // One that is known by its signature was counted for its address, before its signature was looked at.
  if (!route.open && viewer.means !== "signature")
    incoming.limits = deps.limits.takeRequest(client, deps.clock.nowMs());
  if (!answersWithoutSecondFactor(route, viewer)) assertSecondFactor(viewer);
  if (!route.open) await deps.clock.measured();
  const nowMs = deps.clock.wallMs();
  const params = (route.params ?? noParams).read(await context.params) as Params;
  const sentQuery = rawQueryOf(request.headers) ?? url.searchParams;
  const query = (route.query ?? noQuery).read(sentQuery, nowMs) as Query;
  if (route.coalesce) {
    const read = { route: route.id, params, query: String(sentQuery), viewer };
    const text = await deps.sharedReads.read(read, async () =>
      textOf(route, await route.run({ deps, viewer, params, query, nowMs })),
    );
    return jsonAnswer(route, text);
  }
  const body = (await bodyOf(route, incoming)) as Body;
  const call: Call<Query, Body, Params> = { deps, request, viewer, client, params, query, body, requestId, nowMs };
  const keeps = takesKey(route, request.method) && route.idempotent !== "own";
  const result = await (keeps ? once(call, () => route.run(call)) : route.run(call));
  if (result instanceof Response) return result;
  const text = textOf(route, result);
  return text === undefined
    ? new Response(null, { status: route.status ?? 204, headers: UNCACHED })
    : jsonAnswer(route, text);
}

/** A token acts for nobody meanwhile: it is refused where a session is not. */
function answersWithoutSecondFactor({ open, anybody, withoutSecondFactor }: Operation, { means }: Viewer): boolean {
  return open === true || (means === "session" && (anybody === true || withoutSecondFactor === true));
}

/** A request that is refused for who sends it counts for its address: nobody tries tokens faster than a client may ask. */
async function knownViewer<Params, Query, Body>(
  { open, anybody, signer }: Route<Params, Query, Body>,
  incoming: Incoming,
): Promise<Viewer> {
  const { request, deps } = incoming;
  try {
    return await requestViewer(request, deps, { anybody: open || anybody });
  } catch (error) {
    if (!(error instanceof DomainError) || error.code !== "unauthenticated") throw error;
    incoming.limits = deps.limits.takeRequest(clientOf(request, NOBODY), deps.clock.nowMs());
    const viewer = signer === undefined ? null : await signer(request, deps);
    if (viewer === null) throw error;
    return viewer;
  }
}

const UNCACHED = { "cache-control": "no-store" };

function jsonAnswer({ status }: Operation, text: string): WholeAnswer {
  return new WholeAnswer(text, status ?? 200, { "content-type": "application/json", ...UNCACHED });
}

function textOf(route: Operation, result: object): string;
function textOf(route: Operation, result: unknown): string | undefined;
function textOf(route: Operation, result: unknown): string | undefined {
  if (CHECKED) assertDeclared(route, result);
  return JSON.stringify(result);
}

/** An answer with its text: the web server sends it as it is, without reading it back from the body's stream. */
class WholeAnswer extends Response {
  readonly wholeText: string;

  constructor(wholeText: string, status: number, headers: Record<string, string>) {
    super(wholeText, { status, headers: { ...headers, "content-length": String(Buffer.byteLength(wholeText)) } });
    this.wholeText = wholeText;
  }
}

async function bodyOf(
  { body, bodyMedia, bodyOptional, largeBody }: Operation,
  { request, deps }: Incoming,
): Promise<unknown> {
  if (!body || bodyMedia) return;
  const bytesMax = Math.min(deps.env.requestBytesMax, largeBody ? eventBytesMax(deps.env) : JSON_BYTES_MAX);
  const sent = bodyOptional ? await readOptionalJson(request, bytesMax) : await readJson(request, bytesMax);
  // `null` is a body, and a wrong one.
  const read = readBody(body, bodyOptional && sent === undefined ? {} : sent);
  if (read.faults !== null) throw invalidFields(read.faults);
  return read.body;
}

/** Somebody tries what it may not do: whoever watches for attacks reads these lines. */
const REFUSALS: ReadonlySet<string> = new Set<ProblemCode>([
  "unauthenticated",
  "second-factor-needed",
  "forbidden",
  "not-local",
  "sign-in-failed",
]);

function failure(error: unknown, route: Operation, incoming: Incoming): Response {
  const { request, url, requestId, viewer } = incoming;
  const { log } = incoming.deps;
  const known = toDomainError(error);
  const facts = { requestId, method: request.method, path: url.pathname, code: known.code };
  // Its client has gone, and nobody reads the answer: anybody could fill the log with such errors.
  if (request.signal.aborted) log.info({ ...facts, err: error }, "the client has gone");
  else if (known.code === "internal") log.error({ ...facts, err: error }, "request failed");
  else if (REFUSALS.has(known.code)) {
    const who = { viewer: viewer?.name, account: viewer?.account, address: request.headers.get(ADDRESS_HEADER) };
    // Neither the name nor the token that was sent: people type passwords into the field of the name.
    log.warn({ ...facts, ...who, ...(known.internal !== undefined && { err: known.internal }) }, "request refused");
  } else if (known.internal !== undefined) log.warn({ ...facts, err: known.internal }, "request refused");
  if (CHECKED && !problemsOf(route, request.method).includes(known.code)) {
    throw new Undeclared(`${route.id} answers ${known.code}: add it to its problems`, { cause: error });
  }
  return problemResponse(known, requestId);
}

/** The caller's own id when it is a UUID, so that a trace through a proxy keeps it. */
function requestIdOf(request: Request): string {
  const given = request.headers.get("x-request-id");
  return given !== null && UUID.test(given) ? given : uuidv7(processDeps().clock.wallMs());
}

/** What an operation answers is not what it declares. */
class Undeclared extends Error {}

/** Throws when a JSON answer is not exactly what the operation's schema says, fields that it does not name included. */
function assertDeclared({ id, answer }: Operation, result: unknown): void {
  if (result === undefined && answer === undefined) return;
  if (answer === undefined || "media" in answer) throw new Undeclared(`${id} answers JSON, for which it has no schema`);
  const sent: unknown = result === undefined ? undefined : JSON.parse(JSON.stringify(result));
  const parsed = z.safeParse(answer, sent);
  if (!parsed.success) throw new Undeclared(`${id} answers what its schema refuses: ${z.prettifyError(parsed.error)}`);
  if (isDeepStrictEqual(JSON.parse(JSON.stringify(parsed.data)), sent)) return;
  throw new Undeclared(`${id} answers fields that its schema does not name: ${JSON.stringify(sent).slice(0, 2_000)}`);
}
