import { handle } from "@/app/_server/handle";
import { MARKERS } from "@/lib/observe/markers/markers";
import { byId } from "@/lib/platform/api/query.shapes";

export const DELETE = handle({
  id: "removeMarker",
  summary: "Remove a marker from the charts",
  params: byId("unknown-marker"),
  run: ({ deps, viewer, params: { id } }) => MARKERS.remove(deps, { key: id }, viewer),
});
