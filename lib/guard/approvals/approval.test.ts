import { describe, expect, it } from "vitest";
import { samePerson } from "@/lib/guard/viewer/actor.pure";
import { localViewer, systemViewer } from "@/lib/guard/viewer/viewer.pure";
import { type ApprovalTerms, approvalCauses, cannotDecide, causeWords, exceeds } from "./approval.pure";

const CANARY = { steps: [1, 10], quietMs: 300, stopAtFailureRatio: 0.3, window: 40 };
const terms = (change: Partial<ApprovalTerms> = {}): ApprovalTerms => ({
  manifest: "a1",
  events: 12,
  lane: "slow",
  target: null,
  ratePerSecond: 7,
  canary: CANARY,
  brake: { ratio: 0.3, window: 40 },
  earlier: "hold",
  despite: [],
  recipe: null,
  ...change,
});

describe("an approval that was given", () => {
  it.each<[string, Partial<ApprovalTerms>, string[]]>([
    ["the same", {}, []],
    [
      "the same, stored in another order",
      { canary: { window: 40, stopAtFailureRatio: 0.3, quietMs: 300, steps: [1, 10] } },
      [],
    ],
    ["the canary again, after 25 sends", { canary: { ...CANARY, steps: [26, 35] } }, []],
    ["a lower rate", { ratePerSecond: 6 }, []],
    ["a higher rate", { ratePerSecond: 7.5 }, ["ratePerSecond"]],
    ["no rate of its own", { ratePerSecond: null }, ["ratePerSecond"]],
    ["another lane", { lane: "main" }, ["lane"]],
    ["another target", { target: "orders.audit" }, ["target"]],
    ["no canary", { canary: null }, ["canary"]],
    ["a canary of fewer steps", { canary: { ...CANARY, steps: [10] } }, ["canary"]],
    ["a canary of larger steps", { canary: { ...CANARY, steps: [1, 100] } }, ["canary"]],
    ["a canary that waits less", { canary: { ...CANARY, quietMs: 299 } }, ["canary"]],
    ["no brake", { brake: null }, ["brake"]],
    ["another revision of an event", { manifest: "a2" }, ["manifest"]],
    ["another recipe", { recipe: { kind: "json-patch", patch: "[]" } }, ["recipe"]],
    ["events that admission marked", { despite: ["parked-early"] }, ["despite"]],
    ["earlier versions left behind", { earlier: "pass" }, ["earlier"]],
  ])("%s", (_, change, fields) => {
    expect(exceeds(terms(), terms(change))).toEqual(fields);
  });

  it.each([
    ["the canary again, after 25 sends", [26, 35], []],
    ["a canary whose first step is larger", [27, 36], ["canary"]],
    ["a first step of thousands", [5_025, 5_034], ["canary"]],
  ])("begins again: %s", (_, steps, fields) => {
    expect(exceeds(terms(), terms({ canary: { ...CANARY, steps } }), 25)).toEqual(fields);
  });

  it.each([
    ["at another, later time", "2026-11-23T03:00:00.000Z", []],
    ["sooner", "2026-11-22T14:00:00.000Z", ["startAt"]],
    ["at once", undefined, ["startAt"]],
  ])("starts %s", (_, startAt, fields) => {
    const night = { startAt: "2026-11-23T02:00:00.000Z" };
    expect(exceeds(terms(night), terms(startAt === undefined ? {} : { startAt }))).toEqual(fields);
    expect(exceeds(terms(), terms(night))).toEqual([]);
  });

  it("covers a canary and a brake where there was none, and any rate where there was none", () => {
    expect(exceeds(terms({ canary: null, brake: null, ratePerSecond: null }), terms())).toEqual([]);
  });
});

describe("an approval is needed", () => {
  it.each([
    ["off", { events: 5_000, above: 0, sources: [], targets: [] }, []],
    ["at the size", { events: 100, above: 100, sources: [], targets: [] }, []],
    [
      "above the size",
      { events: 101, above: 100, sources: [], targets: [] },
      [{ kind: "size", events: 101, above: 100 }],
    ],
    [
      "marked, and small",
      { events: 1, above: 0, sources: ["orders"], targets: ["audit"] },
      [
        { kind: "source", name: "orders" },
        { kind: "target", name: "audit" },
      ],
    ],
  ])("%s", (_, facts, causes) => {
    expect(approvalCauses(facts)).toEqual(causes);
  });
});

describe("who asked", () => {
  it.each([
    ["ada", "Ada"],
    ["ada", " ADA "],
    ["ada", "ａｄａ"],
    ["ada lovelace", "Ada.Lovelace"],
    ["ada-lovelace", "adaLovelace"],
    ["josé", "Jose\u0301"],
    ["jose", "José"],
    ["ada", "a\u200bd\u00ada"],
    ["ada", "\u202eada\ufeff"],
    ["straße", "STRASSE"],
    ["νίκος", "ΝΙΚΟΣ"],
    ["ışıl", "IŞIL"],
  ])("%s is %s", (one, other) => {
    expect(samePerson(one, other)).toBe(true);
    const askers = ["maria", one].map((name) => ({ name, part: "asked" as const }));
    expect(cannotDecide(askers, localViewer(other))).toMatch(`${one} asked for it: another person`);
  });

  it.each([
    ["ada", "adam"],
    ["maria", "marie"],
    ["--", "---"],
  ])("%s is not %s", (one, other) => {
    expect(samePerson(one, other)).toBe(false);
    expect(cannotDecide([{ name: one, part: "asked" }], localViewer(other))).toBeNull();
  });

  it("does not decide, nor do the authors of the rule that asked, nor who has no name or no right", () => {
    const askers = [
      { name: "rule:nightly", part: "asked" as const },
      { name: "Eve M.", part: "rule" as const },
    ];
    expect(cannotDecide(askers, localViewer("eve m"))).toBe(
      "Eve M. wrote or enabled the rule that asked for it: another person approves or rejects it, " +
        "and eve m may be the same person. Cancel it to take it back",
    );
    for (const name of [undefined, "LOCAL", "Local", "ｌocal", "lo-cal"]) {
      expect(cannotDecide(askers, localViewer(name)), name).toMatch(/under a name/);
    }
    expect(cannotDecide(askers, systemViewer("rule:nightly"))).toMatch(/not a part of Parkade/);
    expect(cannotDecide(askers, { ...localViewer("bob"), actions: ["view"] })).toBe(
      "bob may not approve: ask an administrator",
    );
  });
});

describe("the need of an approval", () => {
  it("says why it is needed", () => {
    expect(causeWords({ kind: "size", events: 12_000, above: 1_000 })).toBe("more than 1,000 events");
    expect(causeWords({ kind: "target", name: "orders.slow" })).toBe("target orders.slow is marked");
  });
});
