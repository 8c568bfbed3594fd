import { handle } from "@/app/_server/handle";
import { redriveRuleTrialSchema, redriveRuleTrySchema } from "@/lib/rules/redrive-rules.shapes";
import { tryRedriveRule } from "@/lib/rules/try-redrive-rule";

export const POST = handle({
  id: "tryRedriveRule",
  summary: "What a redrive rule would have done in the last days, and what became of those events",
  body: redriveRuleTrySchema,
  answer: redriveRuleTrialSchema,
  problems: ["invalid-window"],
  run: ({ deps, viewer, body }) => tryRedriveRule(deps, body, viewer),
});
