import { handle } from "@/app/_server/handle";
import { alertTrialRequestSchema, alertTrialSchema } from "@/lib/observe/alerts/rules/alert-rules.shapes";
import { tryAlertRule } from "@/lib/observe/alerts/trial/try-alert-rule";

export const POST = handle({
  id: "tryAlertRule",
  summary: "When a rule would have fired in the last days, and whether it would fire now; nothing is stored",
  body: alertTrialRequestSchema,
  answer: alertTrialSchema,
  problems: ["invalid-config"],
  run: ({ deps, viewer, body }) => tryAlertRule({ ...deps, expires: deps.archive !== null }, body.watch, viewer),
});
