import { handle } from "@/app/_server/handle";
import { removeMarker } from "@/lib/observe/markers/change-marker";
import { byId } from "@/lib/platform/api/query.shapes";

export const DELETE = handle({
  id: "removeMarker",
  summary: "Remove a marker from the charts",
  params: byId("unknown-marker"),
  run: ({ deps, viewer, params: { id } }) => removeMarker(deps, id, viewer),
});
