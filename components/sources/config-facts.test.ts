import { expect, it } from "vitest";
import { configFacts } from "@/components/sources/config-facts";

it("lists a configuration line by line, nested settings by their path", () => {
  const config = {
    url: "env:AMQP",
    prefetch: 77,
    redriveTo: { mode: "exchange", exchange: "" },
    mapping: { tags: { a: "/a" } },
  };
  expect(configFacts({ config, payloadSchema: { type: "object" } })).toEqual([
    { name: "url", value: "env:AMQP" },
    { name: "prefetch", value: "77" },
    { name: "redriveTo.mode", value: "exchange" },
    { name: "redriveTo.exchange", value: "" },
    { name: "mapping.tags.a", value: "/a" },
    { name: "payload schema", value: "checked before a redrive" },
  ]);
});
