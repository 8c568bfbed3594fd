import { handle } from "@/app/_server/handle";
import { deleteView } from "@/lib/events/views/save-view";
import { byId } from "@/lib/platform/api/query.shapes";

export const DELETE = handle({
  id: "deleteView",
  summary: "Delete a saved view",
  params: byId("unknown-view"),
  run: ({ deps, params, viewer }) => deleteView(deps, params.id, viewer),
});
