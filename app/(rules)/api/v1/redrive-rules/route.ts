import { handle } from "@/app/_server/handle";
import { createRedriveRule, REDRIVE_RULES } from "@/lib/rules/redrive-rules";
import { redriveRuleListSchema, redriveRuleRequestSchema, redriveRuleSchema } from "@/lib/rules/redrive-rules.shapes";

export const GET = handle({
  id: "listRedriveRules",
  summary: "Redrive rules in their order, and what they did",
  answer: redriveRuleListSchema,
  coalesce: true,
  run: async ({ deps, viewer }) => ({ items: await REDRIVE_RULES.list(deps.db, viewer) }),
});

export const POST = handle({
  id: "createRedriveRule",
  summary: "Store a redrive rule after the others, switched off",
  body: redriveRuleRequestSchema,
  creates: ["getRedriveRule", "changeRedriveRule", "deleteRedriveRule"],
  answer: redriveRuleSchema,
  problems: ["name-taken", "unknown-source", "masked-value"],
  run: (call) => createRedriveRule(call.deps, call.body, call.viewer),
});
