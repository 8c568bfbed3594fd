import { describe, expect, test } from "vitest";
import type { RedriveRuleOut } from "@/lib/rules/redrive-rules.shapes";
import { redriveRuleRequestSchema } from "@/lib/rules/redrive-rules.shapes";
import { errorsOf, ruleDraft, ruleRequest } from "./rule-draft";

const draft = { ...ruleDraft(null), name: " timeouts ", events: 'source:orders errorCode:TIMEOUT tag.tenant:"a b"' };

test("the form says the request, which the server takes", () => {
  const result = ruleRequest({ ...draft, rate: "2.5", perHour: "", groupSucceeded: false }, "because");
  expect(result).toEqual({
    ok: true,
    request: {
      name: "timeouts",
      filter: { source: ["orders"], errorCode: ["TIMEOUT"], tags: { tenant: ["a b"] } },
      delayMs: 1_800_000,
      redrivesPerEvent: 2,
      lane: "slow",
      ratePerSecond: 2.5,
      onlyIf: { groupSucceeded: false, breakerClosed: true },
      everyMs: 60_000,
      limits: { eventsPerRun: 500, eventsPerHour: null, eventsPerDay: 10_000 },
      stopAtFailureRatio: 0.2,
      reason: "because",
    },
  });
  expect(redriveRuleRequestSchema.safeParse(result.ok && result.request).success).toBe(true);
});

test("a stored rule comes back as it was, with the window that the form does not show", () => {
  const rule = {
    ...{ name: "late", delayMs: 90_000, redrivesPerEvent: 3, lane: "main", ratePerSecond: null, everyMs: 5_000 },
    filter: { source: ["a b"], from: "-24h", q: "no stock" },
    onlyIf: { groupSucceeded: true, breakerClosed: false },
    limits: { eventsPerRun: 7, eventsPerHour: null, eventsPerDay: 9 },
    stopAtFailureRatio: 0.35,
  } as unknown as RedriveRuleOut;
  const again = ruleRequest(ruleDraft(rule), "x", rule.filter as { from: string });
  const { name, filter, delayMs, redrivesPerEvent, lane, ratePerSecond, onlyIf, everyMs, limits } = rule;
  expect(again).toMatchObject({
    ok: true,
    request: {
      name,
      filter,
      delayMs,
      redrivesPerEvent,
      lane,
      ratePerSecond,
      onlyIf,
      everyMs,
      limits,
      stopAtFailureRatio: 0.35,
    },
  });
});

describe("what is missing is said at its field", () => {
  test.each([
    [{ name: " " }, "name"],
    [{ events: "" }, "events"],
    [{ events: "status:NONSENSE" }, "events"],
    [{ delayMinutes: "soon" }, "delayMinutes"],
    [{ redrivesPerEvent: "0" }, "redrivesPerEvent"],
    [{ rate: "0" }, "rate"],
    [{ everySeconds: "" }, "everySeconds"],
    [{ perRun: "" }, "perRun"],
    [{ stopAtPercent: "x" }, "stopAtPercent"],
  ])("%j", (part, field) => {
    const result = ruleRequest({ ...draft, ...part }, "x");
    expect(result.ok ? [] : Object.keys(result.errors)).toEqual([field]);
  });

  test("as is what the server refuses", () => {
    expect(
      errorsOf([
        { field: "filter.source", detail: "list sources" },
        { field: "limits.eventsPerRun", detail: "must be at most 2,000" },
        { field: "trial", detail: "name one" },
      ]),
    ).toEqual({ events: "source list sources", perRun: "limits.eventsPerRun must be at most 2,000" });
  });
});
