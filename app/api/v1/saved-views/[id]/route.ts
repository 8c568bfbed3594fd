import { handle } from "@/app/_server/handle";
import { idParam } from "@/lib/contract/id-page";
import { deleteView } from "@/lib/operations/save-view";

export const DELETE = handle({
  run: ({ deps, params, viewer }) => deleteView(deps, idParam(params.id, "unknown-view"), viewer),
});
