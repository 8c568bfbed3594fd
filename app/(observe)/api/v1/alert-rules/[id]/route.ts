import { handle } from "@/app/_server/handle";
import { ALERT_RULES, changeAlertRule, removeAlertRule } from "@/lib/observe/alerts/rules/alert-rules";
import {
  alertRuleChangeSchema,
  alertRuleDeletionSchema,
  alertRuleSchema,
} from "@/lib/observe/alerts/rules/alert-rules.shapes";
import { byId } from "@/lib/platform/api/query.shapes";

const params = byId("unknown-alert-rule");

export const GET = handle({
  id: "getAlertRule",
  summary: "One alert rule",
  params,
  answer: alertRuleSchema,
  run: ({ deps, viewer, params: { id } }) => ALERT_RULES.read(deps.db, viewer, id),
});

export const PATCH = handle({
  id: "changeAlertRule",
  summary: "Change an alert rule, or switch it on or off; its alerts are resolved when its condition changes",
  params,
  body: alertRuleChangeSchema,
  answer: alertRuleSchema,
  problems: ["invalid-config", "name-taken", "illegal-transition"],
  run: ({ deps, viewer, params: { id }, body }) =>
    changeAlertRule({ ...deps, expires: deps.archive !== null }, { id, change: body }, viewer),
});

export const DELETE = handle({
  id: "deleteAlertRule",
  summary: "Delete an alert rule; its alerts are resolved and stay on record",
  params,
  body: alertRuleDeletionSchema,
  bodyOptional: true,
  run: ({ deps, viewer, params: { id }, body }) => removeAlertRule(deps, { id, reason: body.reason }, viewer),
});
