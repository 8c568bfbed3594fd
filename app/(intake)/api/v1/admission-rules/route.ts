import { handle } from "@/app/_server/handle";
import { changedRuleSchema, ruleListSchema, ruleRequestSchema } from "@/lib/intake/admission/admission.shapes";
import { createAdmissionRule, listAdmissionRules } from "@/lib/intake/admission/admission-rules";

export const GET = handle({
  id: "listAdmissionRules",
  summary: "Rules that are applied to each arrival, in their order",
  answer: ruleListSchema,
  coalesce: true,
  run: ({ deps, viewer }) => listAdmissionRules(deps.db, viewer),
});

export const POST = handle({
  id: "createAdmissionRule",
  summary: "Store an admission rule after the others, switched off unless it says otherwise",
  body: ruleRequestSchema,
  creates: ["getAdmissionRule", "changeAdmissionRule", "deleteAdmissionRule"],
  answer: changedRuleSchema,
  problems: ["name-taken", "unknown-source"],
  run: (call) => createAdmissionRule(call.deps, call.body, call.viewer),
});
