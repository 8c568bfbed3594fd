import { expect, test } from "vitest";
import { muteEnded, mutes } from "@/lib/events/groups/mutes/group-mute.pure";

test.each([
  [{ untilMs: 100, untilMore: null }, { nowMs: 99, arrived: 1e9 }, null],
  [{ untilMs: 100, untilMore: null }, { nowMs: 100, arrived: 0 }, "time"],
  [{ untilMs: null, untilMore: 5 }, { nowMs: 1e15, arrived: 4 }, null],
  [{ untilMs: null, untilMore: 5 }, { nowMs: 0, arrived: 5 }, "count"],
  [{ untilMs: 100, untilMore: 5 }, { nowMs: 99, arrived: 4 }, null],
  [{ untilMs: 100, untilMore: 5 }, { nowMs: 99, arrived: 6 }, "count"],
  [{ untilMs: 100, untilMore: 5 }, { nowMs: 101, arrived: 6 }, "time"],
] as const)("%j with %j has ended by %j", (mute, facts, because) => {
  expect(muteEnded(mute, facts)).toBe(because);
});

test("keeps alerts of its group and its source quiet, and no others", () => {
  const every = { fingerprint: "a", source: null };
  const orders = { fingerprint: "a", source: "orders" };
  expect(mutes(every, { fingerprint: "a", source: "orders" })).toBe(true);
  expect(mutes(every, { fingerprint: "a", source: null })).toBe(true);
  expect(mutes(every, { fingerprint: "b", source: "orders" })).toBe(false);
  expect(mutes(orders, { fingerprint: "a", source: "orders" })).toBe(true);
  expect(mutes(orders, { fingerprint: "a", source: "billing" })).toBe(false);
  expect(mutes(orders, { fingerprint: "a", source: null })).toBe(false);
});
