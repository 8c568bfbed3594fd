import { describe, expect, test } from "vitest";
import { assertPermitted } from "@/lib/brokers/kinds/config-limits.shapes";
import { redactConfig, resolveSecrets } from "@/lib/brokers/kinds/config-secrets.shapes";
import { parseSourceConfig } from "@/lib/brokers/kinds/kinds.shapes";
import {
  boundElsewhere,
  listedReferences,
  mayReference,
  referenceIn,
} from "@/lib/guard/redaction/secret-references.pure";
import { DEFAULT_ADDRESSES } from "@/lib/platform/address-filter";

const listed = listedReferences(["OTHER"], "/run/secrets/");

describe("a reference", () => {
  test.each([
    ["file:/run/secrets/token", true],
    ["file:/run/secrets/orders/token", true],
    ["file:/run/secrets/../shadow", false],
    ["file:/run/secrets/./token", false],
    ["file:/run/secrets//etc/passwd", false],
    ["file:/run/secrets/", false],
    ["file:/run/secrets", false],
    ["file:/run/secrets-of-others/token", false],
    ["file:/etc/passwd", false],
    ["PARKADE_SECRET_X", true],
    ["OTHER", true],
    ["PARKADE_SECRET_FILES", false],
    ["PARKADE_SECRET_X__HOSTS", false],
    ["PARKADE_CA_FILE", false],
  ])("to %s may stand in a configuration: %s", (name, may) => expect(mayReference(name, listed)).toBe(may));

  test("to a file is an absolute path, and no address", () => {
    expect(referenceIn("file:/run/secrets/a-b_c.d")).toBe("file:/run/secrets/a-b_c.d");
    for (const text of ["file:///run/secrets/x", "file:run/x", "file:/run/a b", "file:/run/\nx", " file:/run/x"])
      expect(referenceIn(text)).toBeNull();
  });

  test("to a file is saved only where a folder is named, is shown as it is, and resolved where it is used", () => {
    const source = parseSourceConfig("http", {
      redriveUrl: "https://orders.example",
      headers: { authorization: "file:/run/secrets/token" },
    });
    const limits = { envReferences: listed, plainSecretMode: "refuse", addresses: DEFAULT_ADDRESSES } as const;
    expect(() => assertPermitted(source, limits, null)).not.toThrow();
    expect(() => assertPermitted(source, { ...limits, envReferences: [] }, null)).toThrow(/PARKADE_SECRET_FILES/);
    expect(redactConfig("http", source.config)).toMatchObject({
      headers: { authorization: "file:/run/secrets/token" },
    });
    const files = (path: string) => (path === "/run/secrets/token" ? "Bearer s3cret" : undefined);
    const resolved = resolveSecrets(source, { variables: {}, listed, files });
    expect(resolved.source.config).toMatchObject({ headers: { authorization: "Bearer s3cret" } });
    expect(resolved.secrets).toContain("Bearer s3cret");
    expect(() => resolveSecrets(source, { variables: {}, listed })).toThrow(/which is not set/);
  });
});

describe("a secret that is bound to hosts", () => {
  const source = (redriveUrl: string, more: object = {}) =>
    parseSourceConfig("http", { redriveUrl, headers: { authorization: "env:PARKADE_SECRET_X" }, ...more });
  const given = (hosts: string) => ({
    variables: { PARKADE_SECRET_X: "s3cret", PARKADE_SECRET_X__HOSTS: hosts },
    listed: [],
  });

  test.each([
    ["https://orders.example.com", "orders.example.com", true],
    ["https://a.orders.example.com/x", "*.orders.example.com", true],
    ["https://elsewhere.example", "orders.example.com", false],
    ["https://orders.example.com.elsewhere.example", "orders.example.com", false],
    ["https://orders.example.com@elsewhere.example", "orders.example.com", false],
    ["https://orders.example.com", "not a name/", false],
  ])("goes to %s when it is bound to %s: %s", (url, hosts, goes) => {
    const resolve = () => resolveSecrets(source(url), given(hosts));
    if (goes) expect(resolve).not.toThrow();
    else expect(resolve).toThrow(/config.headers.authorization: names PARKADE_SECRET_X, which may be sent only to/);
  });

  test("goes nowhere when one of the addresses of the source is another", () => {
    const checkCall = { url: "https://elsewhere.example/check" };
    const url = "https://orders.example.com";
    expect(() => resolveSecrets(source(url, { checkCall }), given("orders.example.com"))).toThrow(/sent only to/);
  });

  test("is bound by the name of its file, too, and free without a list", () => {
    const variables = { ORDERS_TOKEN__HOSTS: "orders.example.com" };
    const place = { variables, listed };
    expect(boundElsewhere("file:/run/secrets/orders-token", ["other.example"], place)).toBe("orders.example.com");
    expect(boundElsewhere("file:/run/secrets/orders-token", ["orders.example.com"], place)).toBeNull();
    expect(boundElsewhere("PARKADE_SECRET_Y", ["other.example"], place)).toBeNull();
  });
});
