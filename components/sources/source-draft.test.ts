import { describe, expect, it } from "vitest";
import { errorsOf, type SourceDraft, sourceBody, sourceDraft } from "@/components/sources/source-draft";
import type { SourceOut } from "@/lib/contract/sources";
import { parseSourceConfig } from "@/lib/kinds/kinds";

const stored = (kind: string, config: Record<string, unknown>, over: Partial<SourceOut> = {}): SourceOut => ({
  id: "019aa1c4-0000-7000-8000-000000000001",
  name: "orders",
  kind,
  config,
  payloadSchema: null,
  enabled: false,
  mode: "stopped",
  modeAt: "2026-11-20T14:00:00.000Z",
  modeBy: null,
  modeReason: null,
  createdAt: "2026-11-20T14:00:00.000Z",
  updatedAt: "2026-11-20T14:00:00.000Z",
  state: null,
  parked: null,
  ...over,
});

describe("editing a source", () => {
  it.each([
    ["http", { redriveUrl: "https://orders.example/redrive" }],
    [
      "http",
      {
        redriveUrl: "env:ORDERS",
        slowLaneUrl: "https://orders.example/slow",
        forwardCredentials: true,
        headers: { authorization: "***" },
        mapping: { eventId: "/id", tags: { orderId: "/order/id" } },
      },
    ],
    ["rabbitmq", { url: "env:AMQP", queue: "orders.dlq" }],
    [
      "rabbitmq",
      {
        url: "amqp://***:***@rabbit/vhost",
        queue: "orders.dlq",
        prefetch: 77,
        slowLaneQueue: "orders.slow",
        redriveTo: { mode: "exchange", exchange: "", routingKey: "orders" },
        mapping: { version: "x-version" },
      },
    ],
    ["rabbitmq", { url: "env:AMQP", queue: "q", redriveTo: { mode: "origin-queue", queue: "orders" } }],
  ])("keeps all of a %s configuration that was not touched: %o", (kind, config) => {
    const result = sourceBody(sourceDraft(stored(kind, config, { payloadSchema: { type: "object" } })));
    expect(result).toEqual({
      ok: true,
      source: { name: "orders", kind, enabled: false, config, payloadSchema: { type: "object" } },
    });
  });

  it.each([
    ["http", { redriveUrl: " https://orders.example/redrive " }],
    ["rabbitmq", { url: "env:AMQP", queue: "orders.dlq", prefetch: "50", redriveMode: "exchange" }],
  ] as const)("makes a %s source that the contract takes", (kind, fields) => {
    const result = sourceBody({ ...sourceDraft(null), name: "orders", kind, ...fields });
    expect(result.ok && parseSourceConfig(kind, result.source.config).kind).toBe(kind);
  });

  it.each([
    [{ name: " " }, ["name"]],
    [{ kind: "rabbitmq" }, ["url", "queue"]],
    [{ kind: "rabbitmq", url: "env:A", queue: "q", prefetch: "many" }, ["prefetch"]],
    [{ more: "[1]" }, ["more"]],
    [{ payloadSchema: "{" }, ["payloadSchema"]],
  ] as [Partial<SourceDraft>, string[]][])("names what is missing: %o", (over, fields) => {
    const result = sourceBody({ ...sourceDraft(null), name: "orders", ...over });
    expect(result.ok ? [] : Object.keys(result.errors)).toEqual(fields);
  });

  it("puts the server's complaints beside their fields, and the rest together", () => {
    expect(
      errorsOf(
        [
          { field: "config.url", detail: "must be a URL" },
          { field: "config.redriveTo.queue", detail: "holds at most 255 bytes" },
          { field: "config.mapping.tags", detail: "at most 16 tags" },
          { field: "config.typo", detail: "is not a setting of this kind" },
          { field: "name", detail: "is taken" },
        ],
        "rabbitmq",
      ),
    ).toEqual({
      url: "must be a URL",
      redriveQueue: "holds at most 255 bytes",
      more: "mapping.tags at most 16 tags; typo is not a setting of this kind",
      name: "is taken",
    });
  });
});
