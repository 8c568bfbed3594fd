import { handle } from "@/app/_server/handle";
import { once } from "@/app/_server/once";
import { BODY_ID } from "@/app/_server/operation";
import { redriveRuleListSchema, redriveRuleRequestSchema, redriveRuleSchema } from "@/lib/contract/redrive-rules";
import { createRedriveRule } from "@/lib/operations/store-redrive-rule";
import { listRedriveRules, readRedriveRule } from "@/lib/store/read/redrive-rules";

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
  problems: ["name-taken", "unknown-source"],
  links: { getRedriveRule: BODY_ID, changeRedriveRule: BODY_ID, deleteRedriveRule: BODY_ID },
  run: (call) =>
    once(call, async () => {
      const id = await createRedriveRule(call.deps, call.body, call.viewer);
      return readRedriveRule(call.deps.db, call.viewer, id);
    }),
});
