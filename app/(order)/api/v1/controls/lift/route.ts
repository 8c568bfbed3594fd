import { handle } from "@/app/_server/handle";
import { liftedManySchema, liftManySchema } from "@/lib/order/controls/controls.shapes";
import { liftControls, undoLift } from "@/lib/order/controls/lift-controls";

export const POST = handle({
  id: "liftControls",
  summary: "Lift all controls in force that match, count them, or undo such a lift",
  body: liftManySchema,
  idempotent: true,
  answer: liftedManySchema,
  problems: ["unknown-control"],
  run: async (call) =>
    "undo" in call.body ? undoLift(call.deps, call.body, call.viewer) : liftControls(call.deps, call.body, call.viewer),
});
