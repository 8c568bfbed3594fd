import { describe, expect, test } from "vitest";
import { assertNoNewPlainSecret, assertPermitted, plainSecretPlaces } from "@/lib/brokers/kinds/config-limits.shapes";
import { type FormField, formFields } from "@/lib/brokers/kinds/descriptor.shapes";
import { parseDestination } from "@/lib/brokers/kinds/destination.shapes";
import { KINDS, kindOf, parseSourceConfig, type SourceConfig } from "@/lib/brokers/kinds/kinds.shapes";
import { isSecretName } from "@/lib/guard/redaction/redact.pure";
import { urlHoldsSecret } from "@/lib/guard/redaction/redact-url.shapes";
import { plainSecretModeOf } from "@/lib/guard/redaction/secret-references.pure";
import { DEFAULT_ADDRESSES } from "@/lib/platform/address-filter";

const REFUSE = { plainSecretMode: "refuse" } as const;
const LIMITS = { ...REFUSE, envReferences: [], addresses: DEFAULT_ADDRESSES };

/** A configuration with one setting alone; not one that the kind would take. */
function configWith({ path, input }: FormField, text: string): Record<string, unknown> {
  const value = input === "list" ? [text] : input === "pairs" ? { authorization: text } : text;
  return path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as Record<string, unknown>;
}

const settings = KINDS.flatMap((kind) =>
  formFields(kindOf(kind).config).map((field) => [kind, field.path.join("."), field] as const),
);
const PLAIN = { address: "https://user:s3cret@orders.example/x", secret: "s3cret" };

