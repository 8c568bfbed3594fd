import { actorFault, cleanActor, LOCAL_ACTOR } from "@/lib/core/actor";
import { refusalOf } from "@/lib/core/local-only";
import { DomainError } from "@/lib/core/problem";
import { localViewer, type Viewer } from "@/lib/core/viewer";

/** What a viewer is made from: a request of the API, or the headers of a page that is rendered. */
type Sent = { method: string; path: string; headers: { get(name: string): string | null }; host: string | undefined };

/**
 * The one place that makes the viewer of a request, for the API, /ops, /metrics and pages alike. Nothing reads the store
 * for a request without it. Throws DomainError `not-local` for what the guard of the web server refuses, so that a
 * deployment without that server is not open, and `invalid-request` for a name that nobody may use.
 */
export function viewerOf({ method, path, headers, host }: Sent, allowedHosts: ReadonlySet<string>): Viewer {
  const [origin, fetchSite] = [headers.get("origin") ?? undefined, headers.get("sec-fetch-site") ?? undefined];
  const refusal = refusalOf({ method, path, host, origin, fetchSite }, allowedHosts);
  if (refusal !== null) throw new DomainError("not-local", refusal);
  return localViewer(nameOf(headers.get("x-actor")));
}

export function requestViewer({ method, url, headers }: Request, allowedHosts: ReadonlySet<string>): Viewer {
  const { host, pathname } = new URL(url);
  return viewerOf({ method, path: pathname, headers, host: headers.get("host") ?? host }, allowedHosts);
}

export function pageViewer(headers: Sent["headers"], allowedHosts: ReadonlySet<string>): Viewer {
  return viewerOf({ method: "GET", path: "", headers, host: headers.get("host") ?? undefined }, allowedHosts);
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Nobody signs in yet: the name is what the caller says. */
function nameOf(given: string | null): string {
  if (given === null || given.trim() === "") return LOCAL_ACTOR;
  const name = cleanActor(asUtf8(given));
  const fault = actorFault(name);
  if (fault === null) return name;
  throw new DomainError("invalid-request", `x-actor ${fault}`, { fields: [{ field: "x-actor", detail: fault }] });
}

/** A header comes as one character for each byte. Bytes that are no UTF-8 are the Latin-1 of older clients. */
function asUtf8(header: string): string {
  try {
    return utf8.decode(Buffer.from(header, "latin1"));
  } catch {
    return header;
  }
}
