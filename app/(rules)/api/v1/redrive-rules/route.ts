import { handle } from "@/app/_server/handle";
import { BODY_ID } from "@/app/_server/operation";
import { listRedriveRules, readRedriveRule } from "@/lib/rules/redrive-rules.read";
import { redriveRuleListSchema, redriveRuleRequestSchema, redriveRuleSchema } from "@/lib/rules/redrive-rules.shapes";
import { createRedriveRule } from "@/lib/rules/store-redrive-rule";

export const GET = handle({
  id: "listRedriveRules",
  summary: "Redrive rules in their order, and what they did",
  answer: redriveRuleListSchema,
  coalesce: true,
  run: ({ deps, viewer }) => listRedriveRules(deps.db, viewer),
});

export const POST = handle({
  id: "createRedriveRule",
  summary: "Store a redrive rule behind the others, switched off",
  body: redriveRuleRequestSchema,
  idempotent: true,
  status: 201,
  answer: redriveRuleSchema,
  problems: ["name-taken", "unknown-source", "masked-value"],
  links: { getRedriveRule: BODY_ID, changeRedriveRule: BODY_ID, deleteRedriveRule: BODY_ID },
  run: async (call) => {
    const id = await createRedriveRule(call.deps, call.body, call.viewer);
    return readRedriveRule(call.deps.db, call.viewer, id);
  },
});
