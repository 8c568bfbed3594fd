import { readOptionalJson } from "@/app/_server/body";
import { handle } from "@/app/_server/handle";
import { liftRequestSchema } from "@/lib/contract/controls";
import { idParam } from "@/lib/contract/id-page";
import { liftControl } from "@/lib/operations/lift-control";
import { readControl } from "@/lib/store/read/control-list";

export const DELETE = handle({
  run: async ({ deps, request, params, viewer }) => {
    const id = idParam(params.id, "unknown-control");
    // Many clients cannot send a body with DELETE: then the schema's own reason stands.
    const { reason } = liftRequestSchema.parse((await readOptionalJson(request)) ?? {});
    await liftControl(deps, { id, reason }, viewer);
    return readControl(deps.db, viewer, id);
  },
});
