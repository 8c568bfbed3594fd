import pg from "pg";
import { describe, expect, test } from "vitest";
import { takesAnyCertificate } from "./postgres-tls.pure";

const at = (query: string, host = "db.example.com") => `postgres://u:p@${host}:5432/parkade${query}`;

/** Whether the installed driver would take any certificate. */
function driverTakesAny(address: string): boolean {
  const { ssl } = new pg.Client({ connectionString: address }) as unknown as { ssl: unknown };
  return (
    typeof ssl === "object" && ssl !== null && (ssl as { rejectUnauthorized?: boolean }).rejectUnauthorized === false
  );
}

describe("an address of PostgreSQL", () => {
  test.each([
    ["", false],
    ["?ssl=true", false],
    ["?ssl=no-verify", true],
    ["?sslmode=disable", false],
    ["?sslmode=allow", false],
    ["?sslmode=prefer", false],
    ["?sslmode=require", false],
    ["?sslmode=verify-full", false],
    ["?sslmode=no-verify", true],
    ["?sslmode=no%2Dverify", true],
    ["?sslmode=verify-full&sslmode=no-verify", true],
    ["?sslmode=no-verify&sslmode=verify-full", false],
    ["?uselibpqcompat=true&sslmode=prefer", true],
    ["?uselibpqcompat=true&sslmode=require", true],
    ["?uselibpqcompat=true&sslmode=verify-full", false],
  ])("with %j takes any certificate: %s, as the driver does", (query, any) => {
    expect(takesAnyCertificate(at(query), undefined)).toBe(any);
    expect(driverTakesAny(at(query))).toBe(any);
  });

  test.each(["localhost", "127.0.0.1", "[::1]"])("on %s may do so", (host) => {
    expect(takesAnyCertificate(at("?sslmode=no-verify", host), undefined)).toBe(false);
  });

  test("is judged by the host that the driver connects to", () => {
    expect(takesAnyCertificate(at("?sslmode=no-verify&host=db.example.com", "localhost"), undefined)).toBe(true);
    expect(takesAnyCertificate(at("?sslmode=no-verify&host=/run/postgresql"), undefined)).toBe(false);
  });

  test("is judged by PGSSLMODE where it says nothing", () => {
    expect(takesAnyCertificate(at(""), "no-verify")).toBe(true);
    expect(takesAnyCertificate(at("?sslmode=verify-full"), "no-verify")).toBe(false);
  });
});
