import { describe, expect, it } from "vitest";
import { type RuleOut, ruleRequestSchema } from "@/lib/intake/admission/admission.shapes";
import { newCondition, type RuleDraft, ruleDraft, ruleOf, ruleRequest, tryOf, withField } from "./rule-draft";

const rule = (part: Pick<RuleOut, "when" | "do">): RuleOut => ({
  ...{
    id: "019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b30",
    name: "stock",
    source: "orders",
    position: 2,
    enabled: true,
    version: 4,
  },
  ...{ fault: null, createdBy: "maria", createdAt: "", updatedBy: "maria", updatedAt: "" },
  lastHour: { matched: 0, dropped: 0, failed: 0 },
  lastDay: { matched: 0, dropped: 0, failed: 0 },
  ...part,
});
const draft = (over: Partial<RuleDraft> = {}): RuleDraft => ({
  ...ruleDraft(null),
  name: "stock",
  conditions: [newCondition({ field: "errorCode", is: "equals", value: "X" })],
  park: "early",
  ...over,
});

describe("a stored rule", () => {
  it.each<Pick<RuleOut, "when" | "do">>([
    { when: [], do: { park: "confirm", group: "g" } },
    { when: [{ field: "errorType", is: "glob", value: "com.*", ignoreCase: true }], do: { drop: true } },
    { when: [{ field: "header", name: "x-a", is: "present", not: true }], do: { errorCode: { from: "errorType" } } },
    {
      when: [{ field: "body", pointer: "/a/0", is: "endsWith", value: "z" }],
      do: { errorCode: { from: "body", pointer: "/code" } },
    },
    { when: [{ field: "attempts", is: "below", value: 3 }], do: { errorCode: { from: "header", name: "x-code" } } },
    { when: [{ field: "payloadBytes", is: "above", value: 1_000 }], do: { errorCode: { value: "BIG" } } },
  ])("comes back from the dialog as it was: %j", (part) => {
    const asked = ruleRequest(ruleDraft(rule(part)), "tested");
    expect(asked).toEqual({ ok: true, request: { name: "stock", source: "orders", ...part, reason: "tested" } });
    if (asked.ok) expect(ruleRequestSchema.safeParse(asked.request).success).toBe(true);
  });
});

describe("the dialog asks for what is missing", () => {
  it.each<[Partial<RuleDraft>, Record<string, string>]>([
    [{ name: " " }, { name: "Enter a name: it is shown on events that the rule changed." }],
    [{ park: "" }, { do: "Choose what the rule does." }],
    [{ conditions: [newCondition()] }, { "when[0].value": "Enter the value to compare with." }],
    [
      { conditions: [newCondition({ field: "header", value: "a" })] },
      { "when[0].name": "Enter the name of the header." },
    ],
    [
      { conditions: [newCondition({ field: "body", place: "order", is: "present" })] },
      { "when[0].pointer": "Enter a JSON pointer such as /order/id." },
    ],
    [
      { conditions: [newCondition({ field: "attempts", is: "above", value: "many" })] },
      { "when[0].value": "Enter a whole number." },
    ],
    [{ code: "value" }, { "do.errorCode": "Enter the error code." }],
    [{ code: "body", codeText: "code" }, { "do.errorCode": "Enter a JSON pointer such as /error/code." }],
    [
      { drop: true, conditions: [] },
      { when: "A rule that drops needs a condition: without one it drops every message of its source." },
    ],
  ])("%j", (over, errors) => {
    expect(ruleRequest(draft(over), "r")).toEqual({ ok: false, errors });
  });

  it("and tries nothing before", () => {
    expect(tryOf(draft({ park: "" }), null)).toBeNull();
    // A try needs no name.
    expect(tryOf(draft({ name: "" }), "an-id")).toMatchObject({ id: "an-id", rule: { source: null } });
  });
});

it("a rule that drops changes nothing else", () => {
  expect(ruleOf(draft({ drop: true, group: "g", code: "value", codeText: "Y" })).body.do).toEqual({ drop: true });
});

it("a condition keeps its test and value when both fields are texts", () => {
  const condition = newCondition({ field: "errorCode", is: "glob", value: "A*" });
  expect(withField(condition, "eventType")).toMatchObject({ field: "eventType", is: "glob", value: "A*" });
  expect(withField(condition, "attempts")).toMatchObject({ field: "attempts", is: "above", value: "" });
});
