import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { formFields } from "@/lib/brokers/kinds/descriptor.shapes";
import { configAt, parseDestination } from "@/lib/brokers/kinds/destination.shapes";
import { KINDS, kindOf, parseSourceConfig, targetAddress } from "@/lib/brokers/kinds/kinds.shapes";
import { DEFAULT_ADDRESSES } from "@/lib/platform/address-filter";

const nothing = {
  stored: null,
  limits: { envReferences: [], plainSecretMode: "take", addresses: DEFAULT_ADDRESSES } as const,
};

describe("the destination of a named target", () => {
  it.each(KINDS)("is made of settings of %s, and docs/sources.md tells them", (kind) => {
    const { config, destination } = kindOf(kind);
    const settings = new Set(formFields(config).map(({ path }) => path[0]));
    expect(destination.filter((key) => !settings.has(key))).toEqual([]);
    const row = readFileSync("docs/sources.md", "utf8")
      .split("\n")
      .find(
        (line) =>
          line.startsWith("| `") && line.split("|")[1]!.includes(`\`${kind}\``) && /redrive|where it is/.test(line),
      );
    for (const key of destination) expect(row).toContain(`\`${key}\``);
    if (destination.length === 0) expect(row).toContain("none");
  });

  it("takes the place of all of the source's own, so that no credential of the source goes along", () => {
    const config = { redriveUrl: "https://orders.example", headers: { authorization: "Bearer s3cret" }, mapping: {} };
    expect(configAt({ kind: "http", config }, { redriveUrl: "https://audit.example" })).toEqual({
      redriveUrl: "https://audit.example",
      mapping: {},
    });
  });

  it("keeps the connection of the source, and is addressed as its main lane", () => {
    const source = parseSourceConfig("rabbitmq", {
      url: "amqp://rabbit.example",
      queue: "orders.dlq",
      redriveTo: { mode: "exchange" },
      slowLaneQueue: "orders.slow",
    });
    const destination = parseDestination(source, { redriveTo: { queue: "audit" } }, nothing);
    expect(destination).toEqual({ redriveTo: { mode: "origin-queue", queue: "audit" } });
    const at = parseSourceConfig("rabbitmq", configAt(source, destination));
    expect(at.config).toMatchObject({ url: "amqp://rabbit.example" });
    expect(targetAddress(at, null)).toBe("queue audit");
  });

  it.each([
    ["outbox", { url: "postgresql://db.example/x", table: "outbox" }, {}, "destination", /sends back in place/],
    ["rabbitmq", { url: "amqp://h", queue: "q" }, { url: "amqp://other" }, "destination.url", /use redriveTo/],
    [
      "rabbitmq",
      { url: "amqp://h", queue: "q" },
      { redriveTo: { que: "x" } },
      "destination.redriveTo.que",
      /not a setting/,
    ],
    ["rabbitmq", { url: "amqp://h", queue: "q" }, {}, "destination", /set redriveTo/],
  ])("of %s with %j refuses %j at %s", (kind, config, destination, field, detail) => {
    expect(() => parseDestination({ kind, config }, destination, nothing)).toThrow(
      expect.objectContaining({
        code: "invalid-config",
        fields: [{ field, detail: expect.stringMatching(detail) }],
      }),
    );
  });
});
