import { describe, expect, it } from "vitest";
import {
  parseSourceConfig,
  redactConfig,
  redactUrl,
  resolveSecrets,
  restoreMasked,
  targetAddress,
} from "@/lib/contract/source-config";
import { DomainError } from "@/lib/core/problem";

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
  it.each([
    ["http", {}],
    ["http", { redriveUrl: "https://a.example/x", slowLaneUrl: "env:SLOW", headers: { authorization: "env:TOKEN" } }],
    ["rabbitmq", RABBIT],
    ["rabbitmq", { url: "env:RABBIT", queue: "q", redriveTo: { mode: "exchange", exchange: "" }, prefetch: 50 }],
    ["rabbitmq", { ...RABBIT, mapping: { aggregateId: "/order/id", tags: { orderId: "x-order" } } }],
  ])("accepts %s %j", (kind, config) => {
    expect(parseSourceConfig(kind, config).kind).toBe(kind);
  });

  it("redrives to the origin queue unless told otherwise", () => {
    const parsed = parseSourceConfig("rabbitmq", { ...RABBIT, redriveTo: { queue: "orders" } });
    expect(parsed.config).toMatchObject({ redriveTo: { mode: "origin-queue", queue: "orders" } });
  });

  it.each(["kafka", "sqs", "nats", "redis-stream", "bullmq", "outbox"])(
    "says that %s is not available in this version",
    (kind) => {
      const error = failure(() => parseSourceConfig(kind, {}));
      expect(error.code).toBe("invalid-config");
      expect(error.message).toContain("not available in this version");
      expect(error.fields[0]!.field).toBe("kind");
    },
  );

  it("says that a kind nobody knows is none", () => {
    expect(failure(() => parseSourceConfig("mqtt", {})).message).toContain("not a kind of source");
  });

  it.each<[string, unknown, string]>([
    ["rabbitmq", { queue: "q" }, "config.url"],
    ["rabbitmq", { url: "http://a.example", queue: "q" }, "config.url"],
    ["rabbitmq", { ...RABBIT, queue: "" }, "config.queue"],
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
  const source = parseSourceConfig("http", {
    redriveUrl: "env:URL",
    headers: { authorization: "env:TOKEN", "x-env": "env is plain here" },
  });

  it("replaces whole references, and nothing else", () => {
    expect(resolveSecrets(source, { URL: "https://a.example/", TOKEN: "Bearer s3" }).config).toMatchObject({
      redriveUrl: "https://a.example/",
      headers: { authorization: "Bearer s3", "x-env": "env is plain here" },
    });
    expect(source.config).toMatchObject({ redriveUrl: "env:URL" });
  });

  it("names the variable that is missing and the field that wants it", () => {
    const error = failure(() => resolveSecrets(source, { URL: "https://a.example/" }));
    expect(error.message).toContain("TOKEN");
    expect(error.fields[0]!.field).toBe("config.headers.authorization");
  });

  it("checks what the variable held, without repeating it", () => {
    const error = failure(() => resolveSecrets(source, { URL: "hunter2", TOKEN: "t" }));
    expect(error.fields[0]!.field).toBe("config.redriveUrl");
    expect(JSON.stringify([error.message, error.fields])).not.toContain("hunter2");
  });
});

describe("redaction", () => {
  it.each([
    ["amqp://u:p@h:1/v?frame=1", "amqp://***:***@h:1/v?frame=1"],
    ["https://h/x?api_key=s3cret&page=2", "https://h/x?api_key=***&page=2"],
    ["https://h/x", "https://h/x"],
    ["not a url", "not a url"],
  ])("%s -> %s", (url, shown) => expect(redactUrl(url)).toBe(shown));

  it("shows references, and no secret", () => {
    const shown = redactConfig({ ...RABBIT, headers: { authorization: "Bearer s3", "x-ref": "env:REF" } });
    expect(shown).toEqual({
      url: "amqp://***:***@rabbit:5672/prod",
      queue: "orders.dlq",
      headers: { authorization: "***", "x-ref": "env:REF" },
    });
  });

  it("takes back what it showed, and keeps what was changed", () => {
    const stored = { ...RABBIT, headers: { authorization: "Bearer s3" } };
    const edited = { ...redactConfig(stored), queue: "other" };
    expect(restoreMasked(edited, stored)).toEqual({ ...stored, queue: "other" });
    const moved = { ...edited, url: "amqp://***:***@elsewhere:5672/prod" };
    expect(restoreMasked(moved, stored).url).toBe("amqp://***:***@elsewhere:5672/prod");
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
