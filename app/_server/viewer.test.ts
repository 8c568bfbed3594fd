import { describe, expect, test } from "vitest";
import { pageViewer, requestViewer } from "@/app/_server/viewer";
import { parseAllowedHosts, refusalOf } from "@/lib/core/local-only";

/** As the web server, a handler and a page see the same request. */
function answers(allowed: string, method: string, headers: Record<string, string>): boolean[] {
  const hosts = parseAllowedHosts(allowed);
  const passes = (work: () => void) => {
    try {
      work();
      return true;
    } catch {
      return false;
    }
  };
  const { host, origin, "sec-fetch-site": fetchSite } = headers;
  const facts = { method, path: "/events", host, origin, fetchSite };
  const request = { method, url: "http://inner:3000/events" };
  const lookup = { get: (name: string) => headers[name] ?? null };
  const all = [
    refusalOf(facts, hosts) === null,
    passes(() => requestViewer({ ...request, headers: lookup } as unknown as Request, hosts)),
  ];
  return method === "GET" ? [...all, passes(() => pageViewer(lookup, hosts))] : all;
}

describe("server, handlers and pages answer the same", () => {
  test.each([
    ["parkade.example:8443", "GET", { host: "parkade.example:8443" }, true],
    ["parkade.example:8443", "POST", { host: "parkade.example:8443", origin: "https://parkade.example:8443" }, true],
    ["parkade.example:8443", "GET", { host: "parkade.example:9000" }, false],
    ["parkade.example", "POST", { host: "localhost", origin: "https://parkade.example" }, true],
    ["parkade.example", "POST", { host: "localhost", origin: "https://evil.example" }, false],
    ["", "POST", { host: "127.0.0.1:3000", origin: "http://127.0.0.1:4000" }, false],
    ["", "GET", { host: "rebound.example" }, false],
    ["*", "GET", { host: "rebound.example" }, true],
    ["*", "POST", { host: "rebound.example", origin: "http://rebound.example" }, false],
    ["*", "POST", { host: "inner.example" }, true],
    ["", "POST", { host: "localhost:3000", "sec-fetch-site": "cross-site" }, false],
  ])("to PARKADE_ALLOWED_HOSTS=%s, %s %j: %s", (allowed, method, headers, passes) => {
    expect(new Set(answers(allowed, method, headers as Record<string, string>))).toEqual(new Set([passes]));
  });
});
