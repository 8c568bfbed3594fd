/** What the decision needs of a request, as Node gives it. */
export type RequestShape = {
  method: string;
  /** The request target, as it stood in the first line. */
  target: string;
  /** Host headers that the client sent. */
  hosts: number;
};

export type ShapeFault = { status: 400 | 405; code: "invalid-request" | "method-not-allowed"; detail: string };

/** Routes that answer programs; everything else is a page or a file of one. */
const PROGRAM_PATHS = /^\/(api|ops|metrics|healthz|readyz)(\/|$)/;
const PROGRAM_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const PAGE_METHODS = ["GET", "HEAD"];

/**
 * Null when the framework may have the request, else what is wrong with its form. The framework answers these with a
 * bare 500, or as if the request had been another one: it drops a query name that it cannot keep, serves pages to every
 * method, and takes the first of two Host headers.
 */
export function shapeFault({ method, target, hosts }: RequestShape): ShapeFault | null {
  const path = target.split("?", 1)[0]!;
  if (!path.startsWith("/")) return invalid("The request target must be a path, such as /api/v1/events");
  if (hosts > 1) return invalid("The request has two Host headers: send one");
  const methods = PROGRAM_PATHS.test(path) ? PROGRAM_METHODS : PAGE_METHODS;
  if (!methods.includes(method)) {
    return {
      status: 405,
      code: "method-not-allowed",
      detail: `${method} is not answered here: use ${methods.join(", ")}`,
    };
  }
  const decoded = decode(path);
  if (decoded === null)
    return invalid("The path has a percent sign that is followed by no UTF-8 character: write it as %25");
  if (decoded.includes("\0")) return invalid("The path holds a NUL character");
  const query = target.slice(path.length).replaceAll("+", " ");
  if (decode(query) === null) {
    return invalid("The query has a percent sign that is followed by no UTF-8 character: write it as %25");
  }
  return null;
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
