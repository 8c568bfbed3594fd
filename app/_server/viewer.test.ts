import { describe, expect, test } from "vitest";
import { identifyLocal, pageViewer, requestViewer } from "@/app/_server/viewer";
import { parseAllowedHosts, refusalOf } from "@/lib/guard/viewer/local-only.pure";

/** As the web server, a handler and a page see the same request. */
async function answers(allowed: string, method: string, headers: Record<string, string>): Promise<boolean[]> {
  const hosts = parseAllowedHosts(allowed);
  const needs = { env: { allowedHosts: hosts }, identify: identifyLocal };
  const passes = async (work: () => Promise<unknown>) => {
    try {
      await work();
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
    await passes(() => requestViewer({ ...request, headers: lookup } as unknown as Request, needs)),
  ];
  return method === "GET" ? [...all, await passes(() => pageViewer(lookup, needs))] : all;
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
  ])("to PARKADE_ALLOWED_HOSTS=%s, %s %j: %s", async (allowed, method, headers, passes) => {
    expect(new Set(await answers(allowed, method, headers as Record<string, string>))).toEqual(new Set([passes]));
  });
});
