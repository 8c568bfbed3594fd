import { handle } from "@/app/_server/handle";
import { controlSchema, liftRequestSchema } from "@/lib/contract/controls";
import { liftControl } from "@/lib/operations/lift-control";
import { byId } from "@/lib/platform/api/query.shapes";
import { readControl } from "@/lib/store/read/control-list";

export const DELETE = handle({
  id: "liftControl",
  summary: "Lift a control",
  params: byId("unknown-control"),
  // Many clients cannot send a body with DELETE: then the schema's own reason stands.
  body: liftRequestSchema,
  bodyOptional: true,
  answer: controlSchema,
  run: async ({ deps, params: { id }, body: { reason }, viewer }) => {
    await liftControl(deps, { id, reason }, viewer);
    return readControl(deps.db, viewer, id);
  },
});
