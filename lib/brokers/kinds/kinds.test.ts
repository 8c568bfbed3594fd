import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { redactConfig, resolveSecrets, restoreMasked } from "@/lib/brokers/kinds/config-secrets.shapes";
import { formFields } from "@/lib/brokers/kinds/descriptor.shapes";
import { KINDS, kindOf, parseSourceConfig, targetAddress } from "@/lib/brokers/kinds/kinds.shapes";
import { redactUrl } from "@/lib/guard/redaction/redact-url.shapes";
import { DomainError } from "@/lib/platform/plain/problem.pure";

const RABBIT = { url: "amqp://parkade:hunter2@rabbit:5672/prod", queue: "orders.dlq" };

function failure(act: () => unknown): DomainError {
  try {
    act();
  } catch (error) {
    if (error instanceof DomainError) return error;
    throw error;
  }
  throw new Error("expected a DomainError");
}

describe("parseSourceConfig", () => {
  it("redrives to the origin queue unless told otherwise", () => {
    const parsed = parseSourceConfig("rabbitmq", { ...RABBIT, redriveTo: { queue: "orders" } });
    expect(parsed.config).toMatchObject({ redriveTo: { mode: "origin-queue", queue: "orders" } });
  });

  it.each(KINDS)("takes the example of %s, and each of its settings has words", (kind) => {
    const { example, config, docs } = kindOf(kind);
    expect(parseSourceConfig(kind, example).kind).toBe(kind);
    expect(formFields(config).map(({ label }) => label)).not.toContain("");
    expect(existsSync(`docs/${docs}`)).toBe(true);
    expect(readFileSync("README.md", "utf8")).toContain(`(docs/${docs})`);
  });

  it("says that a kind nobody knows is none", () => {
    expect(failure(() => parseSourceConfig("mqtt", {})).message).toContain("not a kind of source");
  });

  it.each<[string, unknown, string]>([
    ["rabbitmq", { queue: "q" }, "config.url"],
    ["rabbitmq", { url: "http://a.example", queue: "q" }, "config.url"],
    ["rabbitmq", { ...RABBIT, queue: "" }, "config.queue"],
    ["rabbitmq", { ...RABBIT, url: "amqp://rabbit/%zz" }, "config.url"],
    ["rabbitmq", { ...RABBIT, queue: "é".repeat(128) }, "config.queue"],
    ["rabbitmq", { ...RABBIT, prefetch: 0 }, "config.prefetch"],
    ["rabbitmq", { ...RABBIT, redriveTo: { mode: "back" } }, "config.redriveTo.mode"],
    ["rabbitmq", { ...RABBIT, qeue: "typo" }, "config.qeue"],
    ["http", { redriveUrl: "ftp://a.example" }, "config.redriveUrl"],
    ["http", { redriveUrl: "file:///etc/passwd" }, "config.redriveUrl"],
    ["http", { headers: { "bad name": "x" } }, "config.headers.bad name"],
    ["http", { headers: { "Content-Length": "1" } }, "config.headers.Content-Length"],
    ["http", { headers: { a: "x\r\ny: z" } }, "config.headers.a"],
    [
      "http",
      { mapping: { tags: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`t${i}`, "/a"])) } },
      "config.mapping.tags",
    ],
    ["http", "text", "config"],
  ])("names the field that is wrong: %s %j -> %s", (kind, config, field) => {
    expect(failure(() => parseSourceConfig(kind, config)).fields.map((entry) => entry.field)).toContain(field);
  });

  it("never repeats a value in an error", () => {
    const error = failure(() => parseSourceConfig("rabbitmq", { url: "mqtt://u:hunter2@h", queue: "q" }));
    expect(JSON.stringify([error.message, error.fields])).not.toContain("hunter2");
  });
});

