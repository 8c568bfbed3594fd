import { handle } from "@/app/_server/handle";
import { readControl } from "@/lib/order/controls/control-list.read";
import { controlSchema, liftRequestSchema } from "@/lib/order/controls/controls.shapes";
import { liftControl } from "@/lib/order/controls/lift-controls";
import { byId } from "@/lib/platform/api/query.shapes";

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
