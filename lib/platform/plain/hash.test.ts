import { expect, test } from "vitest";
import { hash64 } from "./hash.pure";

test("is 16 hex digits, the same for the same text", () => {
  expect(hash64("")).toMatch(/^[0-9a-f]{16}$/);
  expect(hash64("order-1")).toBe(hash64("order-1"));
});

test("keeps a hundred thousand near neighbours apart", () => {
  const seen = new Set(Array.from({ length: 100_000 }, (_, i) => hash64(`UPSTREAM_5XX\u0001order-${i}`)));
  expect(seen.size).toBe(100_000);
});

test("spreads evenly over its first digit", () => {
  const counts = new Map<string, number>();
  for (let i = 0; i < 16_000; i++) counts.set(hash64(String(i))[0]!, (counts.get(hash64(String(i))[0]!) ?? 0) + 1);
  expect(counts.size).toBe(16);
  for (const n of counts.values()) expect(n).toBeGreaterThan(800);
});
