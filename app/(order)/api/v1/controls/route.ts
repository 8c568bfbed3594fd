import { handle } from "@/app/_server/handle";
import { assertKnownSource } from "@/app/_server/named-sources";
import { listControls, readControl } from "@/lib/order/controls/control-list.read";
import {
  controlListSchema,
  controlRequestSchema,
  controlsQuery,
  imposedControlSchema,
} from "@/lib/order/controls/controls.shapes";
import { imposeControl } from "@/lib/order/controls/impose-control";

export const GET = handle({
  id: "listControls",
  summary: "Controls, newest first",
  query: controlsQuery,
  answer: controlListSchema,
  run: ({ deps, viewer, query }) => listControls(deps.db, viewer, query),
});

export const POST = handle({
  id: "imposeControl",
  summary: "Impose a control; says how many sends that it covers are under way",
  body: controlRequestSchema,
  creates: ["liftControl"],
  answer: imposedControlSchema,
  problems: ["invalid-window", "unknown-source"],
  run: async (call) => {
    await assertKnownSource(call, call.body.scope.source, "scope.source");
    const { id, underWay } = await imposeControl(call.deps, call.body, call.viewer);
    return { ...(await readControl(call.deps.db, call.viewer, id)), underWay };
  },
});
