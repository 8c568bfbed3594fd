import { describe, expect, test } from "vitest";
import { ALERT_KINDS } from "@/lib/observe/alerts/kinds/alert-kinds.pure";
import { alertRuleRequestSchema } from "@/lib/observe/alerts/rules/alert-rules.shapes";
import { draftOf, NEW_RULE, type RuleDraft, ruleRequest } from "./rule-draft";

const draft = (own: Partial<RuleDraft>): RuleDraft => ({ ...NEW_RULE, name: "Rises", ...own });

describe("the form of a rule", () => {
  test.each(ALERT_KINDS)("makes a %s rule, and gets it back as it was", (kind) => {
    const typed = draft({ kind, settings: { forMs: "1.5", repeatMs: "" }, runbookUrl: "https://r.example.com/x" });
    const made = ruleRequest(typed);
    expect(made).toMatchObject({ ok: true, request: { watch: { kind, forMs: 90_000, repeatMs: null } } });
    if (!made.ok) return;
    expect(alertRuleRequestSchema.parse(made.request)).toEqual(made.request);
    const stored = {
      ...{ id: "", version: 1, fault: null, firing: 0, createdBy: "", createdAt: "", updatedBy: "", updatedAt: "" },
    };
    expect(ruleRequest(draftOf({ ...stored, ...made.request }))).toEqual(made);
  });

  test.each<[Partial<RuleDraft>, string]>([
    [{ name: " " }, "name"],
    [{ settings: { factor: "" } }, "factor"],
    [{ kind: "size", settings: { above: "many" } }, "above"],
    [{ kind: "source", settings: { states: [] } }, "states"],
    [{ settings: { forMs: "" } }, "forMs"],
    [{ settings: { repeatMs: "never" } }, "repeatMs"],
  ])("says what is wrong at its field: %j", (own, field) => {
    const made = ruleRequest(draft(own));
    expect(made.ok ? null : Object.keys(made.errors)).toEqual([field]);
  });

  test("takes lists with commas and spaces", () => {
    const made = ruleRequest(draft({ settings: { sources: " orders , billing,", errorCodes: "TIMEOUT" } }));
    expect(made).toMatchObject({
      ok: true,
      request: { watch: { sources: ["orders", "billing"], errorCodes: ["TIMEOUT"] } },
    });
  });
});
