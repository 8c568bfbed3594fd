import { handle } from "@/app/_server/handle";
import { changeMaskRule, removeMaskRule } from "@/lib/guard/masking/mask-rules";
import { maskRuleChangeSchema, maskRuleSchema } from "@/lib/guard/masking/mask-rules.shapes";
import { byId } from "@/lib/platform/api/query.shapes";

export const PATCH = handle({
  id: "changeMaskRule",
  summary: "Give a mask rule another pattern, or switch it off or on",
  params: byId("unknown-mask-rule"),
  body: maskRuleChangeSchema,
  answer: maskRuleSchema,
  problems: ["invalid-mask-rule", "name-taken"],
  run: ({ deps, viewer, params: { id }, body }) => changeMaskRule(deps, { id, ...body }, viewer),
});

export const DELETE = handle({
  id: "removeMaskRule",
  summary: "Remove a mask rule",
  params: byId("unknown-mask-rule"),
  run: ({ deps, viewer, params: { id } }) => removeMaskRule(deps, id, viewer),
});
