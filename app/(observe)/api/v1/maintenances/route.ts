import { handle } from "@/app/_server/handle";
import { BODY_ID } from "@/app/_server/operation";
import { beginMaintenance, listMaintenances } from "@/lib/observe/maintenance/maintenances";
import {
  maintenanceListSchema,
  maintenanceRequestSchema,
  maintenanceSchema,
  maintenancesQuery,
} from "@/lib/observe/maintenance/maintenances.shapes";

export const GET = handle({
  id: "listMaintenances",
  summary: "List the times in which no alerts are sent, newest first",
  query: maintenancesQuery,
  answer: maintenanceListSchema,
  run: ({ deps, viewer, query }) => listMaintenances(deps.db, viewer, query),
});

export const POST = handle({
  id: "beginMaintenance",
  summary: "Send no alerts until a time, at most a week ahead",
  body: maintenanceRequestSchema,
  idempotent: true,
  status: 201,
  answer: maintenanceSchema,
  problems: ["invalid-window", "unknown-source"],
  links: { endMaintenance: BODY_ID },
  run: (call) => beginMaintenance(call.deps, call.body, call.viewer),
});
