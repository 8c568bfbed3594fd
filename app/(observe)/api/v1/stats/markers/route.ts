import { handle } from "@/app/_server/handle";
import { readMarkers } from "@/lib/observe/stats/stats.read";
import { markersSchema } from "@/lib/observe/stats/stats.shapes";
import { statsQuery } from "@/lib/selection/stats-query.shapes";

export const GET = handle({
  id: "readMarkers",
  summary: "Redrives, controls, alerts and markers of the window",
  query: statsQuery(["source"]),
  answer: markersSchema,
  coalesce: true,
  run: ({ deps, viewer, query }) => readMarkers(deps.db, viewer, query),
});
