/** The parts of a request that the decision needs, as Node gives them. */
export type RequestShape = {
  method: string;
  /** The request target, as it stood in the first line. */
  target: string;
  /** Host headers that the client sent. */
  hosts: number;
  /** What the Host header says; absent = there is none. */
  host?: string | undefined;
  /** Why the name in X-Actor cannot be used; null = it can, or there is none. */
  actorFault?: string | null;
  /** X-Actor headers that the client sent; the framework joins two into one name. */
  actors?: number;
};

export type ShapeFault = {
  status: 400 | 405;
  code: "invalid-request" | "method-not-allowed";
  detail: string;
  allow?: string;
};

/** Paths below which programs are answered; what else no route serves is a page or a file of one. */
const PROGRAM_PATHS = /^\/(api|ops|metrics|healthz|readyz)(\/|$)/;
/** Of a program's path that no route serves: the framework answers it with a problem. */
const ANY_METHOD = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const PAGE_METHODS = ["GET", "HEAD"];

/**
 * Null when the framework may have the request, else what is wrong with its form. The framework answers these with a
 * bare 500, or as if the request had been another one: it serves pages to every method, refuses a method of a route
 * without an Allow header, and takes the first of two Host headers. `methodsOf`: see `methodsFinder`.
 */
export function shapeFault(
  { method, target, hosts, host, actors = 0, actorFault = null }: RequestShape,
  methodsOf: (path: string) => string[] | null,
): ShapeFault | null {
  const path = target.split("?", 1)[0]!;
  if (!path.startsWith("/")) return invalid("The request target must be a path, such as /api/v1/events");
  if (hosts > 1) return invalid("The request has two Host headers: send one");
  if (host !== undefined && !isHost(host)) return invalid("The Host header is no host name: send name or name:port");
  if (actorFault !== null) return invalid(`The name in X-Actor ${actorFault}`);
  if (actors > 1) return invalid("The request has two X-Actor headers: send one");
  const methods = methodsOf(path) ?? (PROGRAM_PATHS.test(path) ? ANY_METHOD : PAGE_METHODS);
  if (!methods.includes(method)) {
    const allow = methods.join(", ");
    return { status: 405, code: "method-not-allowed", detail: `${method} is not answered here: use ${allow}`, allow };
  }
  const decoded = decode(path);
  if (decoded === null)
    return invalid("The path has a percent sign that is followed by no UTF-8 character: write it as %25");
  if (decoded.includes("\0")) return invalid("The path contains a NUL character");
  const query = decode(target.slice(path.length).replaceAll("+", " "));
  if (query === null) {
    return invalid("The query has a percent sign that is followed by no UTF-8 character: write it as %25");
  }
  if (query.includes("\0")) return invalid("The query contains a NUL character");
  return null;
}

/** A name or an address in the letters of one, with a port or without: what follows builds addresses of it. */
function isHost(host: string): boolean {
  const parts = /^(?:\[[0-9a-f:.]+\]|[\w.-]+)(?::(\d{1,5}))?$/i.exec(host);
  return parts !== null && Number(parts[1] ?? 0) <= 65_535;
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

function invalid(detail: string): ShapeFault {
  return { status: 400, code: "invalid-request", detail };
}
