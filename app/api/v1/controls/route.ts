import { handle } from "@/app/_server/handle";
import { once } from "@/app/_server/once";
import { controlRequestSchema, controlStateFrom } from "@/lib/contract/controls";
import { idPageFrom, namedParams } from "@/lib/contract/id-page";
import { imposeControl } from "@/lib/operations/impose-control";
import { listControls, readControl } from "@/lib/store/read/control-list";

export const GET = handle({
  query: (params) => ({ ...idPageFrom(params), state: controlStateFrom(namedParams(params, ["state"]).state) }),
  run: ({ deps, viewer, query }) => listControls(deps.db, viewer, query),
});

export const POST = handle({
  body: controlRequestSchema,
  status: 201,
  run: (call) =>
    once(call, async () => {
      const { id, underWay } = await imposeControl(call.deps, call.body, call.viewer);
      return { ...(await readControl(call.deps.db, call.viewer, id)), underWay };
    }),
});
