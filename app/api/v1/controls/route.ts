import { handle } from "@/app/_server/handle";
import { controlRequestSchema, controlStateFrom } from "@/lib/contract/controls";
import { idPageFrom, namedParams } from "@/lib/contract/id-page";
import { imposeControl } from "@/lib/operations/impose-control";
import { listControls, readControl } from "@/lib/store/read/control-list";

export const GET = handle({
  query: (params) => ({ ...idPageFrom(params), state: controlStateFrom(namedParams(params, ["state"]).state) }),
  run: ({ deps, query }) => listControls(deps.db, query),
});

export const POST = handle({
  body: controlRequestSchema,
  status: 201,
  run: async ({ deps, body, actor }) => readControl(deps.db, await imposeControl(deps, body, actor)),
});
