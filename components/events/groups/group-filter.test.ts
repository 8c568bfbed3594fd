import { expect, it } from "vitest";
import { eachOnce, groupFilter, groupHref } from "@/components/events/groups/group-filter";

const group = { fingerprint: "f00d" };

it("selects the group's events within what the page is narrowed to", () => {
  expect(groupFilter({ source: ["orders"], from: "-24h", fingerprint: ["other"] }, group)).toEqual({
    source: ["orders"],
    from: "-24h",
    fingerprint: ["f00d"],
  });
  expect(groupFilter({ status: ["PENDING"] }, group, "IGNORED")).toEqual({
    fingerprint: ["f00d"],
    status: ["IGNORED"],
  });
});

it("selects the events of several groups", () => {
  expect(groupFilter({ q: "stock" }, [group, { fingerprint: "beef" }], "PENDING")).toEqual({
    q: "stock",
    fingerprint: ["f00d", "beef"],
    status: ["PENDING"],
  });
});

it("opens the page of a group, of the one source that the list is narrowed to", () => {
  expect(groupHref({}, group)).toBe("/groups/f00d");
  expect(groupHref({ source: ["a b"], from: "-1h" }, group)).toBe("/groups/f00d?source=a+b&from=-1h");
  expect(groupHref({ source: ["a", "b"] }, group)).toBe("/groups/f00d");
});

it("shows a group once that two pages hold", () => {
  const groups = [
    { fingerprint: "a", n: 9 },
    { fingerprint: "b", n: 5 },
    { fingerprint: "a", n: 4 },
  ];
  expect(eachOnce(groups)).toEqual([
    { fingerprint: "a", n: 9 },
    { fingerprint: "b", n: 5 },
  ]);
});
