import { expect, test } from "vitest";
import { partsOf } from "@/lib/kit/inbox/receive-redrive";
import { sendKey } from "./send-key.pure";

test.each([
  ["", "order-77", 1, "orders:order-77"],
  ["", "order-77", 2, "orders:order-77:r2"],
  ["", "order-77", 12, "orders:order-77:r12"],
  ["", "order-77:r2", 1, "orders:order-77:r2:r1"],
  ["", "order-77:r2", 2, "orders:order-77:r2:r2"],
  ["", "order-77:r2:r1", 1, "orders:order-77:r2:r1:r1"],
  ["", "order-77:rx", 1, "orders:order-77:rx"],
  ["/shop/eu", "7", 1, "orders/%2Fshop%2Feu:7"],
  ["urn:shop:eu", "7", 2, "orders/urn%3Ashop%3Aeu:7:r2"],
])("the key of an event of %j with the id %s, revision %i", (producer, eventId, revision, key) => {
  expect(sendKey({ source: "orders", producer, eventId, revision })).toBe(key);
});

const IDS = ["a", "a:r1", "a:r2", "a:r1:r1", "a:r1:r2", "a:r2:r1", "a:r", "a:r02", "a:a", "/a:a"];
const PRODUCERS = ["", "a", "a:", "/", "/a", "a/a", "a:r2", "%2Fa"];
const NAMES = PRODUCERS.flatMap((producer) => IDS.map((eventId) => ({ source: "s", producer, eventId })));

test("no two revisions share a key, whatever the ids and the producers of the events are", () => {
  const revisions = NAMES.flatMap((name) => [1, 2, 3].map((revision) => ({ ...name, revision })));
  expect(new Set(revisions.map(sendKey)).size).toBe(revisions.length);
});

test("a consumer reads source, producer, id and revision from a key", () => {
  for (const { source, producer, eventId } of NAMES) {
    const key = sendKey({ source, producer, eventId, revision: 2 });
    const named = { source, ...(producer === "" ? {} : { producer }), eventId, revision: 2 };
    expect(partsOf(key, source)).toEqual(named);
  }
});
