import { handle } from "@/app/_server/handle";
import { acknowledgeAlerts } from "@/lib/observe/alerts/acknowledge-alerts";
import { acknowledgedSchema, alertAcknowledgeSchema } from "@/lib/observe/alerts/alerts.shapes";

export const POST = handle({
  id: "acknowledgeAlerts",
  summary: "Acknowledge alerts, so that their messages are not repeated, or undo it",
  body: alertAcknowledgeSchema,
  answer: acknowledgedSchema,
  problems: ["unknown-alert"],
  idempotent: true,
  run: ({ deps, viewer, body }) => acknowledgeAlerts(deps, body, viewer),
});
