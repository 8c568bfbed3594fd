import { handle } from "@/app/_server/handle";
import { redriveRuleTrialSchema, redriveRuleTrySchema } from "@/lib/contract/redrive-rules";
import { tryRedriveRule } from "@/lib/operations/try-redrive-rule";

export const POST = handle({
  id: "tryRedriveRule",
  summary: "What a redrive rule would have done in the last days, and what became of those events",
  body: redriveRuleTrySchema,
  answer: redriveRuleTrialSchema,
  problems: ["invalid-window"],
  run: ({ deps, viewer, body }) => tryRedriveRule(deps, body, viewer),
});
