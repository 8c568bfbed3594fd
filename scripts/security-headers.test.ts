import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { CspEvaluator } from "csp_evaluator/dist/evaluator.js";
import { Severity } from "csp_evaluator/dist/finding.js";
import { CspParser } from "csp_evaluator/dist/parser.js";
import { describe, expect, test } from "vitest";
import { securityHeaders, shellOf } from "./security-headers.ts";

const HTTPS = shellOf({ PARKADE_PUBLIC_URL: "https://parkade.example.com", NODE_ENV: "production" });
const HTTP = shellOf({ NODE_ENV: "production" });
const policyOf = (path: string, shell = HTTPS) => securityHeaders(path, "bm9uY2U=", shell)["content-security-policy"]!;

/** Why a finding of csp_evaluator is accepted, by its directive and value. */
const ACCEPTED: Record<string, string> = {
  "style-src 'unsafe-inline'": "for browsers that do not know style-src-elem and style-src-attr",
};

describe("the policy of pages", () => {
  test.each([HTTPS, HTTP])("is one in which csp_evaluator finds no hole: %j", (shell) => {
    const findings = new CspEvaluator(new CspParser(policyOf("/events", shell)).csp).evaluate();
    const holes = findings
      .filter(({ severity }) => severity <= Severity.MEDIUM || severity === Severity.SYNTAX)
      .map(({ directive, value = "", description }) => ({ at: `${directive} ${value}`.trim(), description }))
      .filter(({ at }) => ACCEPTED[at] === undefined);
    expect(holes).toEqual([]);
  });

  test("would be complained about with a hole in it", () => {
    const open = policyOf("/events")
      .replace("'strict-dynamic'", "'unsafe-inline' https:")
      .replace(/'nonce-[^']+'/g, "");
    const findings = new CspEvaluator(new CspParser(open).csp).evaluate();
    expect(findings.some(({ severity }) => severity === Severity.HIGH)).toBe(true);
  });

  test("lets in the style sheet of the installed sonner, and demands the nonce of any other", () => {
    const [, literal] = /^__insertCSS\((".*")\)/m.exec(readFileSync("node_modules/sonner/dist/index.mjs", "utf8"))!;
    const css: string = JSON.parse(literal!);
    const hash = `'sha256-${createHash("sha256").update(css).digest("base64")}'`;
    const elements = /style-src-elem ([^;]+)/.exec(policyOf("/"))![1]!.split(" ");
    expect(elements).toContain(hash);
    expect(elements).not.toContain("'unsafe-inline'");
    expect(elements).toContain("'nonce-bm9uY2U='");
  });

  test("demands Trusted Types and lets no text be evaluated", () => {
    expect(policyOf("/")).toContain("require-trusted-types-for 'script'");
    expect(policyOf("/")).not.toMatch(/unsafe-eval|unsafe-hashes/);
    expect(policyOf("/", shellOf({ NODE_ENV: "development" }))).toContain("'unsafe-eval'");
  });
});

describe("the headers of every answer", () => {
  test.each([
    "/",
    "/events",
    "/api/v1/events",
    "/ops/dlq/redrive",
    "/metrics",
    "/_next/static/chunks/a.js",
    "/icon.svg",
  ])("keep others from framing, guessing and embedding %s", (path) => {
    const headers = securityHeaders(path, "n", HTTPS);
    expect(headers).toMatchObject({
      "x-content-type-options": "nosniff",
      "x-frame-options": "DENY",
      "referrer-policy": "same-origin",
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-resource-policy": "same-origin",
      "cross-origin-embedder-policy": "require-corp",
      "permissions-policy": expect.stringMatching(/camera=\(\).*usb=\(\)/),
      "strict-transport-security": "max-age=31536000",
    });
    expect(headers["content-security-policy"]).toContain("frame-ancestors 'none'");
  });

  test("let no cache keep data or a page, and leave files of the build to Next", () => {
    for (const path of ["/", "/events", "/api/v1/events", "/metrics", "/_next/data/x", "/_next/staticx"])
      expect(securityHeaders(path, "n", HTTP)["cache-control"], path).toBe("no-store");
    for (const path of ["/_next/static/chunks/a.js", "/icon.svg"])
      expect(securityHeaders(path, "n", HTTP)["cache-control"], path).toBeUndefined();
  });

  test("demand https only where people come by https", () => {
    expect(securityHeaders("/", "n", HTTP)["strict-transport-security"]).toBeUndefined();
    expect(policyOf("/", HTTP)).not.toContain("upgrade-insecure-requests");
    expect(policyOf("/", HTTPS)).toContain("upgrade-insecure-requests");
  });
});
