import { handle } from "@/app/_server/handle";
import { runbookAt } from "@/lib/observe/alerts/alert-paths.pure";
import { readAlert } from "@/lib/observe/alerts/alerts.read";
import { alertSchema } from "@/lib/observe/alerts/alerts.shapes";
import { byId } from "@/lib/platform/api/query.shapes";

export const GET = handle({
  id: "getAlert",
  summary: "One alert, with sample events and the groups behind it",
  params: byId("unknown-alert"),
  answer: alertSchema,
  run: ({ deps, viewer, params: { id } }) => readAlert(deps.db, viewer, id, runbookAt(deps.env.publicUrl)),
});
