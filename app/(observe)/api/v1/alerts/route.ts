import { handle } from "@/app/_server/handle";
import { runbookAt } from "@/lib/observe/alerts/alert-paths.pure";
import { listAlerts } from "@/lib/observe/alerts/alerts.read";
import { alertListSchema, alertsQuery } from "@/lib/observe/alerts/alerts.shapes";

export const GET = handle({
  id: "listAlerts",
  summary: "Alerts that fire and that have ended, newest first",
  query: alertsQuery,
  answer: alertListSchema,
  coalesce: true,
  run: ({ deps, viewer, query }) => listAlerts(deps.db, viewer, query, runbookAt(deps.env.publicUrl)),
});
