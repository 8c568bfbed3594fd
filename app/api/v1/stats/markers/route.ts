import { handle } from "@/app/_server/handle";
import { markersSchema } from "@/lib/contract/stats";
import { statsQuery } from "@/lib/contract/stats-query";
import { readMarkers } from "@/lib/store/read/stats";

export const GET = handle({
  id: "readMarkers",
  summary: "Redrives and controls of the window",
  query: statsQuery([]),
  answer: markersSchema,
  coalesce: true,
  run: ({ deps, viewer, query }) => readMarkers(deps.db, viewer, query),
});
