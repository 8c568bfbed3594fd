import { handle } from "@/app/_server/handle";
import {
  imposedStopSchema,
  liftedStopSchema,
  resumeRequestSchema,
  stopRequestSchema,
} from "@/lib/guard/stops/stops.shapes";
import { byName } from "@/lib/platform/api/query.shapes";
import { imposeStop, resumeSends } from "@/lib/redrive/life/change-stop";

const params = byName("unknown-target");

export const PUT = handle({
  id: "stopTarget",
  summary: "Stop the sends to a target: none begins after the answer, which says how many are under way",
  params,
  body: stopRequestSchema,
  answer: imposedStopSchema,
  run: ({ deps, params: { name: target }, body: { reason }, viewer }) => imposeStop(deps, { target, reason }, viewer),
});

export const DELETE = handle({
  id: "resumeTarget",
  summary: "Lift the stop of a target",
  params,
  // Many clients cannot send a body with DELETE.
  body: resumeRequestSchema,
  bodyOptional: true,
  answer: liftedStopSchema,
  run: async ({ deps, params: { name: target }, body: { reason }, viewer }) => ({
    lifted: await resumeSends(deps, { target, reason }, viewer),
  }),
});
