import { handle } from "@/app/_server/handle";
import { endMaintenance } from "@/lib/observe/maintenance/maintenances";
import { byId } from "@/lib/platform/api/query.shapes";

export const DELETE = handle({
  id: "endMaintenance",
  summary: "End a maintenance window early: alerts that fire are sent",
  params: byId("unknown-maintenance"),
  run: ({ deps, viewer, params: { id } }) => endMaintenance(deps, id, viewer),
});
