import { describe, expect, test } from "vitest";
import { parseAllowedHosts, type RequestFacts, refusalOf } from "./local-only.pure";

const none = parseAllowedHosts(undefined);
const request = (facts: Partial<RequestFacts>): RequestFacts => ({
  method: "POST",
  path: "/api/v1/redrives",
  host: "127.0.0.1:3107",
  origin: undefined,
  fetchSite: undefined,
  ...facts,
});

describe("hosts", () => {
  test.each(["localhost", "localhost:3107", "127.0.0.1:3107", "[::1]:3107", "LOCALHOST:80"])("%s may pass", (host) => {
    expect(refusalOf(request({ host }), none)).toBeNull();
  });

  test.each([
    "rebound.example:3107",
    "localhost.evil.example",
    "127.0.0.1.evil.example:3107",
    "evil.example:127.0.0.1",
    "",
    undefined,
  ])("%s is refused, for reading too: a rebound name reads as if it were ours", (host) => {
    expect(refusalOf(request({ host, method: "GET" }), none)).toContain("PARKADE_ALLOWED_HOSTS");
  });

  test("a name from PARKADE_ALLOWED_HOSTS may pass, with its port or with any", () => {
    const allowed = parseAllowedHosts(" Parkade.example, inner:8080 ");
    expect(refusalOf(request({ host: "parkade.example:8443" }), allowed)).toBeNull();
    expect(refusalOf(request({ host: "inner:8080" }), allowed)).toBeNull();
    expect(refusalOf(request({ host: "inner:8081" }), allowed)).not.toBeNull();
  });

  test("* lets any name pass, and still no foreign page may write", () => {
    const any = parseAllowedHosts("*");
    expect(refusalOf(request({ host: "whatever.example" }), any)).toBeNull();
    expect(refusalOf(request({ host: "whatever.example", method: "GET", fetchSite: "same-origin" }), any)).toBeNull();
    expect(refusalOf(request({ host: "whatever.example", origin: "https://evil.example" }), any)).not.toBeNull();
    const rebound = { host: "rebound.example:3107", origin: "http://rebound.example:3107", fetchSite: "same-origin" };
    expect(refusalOf(request(rebound), any)).toContain("PARKADE_ALLOWED_HOSTS");
    expect(refusalOf(request({ ...rebound, origin: undefined }), any)).toContain("PARKADE_ALLOWED_HOSTS");
    const named = parseAllowedHosts("* parkade.example");
    const own = { host: "parkade.example", origin: "https://parkade.example", fetchSite: "same-origin" };
    expect(refusalOf(request(own), named)).toBeNull();
  });

  test("a health probe may come by any address, but only to look", () => {
    expect(refusalOf(request({ host: "10.1.2.3:3107", method: "GET", path: "/readyz" }), none)).toBeNull();
    expect(refusalOf(request({ host: "10.1.2.3:3107", method: "POST", path: "/readyz" }), none)).not.toBeNull();
    expect(refusalOf(request({ host: "10.1.2.3:3107", method: "GET", path: "/metrics" }), none)).not.toBeNull();
  });
});

describe("foreign pages", () => {
  test.each([
    ["another site", { origin: "https://evil.example" }],
    ["another port of this machine", { origin: "http://127.0.0.1:4000" }],
    ["a sandboxed frame", { origin: "null" }],
    ["a browser extension", { origin: "chrome-extension://abcdef" }],
    ["a browser that hides the origin", { fetchSite: "cross-site" }],
    ["another port, told by the browser", { fetchSite: "same-site" }],
  ])("%s may not write", (_, facts) => {
    for (const method of ["POST", "PATCH", "DELETE", "PUT"]) {
      expect(refusalOf(request({ ...facts, method }), none)).toContain("may not change anything");
    }
  });

  test("the console's own pages and clients without a browser may write", () => {
    expect(refusalOf(request({ origin: "http://127.0.0.1:3107", fetchSite: "same-origin" }), none)).toBeNull();
    expect(refusalOf(request({}), none)).toBeNull();
  });

  test("a link from another page may be followed", () => {
    expect(
      refusalOf(
        request({ method: "GET", path: "/events/e-1", fetchSite: "cross-site", origin: "https://wiki.example" }),
        none,
      ),
    ).toBeNull();
  });

  test.each(["cross-site", "same-site"])(
    "a page of another site (%s) may not request data, which costs",
    (fetchSite) => {
      for (const path of ["/api/v1/events/export", "/api/v1/events", "/metrics"]) {
        expect(refusalOf(request({ method: "GET", path, fetchSite }), none)).toContain("may not request data");
        expect(refusalOf(request({ method: "GET", path, fetchSite: "same-origin" }), none)).toBeNull();
        expect(refusalOf(request({ method: "GET", path, fetchSite: "none" }), none)).toBeNull();
        expect(refusalOf(request({ method: "GET", path }), none)).toBeNull();
      }
    },
  );

  test("behind a proxy the public name is an origin of its own", () => {
    const allowed = parseAllowedHosts("web:3000,parkade.example");
    const facts = { host: "web:3000", origin: "https://parkade.example", fetchSite: "same-origin" };
    expect(refusalOf(request(facts), allowed)).toBeNull();
    expect(refusalOf(request({ host: "parkade.example:443", origin: "https://parkade.example" }), allowed)).toBeNull();
  });
});
