import { exportQuery, exportResponse } from "@/app/_server/export";
import { handle } from "@/app/_server/handle";

export const GET = handle({
  id: "exportEvents",
  summary: "All events that match, as a stream",
  query: exportQuery,
  answer: { media: ["application/x-ndjson", "text/csv"] },
  run: async ({ deps, viewer, query, nowMs }) => exportResponse(deps.lists, viewer, query, nowMs),
});
