import { handle } from "@/app/_server/handle";
import { readFlow } from "@/lib/observe/stats/stats.read";
import { flowStatsSchema } from "@/lib/observe/stats/stats.shapes";
import { statsQuery } from "@/lib/observe/stats/stats-query.shapes";

export const GET = handle({
  id: "readFlow",
  summary: "Events in and out over time",
  query: statsQuery(["source", "errorCode", "fingerprint"]),
  answer: flowStatsSchema,
  coalesce: true,
  run: ({ deps, viewer, query, nowMs }) => readFlow(deps.db, viewer, query, nowMs),
});
