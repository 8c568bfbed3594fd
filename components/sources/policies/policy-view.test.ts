import { describe, expect, it } from "vitest";
import { policyView } from "@/components/sources/policies/policy-view";
import { POLICY_PRESETS } from "@/lib/retry/policy";

describe("what a policy promises", () => {
  it.each(Object.entries(POLICY_PRESETS))("is shown for the preset %s, and fits its deadline", (_, preset) => {
    const view = policyView(JSON.parse(JSON.stringify(preset)));
    expect(view).toMatchObject({ ok: true });
    if (!view.ok) return;
    expect(view.steps).toHaveLength(preset.maxAttempts);
    expect(view.steps.at(-1)?.endMsMax).toBe(view.upperBoundMs);
    expect(view.slackMs).toBe(preset.deadlineMs - preset.marginMs - view.upperBoundMs);
    expect(view.slackMs).toBeGreaterThanOrEqual(0);
  });

  it("names the field, the value and the bound of what cannot run", () => {
    const view = policyView({ ...POLICY_PRESETS.interactive, deadlineMs: 2_000 });
    expect(view.ok ? [] : view.problems.map((problem) => problem.field)).toEqual(["deadlineMs"]);
    expect(view.ok ? "" : view.problems[0]?.detail).toMatch(/^is 2000, must be >= /);
    expect(policyView({}).ok).toBe(false);
    expect(policyView(null).ok).toBe(false);
  });
});
