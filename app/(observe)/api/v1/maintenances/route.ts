import { handle } from "@/app/_server/handle";
import { beginMaintenance, listMaintenances } from "@/lib/observe/maintenance/maintenances";
import {
  maintenanceListSchema,
  maintenanceRequestSchema,
  maintenanceSchema,
  maintenancesQuery,
} from "@/lib/observe/maintenance/maintenances.shapes";

export const GET = handle({
  id: "listMaintenances",
  summary: "List the maintenance windows, newest first",
  query: maintenancesQuery,
  answer: maintenanceListSchema,
  run: ({ deps, viewer, query }) => listMaintenances(deps.db, viewer, query),
});

export const POST = handle({
  id: "beginMaintenance",
  summary: "Send no alerts until a time, at most a week ahead",
  body: maintenanceRequestSchema,
  creates: ["endMaintenance"],
  answer: maintenanceSchema,
  problems: ["invalid-window", "unknown-source"],
  run: (call) => beginMaintenance(call.deps, call.body, call.viewer),
});
