import { actorFault, LOCAL_ACTOR, sentActor } from "@/lib/guard/viewer/actor.pure";
import { addressKey } from "@/lib/guard/viewer/address-key.pure";
import { refusalOf } from "@/lib/guard/viewer/local-only.pure";
import { localViewer, NOBODY, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";

/** The headers of a request, or of a page that is rendered. */
export type SentHeaders = { get(name: string): string | null };

/** Knows the viewer by the headers. Part of `Deps`. */
export type Identify = (headers: SentHeaders) => Viewer | Promise<Viewer>;

type Sent = { method: string; path: string; headers: SentHeaders; host: string | undefined };
type Needs = { identify: Identify; env: { allowedHosts: ReadonlySet<string> } };

/**
 * The one place that makes the viewer of a request, for the API, /ops, /metrics and pages alike. Nothing reads the store
 * for a request without it. Rejects with DomainError `not-local` for what the guard of the web server refuses, so that a
 * deployment without that server is not open.
 */
async function viewerOf({ method, path, headers, host }: Sent, { identify, env }: Needs): Promise<Viewer> {
  const [origin, fetchSite] = [headers.get("origin") ?? undefined, headers.get("sec-fetch-site") ?? undefined];
  const refusal = refusalOf({ method, path, host, origin, fetchSite }, env.allowedHosts);
  if (refusal !== null) throw new DomainError("not-local", refusal);
  return identify(headers);
}

/** `anybody`: whoever has not signed in is nobody, and not refused. */
export async function requestViewer(
  { method, url, headers }: Request,
  needs: Needs,
  { anybody = false }: { anybody?: boolean | undefined } = {},
): Promise<Viewer> {
  const { host, pathname } = new URL(url);
  try {
    return await viewerOf({ method, path: pathname, headers, host: headers.get("host") ?? host }, needs);
  } catch (error) {
    if (anybody && error instanceof DomainError && error.code === "unauthenticated") return NOBODY;
    throw error;
  }
}

export function pageViewer(headers: SentHeaders, needs: Needs): Promise<Viewer> {
  return viewerOf({ method: "GET", path: "", headers, host: headers.get("host") ?? undefined }, needs);
}

/** Set by the web server in front of the framework, see scripts/web-server.ts. */
export const ADDRESS_HEADER = "x-parkade-address";
/** `1`: a proxy has passed the request on. Set there, too. */
export const PROXIED_HEADER = "x-parkade-proxied";

/**
 * Whose requests are counted together: an account, by whatever means it comes, or else an address. Not a name: whoever has not
 * signed in chooses its own, and another one with each request would have no limit. Behind a proxy that is not trusted all share
 * the proxy's address.
 */
export function clientOf({ headers }: Request, { means, account }: Viewer): string {
  const key = account === undefined ? [means, addressKey(headers.get(ADDRESS_HEADER) || null)] : ["account", account];
  return JSON.stringify(key);
}

/**
 * Where nobody must sign in: whoever reaches the port may do everything, under the name that x-actor says. Throws DomainError
 * `invalid-request` for a name that nobody may use.
 */
export function identifyLocal(headers: SentHeaders): Viewer {
  return localViewer(nameOf(headers.get("x-actor")));
}

function nameOf(given: string | null): string {
  if (given === null || given.trim() === "") return LOCAL_ACTOR;
  const name = sentActor(given);
  const fault = actorFault(name);
  if (fault === null) return name;
  throw new DomainError("invalid-request", `x-actor ${fault}`, { fields: [{ field: "x-actor", detail: fault }] });
}
