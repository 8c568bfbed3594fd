import { handle } from "@/app/_server/handle";
import { addMarker, MARKERS } from "@/lib/observe/markers/markers";
import {
  markerListSchema,
  markerRequestSchema,
  markerSchema,
  markersQuery,
} from "@/lib/observe/markers/markers.shapes";

export const GET = handle({
  id: "listMarkers",
  summary: "Markers of deployments, incidents and notes, newest first",
  query: markersQuery,
  answer: markerListSchema,
  run: ({ deps, viewer, query }) => MARKERS.page(deps.db, viewer, query),
});

export const POST = handle({
  id: "addMarker",
  summary: "Mark a moment on the charts: a deployment, an incident, a note",
  body: markerRequestSchema,
  creates: ["removeMarker"],
  answer: markerSchema,
  problems: ["unknown-source"],
  run: (call) => addMarker(call.deps, call.body, call.viewer),
});
