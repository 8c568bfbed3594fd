import { handle } from "@/app/_server/handle";
import { BODY_ID } from "@/app/_server/operation";
import { addMarker } from "@/lib/observe/markers/change-marker";
import { listMarkers, readMarker } from "@/lib/observe/markers/markers.read";
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
  run: ({ deps, viewer, query }) => listMarkers(deps.db, viewer, query),
});

export const POST = handle({
  id: "addMarker",
  summary: "Mark a moment on the charts: a deployment, an incident, a note",
  body: markerRequestSchema,
  idempotent: true,
  status: 201,
  answer: markerSchema,
  problems: ["unknown-source"],
  links: { removeMarker: BODY_ID },
  run: async (call) => {
    const id = await addMarker(call.deps, call.body, call.viewer);
    return readMarker(call.deps.db, call.viewer, id);
  },
});
