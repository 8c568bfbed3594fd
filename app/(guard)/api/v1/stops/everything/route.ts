import { handle } from "@/app/_server/handle";
import {
  imposedStopSchema,
  liftedStopSchema,
  resumeRequestSchema,
  stopRequestSchema,
} from "@/lib/guard/stops/stops.shapes";
import { imposeStop, resumeSends } from "@/lib/redrive/life/change-stop";

export const PUT = handle({
  id: "stopEverything",
  summary: "Stop all sends: none begins after the answer, which says how many are under way",
  body: stopRequestSchema,
  answer: imposedStopSchema,
  run: ({ deps, body: { reason }, viewer }) => imposeStop(deps, { target: null, reason }, viewer),
});

export const DELETE = handle({
  id: "resumeEverything",
  summary: "Lift the stop of everything; a target that is stopped by itself stays stopped",
  // Many clients cannot send a body with DELETE.
  body: resumeRequestSchema,
  bodyOptional: true,
  answer: liftedStopSchema,
  run: async ({ deps, body: { reason }, viewer }) => ({
    lifted: await resumeSends(deps, { target: null, reason }, viewer),
  }),
});