describe("resolveSecrets", () => {
  const config = (name: string, listed: string[] = ["URL", "TOKEN"]) => ({
    source: parseSourceConfig("http", {
      redriveUrl: "env:URL",
      headers: { authorization: `env:${name}`, "x-env": "env is plain here" },
    }),
    listed,
  });
  const { source, listed } = config("TOKEN");

  it("replaces whole references, and nothing else", () => {
    const variables = { URL: "https://a.example/", TOKEN: "Bearer s3" };
    expect(resolveSecrets(source, { variables, listed }).source.config).toMatchObject({
      redriveUrl: "https://a.example/",
      headers: { authorization: "Bearer s3", "x-env": "env is plain here" },
    });
    expect(source.config).toMatchObject({ redriveUrl: "env:URL" });
  });

  it.each(["standard-webhooks", "hmac"])(
    "keeps the empty prefix of a signature by %s, which is no reference",
    (scheme) => {
      const secret = `whsec_${Buffer.alloc(24, 7).toString("base64")}`;
      const signed = {
        redriveUrl: "https://a.example/",
        signing: { scheme, secret: "env:PARKADE_SECRET_X" },
        signedIntake: { scheme, secrets: ["env:PARKADE_SECRET_X"] },
      };
      const wanted = parseSourceConfig("http", signed);
      const found = resolveSecrets(wanted, { variables: { PARKADE_SECRET_X: secret }, listed: [] });
      expect(found.source.config).toMatchObject({
        signing: { secret, prefix: "" },
        signedIntake: { secrets: [secret] },
      });
    },
  );

  it("names the variable that is missing and the field that wants it", () => {
    const error = failure(() => resolveSecrets(source, { variables: { URL: "https://a.example/" }, listed }));
    expect(error.message).toContain("TOKEN");
    expect(error.fields[0]!.field).toBe("config.headers.authorization");
  });

  it("checks what the variable held, without repeating it", () => {
    const error = failure(() => resolveSecrets(source, { variables: { URL: "hunter2", TOKEN: "t" }, listed }));
    expect(error.fields[0]!.field).toBe("config.redriveUrl");
    expect(JSON.stringify([error.message, error.fields])).not.toContain("hunter2");
  });

  const ITS_OWN = [
    ...["DATABASE_URL", "REDIS_URL", "PGPASSWORD", "PARKADE_DATA_DIR", "PARKADE_SECRET_CONFIRMED"],
    ...["PARKADE_SECRET_ARCHIVE_KEY", "PARKADE_SECRET_ARCHIVE_KEY_ID", "PARKADE_SECRET_ARCHIVE_ENCRYPTION_KEY"],
    "database_url",
  ];

  it.each([...ITS_OWN, "PATH", "HOME", "secret_x"])(
    "refuses %s with the same words whether it exists or not",
    (name) => {
      const refusal = (variables: Record<string, string>) => {
        const wanted = config(name, ["URL", ...ITS_OWN]);
        return failure(() => resolveSecrets(wanted.source, { variables, listed: wanted.listed }));
      };
      const there = refusal({ URL: "https://a.example/", [name]: "s3cr3t" });
      const gone = refusal({ URL: "https://a.example/" });
      expect([there.message, there.fields]).toEqual([gone.message, gone.fields]);
      expect(there.message).toMatch(/config\.headers\.authorization.*PARKADE_SECRET_.*PARKADE_ENV_REFERENCES/);
    },
  );

  it("takes a variable by its prefix, and lists what nobody may see", () => {
    const wanted = config("PARKADE_SECRET_ORDERS");
    const variables = {
      URL: "https://u:p%40ss@a.example/x?token=t0k3n&page=2",
      PARKADE_SECRET_ORDERS: "Bearer s3cr3t",
    };
    const { secrets } = resolveSecrets(wanted.source, { variables, listed: wanted.listed });
    expect(secrets).toEqual(
      expect.arrayContaining([variables.URL, "p%40ss", "p@ss", "t0k3n", "Bearer s3cr3t", "s3cr3t"]),
    );
    expect(secrets).not.toContain("env is plain here");
    expect(secrets).not.toContain("2");
  });

  it.each([
    { ...RABBIT, queue: "env:PARKADE_SECRET_X" },
    { ...RABBIT, redriveTo: { exchange: "env:PARKADE_SECRET_X" } },
    { ...RABBIT, mapping: { tags: { a: "env:PARKADE_SECRET_X" } } },
  ])("refuses a reference where a broker would repeat its value: %j", (rabbit) => {
    expect(failure(() => parseSourceConfig("rabbitmq", rabbit)).message).toMatch(
      /config\.\S+ contains env:NAME.*only in/,
    );
  });
});

