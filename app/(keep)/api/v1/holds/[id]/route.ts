import { handle } from "@/app/_server/handle";
import { readHold } from "@/lib/keep/holds/holds.read";
import { holdLiftSchema, holdSchema } from "@/lib/keep/holds/holds.shapes";
import { liftHold } from "@/lib/keep/holds/lift-hold";
import { byId } from "@/lib/platform/api/query.shapes";

export const DELETE = handle({
  id: "liftHold",
  summary: "Lift a legal hold, with a reason",
  params: byId("unknown-hold"),
  body: holdLiftSchema,
  answer: holdSchema,
  run: async ({ deps, params: { id }, body: { reason }, viewer }) => {
    await liftHold(deps, { id, reason }, viewer);
    return readHold(deps.db, viewer, id);
  },
});
