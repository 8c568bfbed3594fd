import { type RequestFacts, refusalOf } from "@/lib/core/local-only";
import { DomainError } from "@/lib/core/problem";

type Headers = { get(name: string): string | null };

/**
 * The guard of the web server once more, for handlers that run without it. Throws DomainError `not-local`.
 */
export function assertLocal(request: Request, allowedHosts: ReadonlySet<string>): void {
  const { method, url, headers } = request;
  const { host, pathname } = new URL(url);
  refuse({ ...factsOf(headers), method, path: pathname, host: headers.get("host") ?? host }, allowedHosts);
}

/** The same for a page that reads the store while it is rendered. */
export function assertLocalPage(headers: Headers, allowedHosts: ReadonlySet<string>): void {
  refuse({ ...factsOf(headers), method: "GET", path: "", host: headers.get("host") ?? undefined }, allowedHosts);
}

function factsOf(headers: Headers): Pick<RequestFacts, "origin" | "fetchSite"> {
  return { origin: headers.get("origin") ?? undefined, fetchSite: headers.get("sec-fetch-site") ?? undefined };
}

function refuse(facts: RequestFacts, allowedHosts: ReadonlySet<string>): void {
  const refusal = refusalOf(facts, allowedHosts);
  if (refusal !== null) throw new DomainError("not-local", refusal);
}
