import { expect, test } from "vitest";
import { compareKeys, GROUP_SORTS, type OrderedGroup, sortKey } from "@/lib/events/groups/group-order.pure";

const group = (part: Partial<OrderedGroup> & { fingerprint: string }): OrderedGroup => ({
  ...{ errorCode: "X", source: "orders", verdict: "steady", count: 0, usual: 0, parked: 1, sinceMs: 5, lastMs: 9 },
  ...part,
});
const GROUPS = [
  group({ fingerprint: "a", parked: 90, errorCode: "TIMEOUT", lastMs: 3 }),
  group({ fingerprint: "b", verdict: "new", count: 7, parked: 7, source: "billing", sinceMs: 8 }),
  group({ fingerprint: "c", verdict: "rising", count: 50, usual: 10, parked: 4, lastMs: 11 }),
  group({ fingerprint: "d", verdict: "falling", parked: 2_000, sinceMs: 1 }),
];

test.each([
  ["rise", "desc", "cbad"],
  ["rise", "asc", "dabc"],
  ["count", "desc", "dabc"],
  ["code", "asc", "acbd"],
  ["source", "asc", "bcad"],
  ["since", "desc", "bcad"],
  ["last", "desc", "cdba"],
] as const)("by %s, %s", (sort, order, expected) => {
  const sorted = GROUPS.toSorted((left, right) => compareKeys(sortKey(left, sort), sortKey(right, sort), order));
  expect(sorted.map(({ fingerprint }) => fingerprint).join("")).toBe(expected);
});

test("no two groups have one place", () => {
  for (const sort of GROUP_SORTS) {
    const keys = ["x", "y"].map((fingerprint) => sortKey(group({ fingerprint }), sort));
    expect(compareKeys(keys[0]!, keys[1]!, "asc")).toBe(-1);
    expect(compareKeys(keys[0]!, keys[1]!, "desc")).toBe(1);
    expect(compareKeys(keys[0]!, keys[0]!, "desc")).toBe(0);
  }
});