describe("a secret of a source", () => {
  test.each(settings.filter(([, , { role }]) => role !== undefined))(
    "of %s in %s must be a reference",
    (kind, name, field) => {
      const plain = configWith(field, PLAIN[field.role!]);
      const at = plainSecretPlaces(kind, plain);
      expect(at).toEqual([expect.stringContaining(`config.${name}`)]);
      const source = { kind, config: plain } as unknown as SourceConfig;
      expect(() => assertNoNewPlainSecret(source, REFUSE, null)).toThrow(
        expect.objectContaining({
          code: "invalid-config",
          fields: [
            { field: at[0], detail: expect.stringMatching(/env:PARKADE_SECRET_NAME or file:.*hardening\.md#secrets/) },
          ],
        }),
      );
      expect(() => assertNoNewPlainSecret(source, REFUSE, null)).not.toThrow(/s3cret/);
      expect(() => assertNoNewPlainSecret(source, { plainSecretMode: "take" }, null)).not.toThrow();
      expect(() => assertNoNewPlainSecret(source, REFUSE, plain)).not.toThrow();
      for (const reference of ["env:PARKADE_SECRET_X", "file:/run/secrets/x"])
        expect(plainSecretPlaces(kind, configWith(field, reference))).toEqual([]);
    },
  );

  test("is declared as one wherever the setting has the name of one", () => {
    const named = settings.filter(
      ([, , { path, input }]) =>
        (input === "text" || input === "list" || input === "pairs") &&
        (isSecretName(path.at(-1)!) || /^(?:key|secrets|creds|nkeySeed)$/.test(path.at(-1)!)),
    );
    expect(named.length).toBeGreaterThan(KINDS.length);
    expect(named.filter(([, , { role }]) => role !== "secret").map(([kind, name]) => `${kind} ${name}`)).toEqual([]);
  });

  test.each(KINDS)("stands in no example of %s, so that nobody is told to type one", (kind) => {
    const { example, config } = kindOf(kind);
    expect(plainSecretPlaces(kind, example as Record<string, unknown>)).toEqual([]);
    for (const { role, example } of formFields(config)) {
      if (role === "address" && example !== undefined) expect(urlHoldsSecret(example)).toBe(false);
    }
  });

  test("is no header that says who calls, and every one that is a credential by its name or its form", () => {
    const headers = {
      "x-tenant": "acme",
      "x-functions-key": "k3y",
      "x-custom": "Bearer t0ken",
      authorization: "env:X",
      "x-key": "",
    };
    expect(plainSecretPlaces("http", { headers })).toEqual([
      "config.headers.x-functions-key",
      "config.headers.x-custom",
    ]);
  });

  test("of a kind that this version does not know is not told", () => {
    expect(plainSecretPlaces("carrier-pigeon", { password: "s3cret" })).toEqual([]);
  });

  test.each([
    ["amqp://user:secret@rabbit.example/vhost", true],
    ["amqp://user@rabbit.example/vhost", false],
    ["postgresql://parkade@db.example/orders?sslmode=require", false],
    ["postgresql://db.example/orders?password=secret", true],
    ["redis://:secret@redis.example:6379/0", true],
    ["https://t0ken@orders.example/", true],
    ["https://hooks.example/services/T00/B00/aB3dE6gH9jK2mN5pQ8sT", true],
    ["https://orders.example/events?sig=abc", true],
    ["https://orders.example/events/019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b40?page=2", false],
    ["kafka-1.example:9092", false],
    ["nats.example", false],
  ])("in the address %s: %s", (address, holds) => expect(urlHoldsSecret(address)).toBe(holds));
});

describe("an older source with a plain secret", () => {
  const stored = {
    redriveUrl: "https://user:old@orders.example/events",
    headers: { authorization: "Bearer old" },
    signedIntake: { scheme: "hmac", secrets: ["old-1", "old-2"] },
  };
  const edited = (part: object) => () =>
    assertPermitted(parseSourceConfig("http", { ...stored, ...part }), LIMITS, stored);

  test.each([
    ["another setting", { format: "cloudevents-binary" }],
    ["one secret by a reference", { headers: { authorization: "env:PARKADE_SECRET_X" } }],
    ["a list without its first secret", { signedIntake: { scheme: "hmac", secrets: ["old-2"] } }],
    [
      "a list with a reference before its secrets",
      { signedIntake: { scheme: "hmac", secrets: ["env:PARKADE_SECRET_X", "old-1"] } },
    ],
    ["a further header that is none", { headers: { ...stored.headers, "x-tenant": "acme" } }],
  ])("takes %s", (_what, part) => expect(edited(part)).not.toThrow());

  test.each([
    ["another value", { headers: { authorization: "Bearer new" } }, "config.headers.authorization"],
    [
      "the value at another place",
      { headers: { ...stored.headers, "x-api-key": "Bearer old" } },
      "config.headers.x-api-key",
    ],
    ["another address", { redriveUrl: "https://user:old@other.example/events" }, "config.redriveUrl"],
    [
      "a third secret",
      { signedIntake: { scheme: "hmac", secrets: ["old-1", "old-2", "new"] } },
      "config.signedIntake.secrets.2",
    ],
  ])("refuses %s", (_what, part, field) => {
    expect(edited(part)).toThrow(expect.objectContaining({ fields: [expect.objectContaining({ field })] }));
  });

  test("gets a named target, whose own secrets are references", () => {
    const source = { kind: "http", config: stored };
    const add = (destination: object, before: Record<string, unknown> | null = null) =>
      parseDestination(source, destination as Record<string, unknown>, { stored: before, limits: LIMITS });
    const url = "https://audit.example/events";
    expect(add({ redriveUrl: url })).toEqual({ redriveUrl: url });
    const plain = { redriveUrl: url, headers: { "x-api-key": "old" } };
    expect(() => add(plain)).toThrow(
      expect.objectContaining({ fields: [expect.objectContaining({ field: "destination.headers.x-api-key" })] }),
    );
    expect(add({ ...plain, headers: { "x-api-key": "***" } }, plain)).toEqual(plain);
  });
});

test.each([
  [null, "elsewhere", "take"],
  [null, "always", "refuse"],
  [null, "off", "refuse"],
  ["take", "always", "take"],
  ["refuse", "elsewhere", "refuse"],
] as const)("PARKADE_PLAIN_SECRETS=%s with sign-in %s: %s", (given, signIn, mode) =>
  expect(plainSecretModeOf(given, signIn)).toBe(mode),
);
