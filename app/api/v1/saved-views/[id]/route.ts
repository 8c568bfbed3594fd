import { handle } from "@/app/_server/handle";
import { byId } from "@/lib/contract/query";
import { deleteView } from "@/lib/operations/save-view";

export const DELETE = handle({
  id: "deleteView",
  summary: "Delete a saved view",
  params: byId("unknown-view"),
  run: ({ deps, params, viewer }) => deleteView(deps, params.id, viewer),
});
