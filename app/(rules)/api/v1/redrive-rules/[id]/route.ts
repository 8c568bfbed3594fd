import { handle } from "@/app/_server/handle";
import { byId } from "@/lib/platform/api/query.shapes";
import { changeRedriveRule, deleteRedriveRule, REDRIVE_RULES } from "@/lib/rules/redrive-rules";
import {
  redriveRuleChangeSchema,
  redriveRuleDeletionSchema,
  redriveRuleSchema,
} from "@/lib/rules/redrive-rules.shapes";

const params = byId("unknown-redrive-rule");

export const GET = handle({
  id: "getRedriveRule",
  summary: "One redrive rule, and what it did",
  params,
  answer: redriveRuleSchema,
  run: ({ deps, viewer, params: { id } }) => REDRIVE_RULES.read(deps.db, viewer, id),
});

export const PATCH = handle({
  id: "changeRedriveRule",
  summary: "Change a redrive rule, switch it on or off, or move it",
  params,
  body: redriveRuleChangeSchema,
  answer: redriveRuleSchema,
  problems: ["name-taken", "unknown-source", "masked-value", "illegal-transition", "not-tried"],
  run: ({ deps, viewer, params: { id }, body }) => changeRedriveRule(deps, { id, change: body }, viewer),
});

export const DELETE = handle({
  id: "deleteRedriveRule",
  summary: "Delete a redrive rule; redrives that it started continue",
  params,
  body: redriveRuleDeletionSchema,
  bodyOptional: true,
  run: ({ deps, viewer, params: { id }, body }) => deleteRedriveRule(deps, { id, reason: body.reason }, viewer),
});
