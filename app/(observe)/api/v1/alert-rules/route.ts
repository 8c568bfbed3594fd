import { handle } from "@/app/_server/handle";
import { BODY_ID } from "@/app/_server/operation";
import { listAlertRules, readAlertRule } from "@/lib/observe/alerts/rules/alert-rules.read";
import {
  alertRuleListSchema,
  alertRuleRequestSchema,
  alertRuleSchema,
} from "@/lib/observe/alerts/rules/alert-rules.shapes";
import { addAlertRule } from "@/lib/observe/alerts/rules/change-alert-rule";
import { idPageQuery } from "@/lib/platform/api/id-page.shapes";

export const GET = handle({
  id: "listAlertRules",
  summary: "Rules of alerts, newest first",
  query: idPageQuery({}),
  answer: alertRuleListSchema,
  run: ({ deps, viewer, query }) => listAlertRules(deps.db, viewer, query),
});

export const POST = handle({
  id: "addAlertRule",
  summary: "Add a rule of alerts",
  body: alertRuleRequestSchema,
  idempotent: true,
  status: 201,
  answer: alertRuleSchema,
  problems: ["invalid-config", "name-taken"],
  links: { getAlertRule: BODY_ID, changeAlertRule: BODY_ID, deleteAlertRule: BODY_ID },
  run: async (call) => {
    const { deps, viewer } = call;
    const id = await addAlertRule({ ...deps, expires: deps.archive !== null }, call.body, viewer);
    return readAlertRule(deps.db, viewer, id);
  },
});
