import { handle } from "@/app/_server/handle";
import { BODY_ID } from "@/app/_server/operation";
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
  idempotent: true,
  status: 201,
  answer: alertRuleSchema,
  problems: ["invalid-config", "name-taken"],
  links: { getAlertRule: BODY_ID, changeAlertRule: BODY_ID, deleteAlertRule: BODY_ID },
  run: ({ deps, body, viewer }) => addAlertRule({ ...deps, expires: deps.archive !== null }, body, viewer),
});