describe("redaction", () => {
  it.each([
    ["amqp://u:p@h:1/v?frame=1", "amqp://***:***@h:1/v?frame=1"],
    ["https://h/x?api_key=s3cret&page=2", "https://h/x?api_key=***&page=2"],
    ["https://h/x", "https://h/x"],
    ["https://h/x?code=a1&page=2", "https://h/x?code=***&page=2"],
    ["https://h/x?jwt=a&pwd=b&sas=c&sid=d&bearer=e", "https://h/x?jwt=***&pwd=***&sas=***&sid=***&bearer=***"],
    ["https://h/x;jsessionid=A1B2;v=1/y#access_token=s3", "https://h/x;jsessionid=***;v=1/y#***"],
    ["https://hooks.example/services/T00/B00/aB3dE6gH9jK2mN5pQ8sT", "https://hooks.example/services/T00/B00/***"],
    ["https://h/orders-2026-11-22-backup/OrderProcessing", "https://h/orders-2026-11-22-backup/OrderProcessing"],
    ["https://h/01a200f2-de39-7008-8d1c-e4edae1b4a86", "https://h/01a200f2-de39-7008-8d1c-e4edae1b4a86"],
    ["not a url", "not a url"],
  ])("%s -> %s", (url, shown) => expect(redactUrl(url)).toBe(shown));

  it("shows references, and no secret", () => {
    const headers = { authorization: "Bearer s3", "x-ref": "env:REF" };
    expect(redactConfig("http", { redriveUrl: "https://u:p@h/a", headers })).toEqual({
      redriveUrl: "https://***:***@h/a",
      headers: { authorization: "***", "x-ref": "env:REF" },
    });
    expect(redactConfig("rabbitmq", RABBIT)).toEqual({ url: "amqp://***:***@rabbit:5672/prod", queue: "orders.dlq" });
    expect(redactConfig("of-another-version", { any: "text" })).toEqual({ any: "***" });
  });

  it("takes back what it showed, and keeps what was changed", () => {
    const stored = {
      redriveUrl: "https://u:p@h/a",
      slowLaneUrl: "https://h/b",
      headers: { authorization: "Bearer s3" },
    };
    const edited = { ...redactConfig("http", stored), slowLaneUrl: "https://h/c" };
    expect(restoreMasked("http", edited, stored)).toEqual({ ...stored, slowLaneUrl: "https://h/c" });
    const moved = { ...edited, redriveUrl: "https://***:***@elsewhere/a" };
    const refusal = failure(() => restoreMasked("http", moved, stored));
    expect(refusal.fields.map(({ field }) => field)).toEqual(["config.redriveUrl", "config.headers.authorization"]);
  });
});

it("stores no mask as a value: a new configuration was copied from what was shown of another", () => {
  const copied = { redriveUrl: "https://h/a?token=***", headers: { authorization: "***", "x-note": "plain" } };
  expect(failure(() => restoreMasked("http", copied, null)).fields).toEqual([
    { field: "config.redriveUrl", detail: expect.stringMatching(/enter the whole address again/) },
    { field: "config.headers.authorization", detail: expect.stringMatching(/is masked: enter the value/) },
  ]);
  const typed = { redriveUrl: "https://h/a", headers: { authorization: "env:PARKADE_SECRET_A" } };
  expect(restoreMasked("http", typed, null)).toEqual(typed);
});

