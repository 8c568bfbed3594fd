import { DomainError } from "@/lib/core/problem";

/**
 * Nobody signs in, so a request must come from the console itself or from a program on this machine. Two ways in are
 * closed: a foreign page that posts here (its Origin is not ours), and a foreign name that resolves to 127.0.0.1 (its
 * Host is not ours). Throws DomainError `not-local`.
 */
export function assertLocal(request: Request, allowedHosts: readonly string[]): void {
  const host = request.headers.get("host")?.toLowerCase() ?? new URL(request.url).host;
  if (!allowedHosts.includes("*") && !allowedHosts.includes(withoutPort(host))) {
    throw new DomainError("not-local", "This host name is not allowed: add it to PARKADE_ALLOWED_HOSTS");
  }
  if (request.method === "GET" || request.method === "HEAD") return;
  const origin = request.headers.get("origin");
  if (origin !== null && hostOf(origin) !== host) {
    throw new DomainError("not-local", "A page of another origin may not change anything here");
  }
}

/** `[::1]:3000` -> `[::1]`, `localhost:3000` -> `localhost`. */
function withoutPort(host: string): string {
  return host.replace(/:\d+$/, "");
}

function hostOf(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null;
}
