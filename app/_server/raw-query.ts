/** Set by the web server in front of the framework, see scripts/web-server.ts. */
const RAW_QUERY_HEADER = "x-parkade-query";

/** The query string as the client sent it, with names that the framework drops; null without the web server in front. */
export function rawQueryOf(headers: { get(name: string): string | null }): URLSearchParams | null {
  const raw = headers.get(RAW_QUERY_HEADER);
  return raw === null ? null : new URLSearchParams(raw);
}