describe("a list of masked secrets", () => {
  const stored = { signedIntake: { scheme: "hmac", secrets: ["first-secret", "second-secret"] } };
  const edit = (secrets: string[]) =>
    restoreMasked("http", { signedIntake: { scheme: "hmac", secrets } }, stored).signedIntake;

  it("keeps each secret in its place, beside new ones", () => {
    expect(edit(["***", "third-secret"])).toMatchObject({ secrets: ["first-secret", "third-secret"] });
    expect(edit(["***", "***", "third-secret"])).toMatchObject({
      secrets: ["first-secret", "second-secret", "third-secret"],
    });
  });

  it("restores none when one was removed: the removed one could come back in place of the other", () => {
    expect(failure(() => edit(["***"])).fields).toEqual([
      { field: "config.signedIntake.secrets.0", detail: expect.stringMatching(/enter the value again/) },
    ]);
    expect(edit(["second-secret"])).toMatchObject({ secrets: ["second-secret"] });
  });

  it("asks for the values of masks that stand for none", () => {
    const { fields } = failure(() => edit(["third-secret", "***", "***"]));
    expect(fields.map(({ field }) => field)).toEqual(["config.signedIntake.secrets.2"]);
  });
});

describe("a masked header", () => {
  const stored = {
    redriveUrl: "https://orders.example/events",
    slowLaneUrl: "http://slow.example:8080/events",
    headers: { authorization: "Bearer s3cr3t", "x-ref": "env:PARKADE_SECRET_REF" },
  };
  const edit = (change: object) => restoreMasked("http", { ...redactConfig("http", stored), ...change }, stored);

  it.each([
    { redriveUrl: "https://orders.example/v2/events" },
    { redriveUrl: "https://ORDERS.example:443/events" },
    { slowLaneUrl: undefined },
    { redriveUrl: stored.slowLaneUrl, slowLaneUrl: stored.redriveUrl },
  ])("is kept while scheme, host and port are known: %j", (change) => {
    expect(edit(change).headers).toEqual(stored.headers);
  });

  it.each([
    { redriveUrl: "https://evil.example/events" },
    { redriveUrl: "http://orders.example/events" },
    { redriveUrl: "https://orders.example:8443/events" },
    { slowLaneUrl: "https://evil.example/events" },
    { redriveUrl: "env:PARKADE_SECRET_URL" },
  ])("does not follow an address to another server: %j", (change) => {
    const refusal = failure(() => edit(change));
    expect(refusal.code).toBe("invalid-config");
    expect(refusal.fields).toEqual([
      { field: "config.headers.authorization", detail: expect.stringMatching(/enter the value again/) },
    ]);
  });

  it("may be typed again with a new address", () => {
    const headers = { authorization: "Bearer n3w" };
    expect(edit({ redriveUrl: "https://new.example/", headers }).headers).toEqual(headers);
  });
});

describe("targetAddress", () => {
  const http = parseSourceConfig("http", { redriveUrl: "https://u:p@h/main" });
  const rabbit = (extra: object) => parseSourceConfig("rabbitmq", { ...RABBIT, ...extra });

  it.each([
    [parseSourceConfig("http", {}), "main", null],
    [http, "main", "https://***:***@h/main"],
    [http, "slow", "https://***:***@h/main"],
    [parseSourceConfig("http", { redriveUrl: "https://h/a", slowLaneUrl: "https://h/b" }), "slow", "https://h/b"],
    [rabbit({}), "main", "origin queue"],
    [rabbit({ slowLaneQueue: "s" }), "slow", "queue s"],
    [rabbit({ slowLaneQueue: "s" }), "main", "origin queue"],
    [rabbit({ redriveTo: { queue: "o" } }), "slow", "queue o"],
    [rabbit({ redriveTo: { mode: "exchange" } }), "main", "origin exchange"],
    [rabbit({ redriveTo: { mode: "exchange", exchange: "x" } }), "main", "exchange x"],
  ] as const)("%j %s -> %s", (source, lane, address) => expect(targetAddress(source, lane)).toBe(address));
});
