import { expect, it } from "vitest";
import { configFacts, mappingFacts } from "@/components/sources/config-facts";

const fields = [
  { path: ["url"], label: "Broker URL" },
  { path: ["redriveTo", "mode"], label: "Redrive to" },
  { path: ["mapping", "eventId"], label: "Event id" },
  { path: ["mapping", "tags"], label: "Tags" },
];
const config = {
  url: "env:AMQP",
  prefetch: 77,
  topics: ["orders.DLT", "billing-*"],
  redriveTo: { mode: "exchange", exchange: "" },
  mapping: { tags: { a: "/a" }, eventId: "/id" },
};

it("lists a configuration line by line, by the labels of its kind", () => {
  expect(configFacts({ config, payloadSchema: { type: "object" } }, fields)).toEqual([
    { name: "Broker URL", value: "env:AMQP" },
    { name: "Redrive to", value: "exchange" },
    { name: "prefetch", value: "77" },
    { name: "topics", value: "orders.DLT, billing-*" },
    { name: "redriveTo.exchange", value: "" },
    { name: "Payload schema", value: "checked before a redrive" },
  ]);
});

it("lists a mapping by itself", () => {
  expect(mappingFacts({ config }, fields)).toEqual([
    { name: "Event id", value: "/id" },
    { name: "Tags a", value: "/a" },
  ]);
  expect(mappingFacts({ config: {} }, fields)).toEqual([]);
});
