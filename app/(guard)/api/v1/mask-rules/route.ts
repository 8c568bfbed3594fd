import { handle } from "@/app/_server/handle";
import { addMaskRule, MASK_RULES } from "@/lib/guard/masking/mask-rules";
import { maskRuleListSchema, maskRuleRequestSchema, maskRuleSchema } from "@/lib/guard/masking/mask-rules.shapes";

export const GET = handle({
  id: "listMaskRules",
  summary: "What is masked beside the built-in detectors, and which of these are off",
  answer: maskRuleListSchema,
  run: async ({ deps, viewer }) => ({ items: await MASK_RULES.list(deps.db, viewer) }),
});

export const POST = handle({
  id: "addMaskRule",
  summary: "Mask the values at a JSON pointer or under a name, or switch a detector off or on",
  body: maskRuleRequestSchema,
  creates: ["changeMaskRule", "removeMaskRule"],
  answer: maskRuleSchema,
  problems: ["unknown-source", "invalid-mask-rule", "name-taken"],
  run: (call) => addMaskRule(call.deps, call.body, call.viewer),
});
