import { expect, it } from "vitest";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { parseEditedConfig, parseEditedMapping } from "./edited-config.shapes";

const RABBIT = { url: "amqp://parkade:hunter2@rabbit:5672/prod", queue: "orders.dlq" };

function faults(parse: () => unknown): string[] {
  try {
    parse();
    return [];
  } catch (error) {
    if (error instanceof DomainError) return error.fields.map(({ field, detail }) => `${field} ${detail}`);
    throw error;
  }
}

it.each<[string, Record<string, unknown>, RegExp]>([
  [
    "http",
    { url: "https://a.example" },
    /^config\.url is not a setting of this kind: it takes redriveUrl, slowLaneUrl, .* and \w+$/,
  ],
  [
    "rabbitmq",
    { ...RABBIT, qeue: "typo" },
    /^config\.qeue is not .*: is queue meant\? it takes url, queue, .* and \w+$/,
  ],
  [
    "rabbitmq",
    { ...RABBIT, redriveTo: { exchnge: "a" } },
    /^config\.redriveTo\.exchnge is not .*: is exchange meant\? it takes mode, .*exchange/,
  ],
  [
    "http",
    { mapping: { order: "/a" } },
    /^config\.mapping\.order is not .*: it takes eventId, aggregateId, .* and tags$/,
  ],
])("names the settings that there are: %s %j", (kind, config, fault) => {
  expect(faults(() => parseEditedConfig(kind, config))).toEqual([expect.stringMatching(fault)]);
});

it("says missing of what must be there and is not, and of nothing else", () => {
  expect(faults(() => parseEditedConfig("rabbitmq", { queue: "q" }))).toEqual(["config.url is missing: must be text"]);
  expect(faults(() => parseEditedConfig("rabbitmq", { ...RABBIT, url: 7 }))).toEqual(["config.url must be text"]);
  const wrong = { redriveUrl: "https://a.example/x", headers: { "bad name": "x" } };
  expect(faults(() => parseEditedConfig("http", wrong))).toEqual([
    expect.stringMatching(/^config\.headers\.bad name (?!is not a setting)/),
  ]);
});

it("takes what is right, and leaves a kind that nobody knows to its own fault", () => {
  expect(parseEditedConfig("rabbitmq", RABBIT).kind).toBe("rabbitmq");
  expect(faults(() => parseEditedConfig("mqtt", {}))).toEqual([
    expect.stringContaining("kind is not a kind of source"),
  ]);
});

it("names the facts that a mapping has, and repeats no value", () => {
  expect(faults(() => parseEditedMapping({ evntId: "hunter2" }))).toEqual([
    expect.stringMatching(/^config\.mapping\.evntId .*: is eventId meant\? it takes eventId, .* and tags$/),
  ]);
  expect(faults(() => parseEditedConfig("rabbitmq", { ...RABBIT, ulr: "hunter2" })).join()).not.toContain("hunter2");
});
