import { expect, test } from "vitest";
import { sendKey } from "./send-key.pure";

test.each([
  ["order-77", 1, "orders:order-77"],
  ["order-77", 2, "orders:order-77:r2"],
  ["order-77", 12, "orders:order-77:r12"],
  ["order-77:r2", 1, "orders:order-77:r2:r1"],
  ["order-77:r2", 2, "orders:order-77:r2:r2"],
  ["order-77:r2:r1", 1, "orders:order-77:r2:r1:r1"],
  ["order-77:rx", 1, "orders:order-77:rx"],
])("the key of %s, revision %i", (eventId, revision, key) => {
  expect(sendKey({ source: "orders", eventId, revision })).toBe(key);
});

test("no two revisions share a key, whatever the ids of the events end with", () => {
  const ids = ["a", "a:r1", "a:r2", "a:r1:r1", "a:r1:r2", "a:r2:r1", "a:r", "a:r02"];
  const revisions = ids.flatMap((eventId) => [1, 2, 3].map((revision) => ({ source: "s", eventId, revision })));
  expect(new Set(revisions.map(sendKey)).size).toBe(revisions.length);
});
