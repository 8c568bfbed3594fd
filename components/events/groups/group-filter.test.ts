import { expect, it } from "vitest";
import { groupFilter } from "@/components/events/groups/group-filter";

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
