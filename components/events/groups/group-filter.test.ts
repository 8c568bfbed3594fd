import { expect, it } from "vitest";
import { eachOnce, groupFilter } from "@/components/events/groups/group-filter";

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
