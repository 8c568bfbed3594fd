import { handle } from "@/app/_server/handle";
import {
  changedRuleSchema,
  ruleChangeSchema,
  ruleDeletionSchema,
  ruleDetailSchema,
} from "@/lib/intake/admission/admission.shapes";
import { changeAdmissionRule, deleteAdmissionRule, readAdmissionRule } from "@/lib/intake/admission/admission-rules";
import { byId } from "@/lib/platform/api/query.shapes";

const params = byId("unknown-rule");

export const GET = handle({
  id: "getAdmissionRule",
  summary: "One admission rule, with messages that it dropped or failed on",
  params,
  answer: ruleDetailSchema,
  run: ({ deps, viewer, params: { id } }) => readAdmissionRule(deps.db, viewer, id),
});

export const PATCH = handle({
  id: "changeAdmissionRule",
  summary: "Change an admission rule, switch it on or off, or move it",
  params,
  body: ruleChangeSchema,
  answer: changedRuleSchema,
  problems: ["name-taken", "unknown-source", "illegal-transition"],
  run: ({ deps, viewer, params: { id }, body }) => changeAdmissionRule(deps, { id, change: body }, viewer),
});

export const DELETE = handle({
  id: "deleteAdmissionRule",
  summary: "Delete an admission rule",
  params,
  // Many clients cannot send a body with DELETE: then the schema's own reason stands.
  body: ruleDeletionSchema,
  bodyOptional: true,
  run: ({ deps, viewer, params: { id }, body: { reason } }) => deleteAdmissionRule(deps, { id, reason }, viewer),
});
