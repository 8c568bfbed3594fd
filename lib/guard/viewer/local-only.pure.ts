/** The parts of a request that decide: its method, its path and its headers as Node gives them (lower-case names). */
export type RequestFacts = {
  method: string;
  path: string;
  host: string | undefined;
  origin: string | undefined;
  /** Sec-Fetch-Site, sent by every current browser and not settable by a page. */
  fetchSite: string | undefined;
};

const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);
const SAFE_METHODS = new Set(["GET", "HEAD", "OPTIONS"]);
/** An orchestrator calls its probes by address, with any Host. These two paths answer with a state and no data. */
const PROBES = new Set(["/healthz", "/readyz"]);

/**
 * Null when the request may pass, else the reason in words. On this machine every caller may be let in
 * without a sign-in. Two attacks work even against a loopback address and are refused here: a foreign web page
 * that resolves its own name to 127.0.0.1 (DNS rebinding: its Host is not ours), and a foreign page that posts a form
 * to us (CSRF). The server, the handlers and the pages all call this function, so that they decide alike.
 *
 * `allowedHosts`: further names, `host` or `host:port`, lower case, for a deployment behind an authenticating proxy.
 * `*` lets every host name read, and lets programs write. A page may write only from a host that is listed, because a
 * rebound page looks the same as the console's own page.
 */
export function refusalOf(request: RequestFacts, allowedHosts: ReadonlySet<string>): string | null {
  if (PROBES.has(request.path) && SAFE_METHODS.has(request.method)) return null;
  const host = request.host?.toLowerCase();
  if (!host || !(isNamed(host, allowedHosts) || allowedHosts.has("*"))) {
    return `The console answers on this machine only, and not to the host ${JSON.stringify(host ?? "")}: open it as localhost or 127.0.0.1, or name the host in PARKADE_ALLOWED_HOSTS if an authenticating proxy is in front of it.`;
  }
  const { origin, fetchSite } = request;
  if (SAFE_METHODS.has(request.method)) {
    // The page would not see the answer, but the server would do the work: an export or a search through a million
    // events.
    if (!isData(request.path) || fetchSite === undefined || fetchSite === "same-origin" || fetchSite === "none")
      return null;
    return "A page of another site may not request data here: open the console, or use a client that is not a browser.";
  }
  if (origin !== undefined && !isOwnOrigin(origin, host, allowedHosts)) {
    return `A page of ${origin} may not change anything here: use the console's own pages, or a client that is not a browser; name the host of a proxy in PARKADE_ALLOWED_HOSTS.`;
  }
  if (fetchSite !== undefined && fetchSite !== "same-origin" && fetchSite !== "none") {
    return "A page of another site may not change anything here: use the console's own pages, or a client that is not a browser.";
  }
  if (fetchSite !== undefined && origin === undefined && !isNamed(host, allowedHosts)) {
    return `A page may not change anything here under the host ${JSON.stringify(host)}: name it in PARKADE_ALLOWED_HOSTS, where * lets pages read only.`;
  }
  return null;
}

/** True for a path that answers with data and never with a page. */
export function isData(path: string): boolean {
  return path.startsWith("/api/") || path.startsWith("/ops/") || path === "/metrics";
}

/** Parses PARKADE_ALLOWED_HOSTS: names separated by commas or blanks. */
export function parseAllowedHosts(list: string | undefined): ReadonlySet<string> {
  return new Set(
    (list ?? "")
      .toLowerCase()
      .split(/[\s,]+/)
      .filter(Boolean),
  );
}

function isNamed(host: string, allowedHosts: ReadonlySet<string>): boolean {
  const name = host.replace(/:\d*$/, "");
  return LOOPBACK.has(name) || allowedHosts.has(host) || allowedHosts.has(name);
}

/**
 * The page came from the host and port that it sends to. A proxy that rewrites Host may list its public host instead.
 */
function isOwnOrigin(origin: string, host: string, allowedHosts: ReadonlySet<string>): boolean {
  if (!URL.canParse(origin)) return false;
  const url = new URL(origin);
  if (url.protocol !== "http:" && url.protocol !== "https:") return false;
  const own = URL.canParse(`${url.protocol}//${host}`) ? new URL(`${url.protocol}//${host}`).host : host;
  if (url.host === own) return isNamed(host, allowedHosts);
  return allowedHosts.has(url.host) || allowedHosts.has(url.hostname);
}
