import { exportQuery, exportResponse } from "@/app/_server/export";
import { handle } from "@/app/_server/handle";

export const GET = handle({
  id: "exportEvents",
  summary:
    "All events that match, as a stream: CSV of the columns of the list, or each event whole, as POST /api/v1/events takes it again",
  query: exportQuery,
  answer: { media: ["application/x-ndjson", "text/csv"] },
  problems: ["reason-required"],
  run: async ({ deps, viewer, query, request, nowMs }) => exportResponse(deps, viewer, query, { request, nowMs }),
});
