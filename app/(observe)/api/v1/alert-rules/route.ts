import { handle } from "@/app/_server/handle";
import { ALERT_RULES, addAlertRule } from "@/lib/observe/alerts/rules/alert-rules";
import {
  alertRuleListSchema,
  alertRuleRequestSchema,
  alertRuleSchema,
} from "@/lib/observe/alerts/rules/alert-rules.shapes";
import { idPageQuery } from "@/lib/platform/api/id-page.shapes";

export const GET = handle({
  id: "listAlertRules",
  summary: "Alert rules, newest first",
  query: idPageQuery({}),
  answer: alertRuleListSchema,
  run: ({ deps, viewer, query }) => ALERT_RULES.page(deps.db, viewer, query),
});

export const POST = handle({
  id: "addAlertRule",
  summary: "Add an alert rule",
  body: alertRuleRequestSchema,
  creates: ["getAlertRule", "changeAlertRule", "deleteAlertRule"],
  answer: alertRuleSchema,
  problems: ["invalid-config", "name-taken"],
  run: ({ deps, body, viewer }) => addAlertRule({ ...deps, expires: deps.archive !== null }, body, viewer),
});
